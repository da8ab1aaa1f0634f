// Package compared makes documents of comparisons: of runs compared with a base, of a suite
// over time, of results with published ones, and of these.
package compared
