// Package record records what the kernel does while a load runs, on the machine that the load runs on: headroom copies
// itself there and is started in this mode. It reads a profile.Request and prints a profile.Recording.
//
// Calls are counted in a separate instance of the tracer, so that other users' tracing is not affected, in short bursts
// whose buffers are read in between. If the machine has not mounted tracefs, the recorder does not mount it anywhere
// visible. A guard, a separate process, removes the instance whenever the recorder ends, killed or not; the function
// tracer ends with the instance. Pages of the trace buffer (trace_pipe_raw) are parsed on the machine that wrote them,
// or on one with the same byte order: little-endian, like all that headroom is built for.
//
// The tracepoints of the block layer are combined to requests, to determine how long each was in which stage. A
// tracepoint identifies a request by its device, direction and sectors. Two tracepoints of one request have the end of
// the sectors in common: front merges, completed parts and parts that were split off leave the end unchanged, and only
// back merges move it. So requests are found by their ends.
//
// Stacks of all CPUs are sampled, and threads that wait are followed, by perf_event_open(2). The names of addresses
// come from /proc/kallsyms for the kernel and its modules, and from the symbol tables of their files for programs.
package record
