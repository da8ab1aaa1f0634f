// Package interference computes what several loads take from each other: each alone, every two, and all at the same
// time, in turns. It is pure: rates that were measured in blocks in, a document with the answer out.
package interference
