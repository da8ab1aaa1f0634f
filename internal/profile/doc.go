// Package profile is the vocabulary of profiled loads: what a recorder on a machine wrote down of the kernel's work
// while a load ran. Such a load is one of its own, beside the measured ones: recording costs time, and of function
// calls a lot.
//
// A recorder is headroom itself on the machine under test (package record). It is handed a Request, and prints a
// Recording. What is worked out of recordings is in package cost, and what two differ by in package difference.
package profile
