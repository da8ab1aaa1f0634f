// Package report has what the builders of documents share, which are in the packages below it: their options, the marks
// of warnings, words for changes and metrics, and the picture of changes. They work on saved results only and never
// reach a machine.
package report
