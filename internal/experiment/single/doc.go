// Package single has the designs that are a run on one target but for its loads, its schedule or its report: soak,
// profile, and the check of one state for git bisect run.
package single
