// Package vary measures what settings do: each level of a factor (a sweep), each of several settings alone and removed
// (an ablation), or what a search for the culprit asks for (a bisection). What it changes it puts back.
package vary
