package lab

import "fmt"

// NetworkPair is a client and a server, by their roles. The server listens on Address and Port.
type NetworkPair struct {
	Client  string `json:"client"`
	Server  string `json:"server"`
	Address string `json:"address"`
	Port    int    `json:"port"`
	// Assigned is true if the server was given the address when it was created, as a pod is: a pod that replaces it has
	// another address.
	Assigned bool `json:"assigned,omitempty"`
}

// PairRole returns the role of one of several pairs, counted from 0.
func PairRole(i int) string { return fmt.Sprintf("pair-%d", i+1) }

// ConcurrentDesign describes which arms of a run are loaded at the same time.
type ConcurrentDesign struct {
	// Kind is the question: "interference", "ladder".
	Kind string `json:"kind"`
	// Groups of an interference experiment; a ladder has none.
	Groups []DesignGroup `json:"groups,omitempty"`
	// Combinations in the order in which they are shown.
	Combinations []Combination `json:"occasions"`
	// Keep are settings that must not change, for the ladder of a network.
	Keep []string `json:"keep,omitempty"`
}

// DesignGroup is a set of arms that are loaded together. An arm with the group's name holds their combined results.
type DesignGroup struct {
	Name string `json:"name"`
	// Over is the path of the load: the addresses of a network's ports, or a device or directory.
	Over []string `json:"over"`
	Arms []string `json:"arms"`
}

// Combination is a set of arms that are loaded at the same time. Its cells are named by its ID and their arm, "ID@ARM".
type Combination struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Groups that are loaded, for an interference experiment.
	Groups []string `json:"groups,omitempty"`
	// Rung that is measured, for a ladder, with its Kind ("port"), its path Over (addresses, or the role of a machine),
	// and its Direction: "send", "receive" or "both".
	Rung      string   `json:"rung,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	Over      []string `json:"over,omitempty"`
	Direction string   `json:"direction,omitempty"`
	// Network that carries the load if it is between pods: "nodes" or "pods".
	Network string `json:"network,omitempty"`
}
