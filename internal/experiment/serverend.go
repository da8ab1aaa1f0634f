package experiment

import (
	"headroom/internal/facts"
	"headroom/internal/runner"
)

// The roles of the two ends of a network's tests.
const (
	ClientRole = "client"
	ServerRole = "server"
)

// ServerEnd is the server that a measurement on a client has.
type ServerEnd struct {
	runner.Server
	Before facts.Document
	// SnapshotElsewhere says that another part of the run keeps its snapshots.
	SnapshotElsewhere bool
}
