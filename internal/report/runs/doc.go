// Package runs makes documents of runs, and writes them in all formats for runs. Every number has its spread and the
// marks of the warnings that taint it.
package runs
