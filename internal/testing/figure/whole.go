//go:build !bench

package figure

// Whole says that simulations run as often as it takes to quote them: with the tag bench. Ordinary tests run few of
// them, with the same seeds each time.
const Whole = false
