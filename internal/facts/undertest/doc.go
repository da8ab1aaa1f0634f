// Package undertest finds the place under test: what a user points at, the block devices under it, and whether one
// place lies on another.
package undertest
