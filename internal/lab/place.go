package lab

// RunTarget is a target in a run, by role, with the place that was measured on it.
type RunTarget struct {
	Role   string `json:"role"`   // "storage" where there is only one
	Target string `json:"target"` // "local", "ssh://…", …; for an import the host's name if known
	Place  Place  `json:"place"`
	Facts  []Fact `json:"facts,omitempty"`
	// FactsAs is the role of another target of the run. This target has the same facts, except for those in Facts. It
	// is empty if Facts is complete.
	FactsAs string `json:"facts_as,omitempty"`
	// NotVerified are kernel arguments that a guest is always started with, and whose effect can't be observed.
	NotVerified []Unverified `json:"not_verified,omitempty"`
}

// LocalTarget is the name of this machine as a target.
const LocalTarget = "local"

// Remote returns the name of a target that is another machine. It is empty for this machine, and if the target is
// unknown.
func (t RunTarget) Remote() string {
	if t.Target == LocalTarget {
		return ""
	}
	return t.Target
}

// PlaceKind is the kind of thing that a load is pointed at.
type PlaceKind string

// A load goes to a scratch file in a Directory, or straight to a block Device. NoPlace is for loads that use no storage
// (fio's null engine) and for imports that do not name a place.
const (
	Directory PlaceKind = "directory"
	Device    PlaceKind = "device"
	NoPlace   PlaceKind = "none"
)

// Place is what a run measures on one target.
type Place struct {
	Kind PlaceKind `json:"kind"`
	// Path as the user gave it, cleaned. Resolved is the path of a device after following symbolic links.
	Path     string `json:"path,omitempty"`
	Resolved string `json:"resolved,omitempty"`
	// Size of the device or of the scratch file, in bytes.
	Size int64 `json:"size,omitempty"`
	// Disks are the kernel names of the whole disks underneath ("nvme0n1"), whose counters show what really arrived;
	// empty if there are none (tmpfs, a network file system).
	Disks []string `json:"disks,omitempty"`
	// Filesystem is the type of the file system that a directory is on ("ext4"); empty for a device.
	Filesystem string `json:"filesystem,omitempty"`
	// Members are the devices of a place that consists of several, which are loaded at the same time by one job each.
	// Path then lists them separated by commas, Resolved is empty, and Size is the size of the smallest.
	Members []string `json:"members,omitempty"`
}
