// Package diff compares the facts of two machines, and ranks the differences by their likely effect on I/O, with the
// reason. Knowledge about options, arguments and sysctls is data, in the folder knowledge.
//
// The pieces:
//
//	Decode      a file, whatever of the three accepted kinds it is, as facts
//	Load        the knowledge
//	Compare     two sides: pair renamed or moved things, weigh, fold consequences under their cause
//	Document    the result, the published JSON document headroom/diff/v1
package diff
