// Package ringbuffer reads the pages of the kernel's trace buffer (trace_pipe_raw) and the formats of its events. It
// reads them on the machine that wrote them, or on one of the same byte order: little-endian, as all are that headroom
// is built for.
package ringbuffer
