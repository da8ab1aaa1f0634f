// Package profile is the vocabulary of profiled loads: a recorder's record, on a machine, of the kernel's work while a
// load ran. Such a load is separate from the measured ones, because recording takes time, and counting function calls
// takes a lot.
//
// A recorder is headroom itself on the machine under test (package record). It gets a Request, and prints a Recording.
// Package cost evaluates recordings, and package difference compares two evaluations.
package profile
