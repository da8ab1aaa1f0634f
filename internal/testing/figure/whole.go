//go:build !bench

package figure

// Whole is true if simulations run as often as needed for figures that can be quoted: with the tag bench. Ordinary
// tests run few of them, with the same seeds each time.
const Whole = false
