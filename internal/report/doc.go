// Package report contains what the builders of documents in the packages below it share: their options, the marks of
// warnings, words for changes and metrics, and the picture of changes. They work on saved results only and never
// connect to a machine.
package report
