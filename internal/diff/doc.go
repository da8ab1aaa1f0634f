// Package diff compares what is known of two machines, and ranks the differences by their likely effect on I/O, with
// the reason. What is known of options, arguments and sysctls is data, in the folder knowledge.
//
// The pieces:
//
//	Decode      a file, whatever of the three accepted kinds it is, as facts
//	Load        the knowledge
//	Compare     two sides: pair what was renamed or is plugged in elsewhere, weigh, fold what follows from something else
//	Document    the result, the published JSON document headroom/diff/v1
package diff
