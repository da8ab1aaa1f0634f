// Package ladderrun measures the rungs of a ladder by turns: what storage, a guest's disk or a network lies on, from
// the bottom up. Package ladder says what follows.
package ladderrun
