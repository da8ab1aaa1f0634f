// Package runs makes documents of runs, and writes them in all formats that there are for runs. Every number comes with
// its spread and with the marks of the warnings that taint it.
package runs
