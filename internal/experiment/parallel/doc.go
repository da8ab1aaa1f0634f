// Package parallel measures several targets at the same moment, and says what they did together.
package parallel
