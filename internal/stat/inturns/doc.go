// Package inturns finds what could have made the difference between two sides that were measured in turns, other than
// the sides: what one side leaves to whatever follows it, and a rhythm of the machine.
package inturns
