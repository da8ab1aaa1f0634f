package lab

// RunTarget is a target in a run, by role, with what was measured on it.
type RunTarget struct {
	Role   string `json:"role"`   // "storage" where there is only one
	Target string `json:"target"` // "local", "ssh://…", …; for an import the host's name where it is known
	Place  Place  `json:"place"`
	Facts  []Fact `json:"facts,omitempty"`
	// FactsAs is the role of another target of the run whose facts are those of this one, too, but for the ones in
	// Facts; empty where Facts has all.
	FactsAs string `json:"facts_as,omitempty"`
	// NotVerified are arguments that the kernel of a guest is always started with, and whose effect nothing shows.
	NotVerified []Unverified `json:"not_verified,omitempty"`
}

// LocalTarget is the name of this machine as a target.
const LocalTarget = "local"

// Remote is the name of a target that is not this machine; empty for this machine, and where it is not known.
func (t RunTarget) Remote() string {
	if t.Target == LocalTarget {
		return ""
	}
	return t.Target
}

// PlaceKind says what kind of thing a load is pointed at.
type PlaceKind string

// A load goes to a scratch file in a Directory, or straight to a block Device. NoPlace is for loads that
// touch no storage (fio's null engine) and for imports that do not say.
const (
	Directory PlaceKind = "directory"
	Device    PlaceKind = "device"
	NoPlace   PlaceKind = "none"
)

// Place is what a run measures on one target.
type Place struct {
	Kind PlaceKind `json:"kind"`
	// Path as the user gave it, cleaned; for a device also where its links lead.
	Path     string `json:"path,omitempty"`
	Resolved string `json:"resolved,omitempty"`
	// Size of the device or of the scratch file, in bytes.
	Size int64 `json:"size,omitempty"`
	// Disks are the kernel names of the whole disks underneath ("nvme0n1"), whose counters show what really
	// arrived; empty where there are none (tmpfs, a network file system).
	Disks []string `json:"disks,omitempty"`
	// Filesystem is the type of the file system that a directory is on ("ext4"); empty for a device.
	Filesystem string `json:"filesystem,omitempty"`
	// Members are the devices of a place that is several of them, which are loaded at the same time by a job each. Path
	// has them with commas between, Resolved is empty, and Size is that of the smallest.
	Members []string `json:"members,omitempty"`
}
