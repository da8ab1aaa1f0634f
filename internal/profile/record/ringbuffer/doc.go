// Package ringbuffer reads the pages of the kernel's trace buffer (trace_pipe_raw) and the formats of its events.
package ringbuffer
