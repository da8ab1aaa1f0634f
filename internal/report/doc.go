// Package report turns a saved run into what a person or a program reads: a table for the terminal, a page, and
// files for a spreadsheet, a pull request, a monitoring system and other programs. It works on saved runs only and
// never reaches a machine. Every number comes with its spread and with the marks of the warnings that taint it.
package report
