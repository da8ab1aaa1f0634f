package lab

// Stage is one state of what is measured, in which the same loads are carried out as in the others: the server's
// memory, one path to it, two.
type Stage struct {
	Name string `json:"name"`
	// From is where an import took it from: "page.txt from line 14"; empty for what was measured.
	From string `json:"from,omitempty"`
}

// StageLevel is the level of an arm that names its stage.
const StageLevel = "stage"

// NFS is what the storage of an NFS server is measured by, stage by stage, each a run of its own. It holds all that it
// takes to measure the stages that are missing; what it leaves out is as the suite says.
type NFS struct {
	// Requested is what the stage was called before it was known what came of it.
	Requested string `json:"asked,omitempty"`
	// Client and Server are names of targets; Server is empty where its own storage is left out.
	Client string `json:"client"`
	Server string `json:"server,omitempty"`
	// Export is the directory on the server, and Path what its clients call it.
	Export string `json:"export,omitempty"`
	Path   string `json:"path,omitempty"`
	// Addresses of the server, the Version of the protocol, further Options of mounts, the Transports, all where none
	// is named, and the port for RDMA.
	Addresses  []string `json:"addresses,omitempty"`
	Version    string   `json:"version,omitempty"`
	Options    []string `json:"options,omitempty"`
	Transports []string `json:"transports,omitempty"`
	RDMAPort   int      `json:"rdma_port,omitempty"`
	// Mounted is a mount of the client that was there before, measured in place of headroom's own.
	Mounted string `json:"mounted,omitempty"`
	// Guest is the target of a virtual machine whose disk lies on it, and GuestPlace the directory or device that is
	// measured there.
	Guest      string `json:"guest,omitempty"`
	GuestPlace string `json:"guest_place,omitempty"`
	// Set are parameters of every load, Size that of the scratch file, Repeat how often and Order in which order, as
	// typed.
	Set    []string `json:"set,omitempty"`
	Size   string   `json:"size,omitempty"`
	Repeat int      `json:"repeat,omitempty"`
	Order  string   `json:"order,omitempty"`
	// Events of each load on a mount. What each should leave of the rate is said of all addresses.
	Events []Event `json:"events,omitempty"`
}
