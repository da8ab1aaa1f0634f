// Package record records what the kernel does while a load runs, on the machine that the load runs on: headroom copies
// itself there and is started in this mode. It reads a profile.Request and prints a profile.Recording.
//
// Calls are counted in a separate instance of the tracer, so that other users' tracing is not affected, in short bursts
// whose buffers are read in between. If the machine has not mounted tracefs, the recorder does not mount it anywhere
// visible. A guard, a separate process, removes the instance whenever the recorder ends, killed or not; the function
// tracer ends with the instance.
package record
