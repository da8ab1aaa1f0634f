// Package sampler samples stacks of all CPUs and follows threads that wait, by perf_event_open(2).
package sampler
