// Package ringbuffer parses the pages of the kernel's trace buffer (trace_pipe_raw) and the formats of its events. It
// works on the machine that wrote them, or on one with the same byte order: little-endian, like all that headroom is
// built for.
package ringbuffer
