//go:build bench

package figure

// Whole is true if simulations run as often as needed for figures that can be quoted.
const Whole = true
