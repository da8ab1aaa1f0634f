// Package counters reads what the kernel counts around a load, what energy and CPU time it took, and how busy a
// machine is.
package counters
