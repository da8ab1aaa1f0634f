// Package ladders reads what saved runs measured of rungs and of layers, as their analyses take it. How an arm says
// which rung or layer it is stands here as well, for those who measure.
package ladders
