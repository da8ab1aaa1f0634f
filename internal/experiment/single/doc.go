// Package single has the designs that are a run on one target with other loads, another schedule or another report:
// soak, profile, and the check of one state for git bisect run.
package single
