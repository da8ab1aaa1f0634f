// Package inturns finds what could have made the difference between two sides that were measured in turns, other than
// the sides.
package inturns
