// Package stage puts the tracepoints of the block layer together to requests, and says how long each was where.
//
// A tracepoint names a request by its device, direction and sectors. What two of them have in common is where the
// sectors end: bios that are merged to the front, parts that have completed and parts that were split off leave the end
// as it was, and only merging to the back moves it. So requests are found by their ends.
package stage
