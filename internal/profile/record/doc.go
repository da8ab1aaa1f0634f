// Package record writes down what the kernel does while a load runs, on the machine that it runs on: headroom copies
// itself there and is started in this mode. It is handed a profile.Request and prints a profile.Recording.
//
// Calls are counted in an instance of the tracer of its own, so that nobody else's tracing changes, in short bursts
// whose buffers are read in between. Tracefs is mounted nowhere where the machine has not mounted it. A guard, a
// process of its own, removes the instance whenever the recorder ends, killed or not; the tracer of functions ends
// with the instance.
package record
