// Package vary measures the effects of settings: each level of a factor (a sweep), each of several settings alone and
// removed (an ablation), or the states that a search for the culprit needs (a bisection). It restores everything that
// it changes.
package vary
