// Package ladderrun measures the rungs of a ladder in turn: the layers below a place, a guest's disk or a network, from
// the bottom up. Package ladder draws the conclusions.
package ladderrun
