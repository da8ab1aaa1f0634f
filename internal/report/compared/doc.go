// Package compared makes documents of what is held against something else: of runs compared with a base, of a suite
// over time, of results beside published ones, and of these.
package compared
