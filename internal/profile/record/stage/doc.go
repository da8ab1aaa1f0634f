// Package stage combines the tracepoints of the block layer to requests, and determines how long each was in which
// stage.
//
// A tracepoint identifies a request by its device, direction and sectors. Two tracepoints of one request have the end
// of the sectors in common: front merges, completed parts and parts that were split off leave the end unchanged, and
// only back merges move it. So requests are found by their ends.
package stage
