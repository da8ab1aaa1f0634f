// Package results shows saved runs by their design: it calls the analysis (sweep, ablation, bisection, stages,
// outliers), and has report write the result. It also reads which rung or layer an arm is, for analyses and
// experiments.
package results
