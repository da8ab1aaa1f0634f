package lab

// Stage is one state of the system under test. The same loads are run in each stage: the server's memory, one path to
// it, two.
type Stage struct {
	Name string `json:"name"`
	// From is the source of an imported stage: "page.txt from line 14"; empty for a measured one.
	From string `json:"from,omitempty"`
}

// StageLevel is the name of the level that holds an arm's stage.
const StageLevel = "stage"

// NFS describes how the storage of an NFS server is measured stage by stage, each as a separate run. It holds
// everything that is needed to measure the missing stages; fields that are empty default to the suite's values.
type NFS struct {
	// Requested is the stage's name before its outcome was known.
	Requested string `json:"asked,omitempty"`
	// Client and Server are names of targets; Server is empty if the server's own storage is not measured.
	Client string `json:"client"`
	Server string `json:"server,omitempty"`
	// Export is the directory on the server, and Path its name for clients.
	Export string `json:"export,omitempty"`
	Path   string `json:"path,omitempty"`
	// Addresses of the server, Version of the protocol, further mount Options, Transports (all if none is named), and
	// the port for RDMA.
	Addresses  []string `json:"addresses,omitempty"`
	Version    string   `json:"version,omitempty"`
	Options    []string `json:"options,omitempty"`
	Transports []string `json:"transports,omitempty"`
	RDMAPort   int      `json:"rdma_port,omitempty"`
	// Mounted is an existing mount of the client, measured in place of headroom's own.
	Mounted string `json:"mounted,omitempty"`
	// Guest is the target of a virtual machine whose disk is stored on the server, and GuestPlace the directory or
	// device that is measured there.
	Guest      string `json:"guest,omitempty"`
	GuestPlace string `json:"guest_place,omitempty"`
	// Set are parameters of every load, Size is the size of the scratch file, Repeat the number of repetitions and
	// Order their order, as typed.
	Set    []string `json:"set,omitempty"`
	Size   string   `json:"size,omitempty"`
	Repeat int      `json:"repeat,omitempty"`
	Order  string   `json:"order,omitempty"`
	// Events of each load on a mount. The share of the rate that should remain applies to the stage with all addresses.
	Events []Event `json:"events,omitempty"`
}
