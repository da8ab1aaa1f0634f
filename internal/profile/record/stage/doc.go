// Package stage puts the tracepoints of the block layer together to requests, and says how long each was where.
package stage
