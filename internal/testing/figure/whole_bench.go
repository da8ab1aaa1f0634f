//go:build bench

package figure

// Whole says that simulations run as often as it takes to quote them.
const Whole = true
