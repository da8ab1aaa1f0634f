// Package report turns a saved run into what a person or a program reads: a table for the terminal, a page, and
// files for a spreadsheet, a pull request, a monitoring system and other programs. It works on saved runs only and
// never reaches a machine.
//
// Summarize reads a run once, repetition by repetition, into a Summary; that is the published JSON document
// (schema headroom/run/v1) and everything that the writers need. The writers stand in one list, Formats.
//
// Three rules run through all of them:
//
//   - Every number comes with its spread and with the marks of the warnings that taint it.
//   - What was not measured is left blank. It is never a zero.
//   - Percentiles are never averaged. Where the repetitions have latency bins, a percentile is that of all operations
//     of all repetitions together.
package report
