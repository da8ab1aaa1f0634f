package lab

import "fmt"

// NetworkPair is a client and a server, by their roles. The server listens on a port of an address, which is one of its
// own.
type NetworkPair struct {
	Client  string `json:"client"`
	Server  string `json:"server"`
	Address string `json:"address"`
	Port    int    `json:"port"`
	// Assigned says that the address is the one that the server was given when it was made, as that of a pod is:
	// another pod in its place has another.
	Assigned bool `json:"assigned,omitempty"`
}

// PairRole is the role of one of several pairs, counted from 0.
func PairRole(i int) string { return fmt.Sprintf("pair-%d", i+1) }

// ConcurrentDesign is what a run is about that loads some of its arms at the same time, then others.
type ConcurrentDesign struct {
	// Kind is the question: "interference", "ladder".
	Kind string `json:"kind"`
	// Groups of an interference; none of a ladder.
	Groups []DesignGroup `json:"groups,omitempty"`
	// Combinations in the order in which they are shown.
	Combinations []Combination `json:"occasions"`
	// Keep are settings that must stay as they are, of the ladder of a network.
	Keep []string `json:"keep,omitempty"`
}

// DesignGroup are arms that are loaded together. There is an arm of its name, which holds what they do together.
type DesignGroup struct {
	Name string `json:"name"`
	// Over is what the load goes through: the addresses of a network's ports, or a device or directory.
	Over []string `json:"over"`
	Arms []string `json:"arms"`
}

// Combination is what is loaded at the same time. Its cells are called by its ID and their arm, "ID@ARM".
type Combination struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	// Groups that are loaded, of an interference.
	Groups []string `json:"groups,omitempty"`
	// Rung that is measured, of a ladder, with its Kind ("port"), what it goes Over (addresses, or the role of a
	// machine), and in which direction: "send", "receive" or "both".
	Rung      string   `json:"rung,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	Over      []string `json:"over,omitempty"`
	Direction string   `json:"direction,omitempty"`
	// Network that carries it where it is between pods: "nodes" or "pods".
	Network string `json:"network,omitempty"`
}
