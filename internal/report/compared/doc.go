// Package compared makes documents of comparisons: runs compared with a base, a suite over time, results compared with
// published ones, and lists of published results.
package compared
