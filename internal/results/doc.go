// Package results shows saved runs as what they were measured for: it asks the analysis that fits (sweep, ablation,
// bisection, stages, outliers), and has report write what it found. It reads which rung or layer an arm is, for
// analyses and for those who measure.
package results
