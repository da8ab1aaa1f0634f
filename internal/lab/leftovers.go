package lab

import (
	"slices"
)

// Leftovers is what a run would leave behind on its targets if it were killed now. It is saved to disk before any of
// the leftovers is created.
type Leftovers struct {
	// Target is the name of the target with the leftovers; empty for the first of the run.
	Target string `json:"target,omitempty"`
	// Jobs is the prefix of the IDs of its detached jobs.
	Jobs string `json:"jobs,omitempty"`
	// Scratch files, by absolute path.
	Scratch []string `json:"scratch,omitempty"`
	// Mount is what was mounted for the run on the folder of the scratch files, in the syntax of a level of the factor
	// mount:nfs; empty if nothing was mounted. The files are stored on a server and reached through this mount.
	Mount string `json:"mount,omitempty"`
	// Folders that commands work in, by absolute path.
	Folders []string `json:"folders,omitempty"`
	// Devices that hold test data.
	Devices []string `json:"devices,omitempty"`
	// Tracers are prefixes of the names that recorders of loads created in the kernel.
	Tracers []string `json:"tracers,omitempty"`
	// Others are further leftovers: on other targets, or of other jobs.
	Others []Leftovers `json:"others,omitempty"`
}

// With adds the leftovers of one more part of the run. A part with the same target and jobs is replaced.
func (l Leftovers) With(part Leftovers) Leftovers {
	same := func(o Leftovers) bool { return o.Target == part.Target && o.Jobs == part.Jobs }
	if l.Jobs == "" || same(l) {
		part.Others = l.Others
		return part
	}
	l.Others = append(slices.DeleteFunc(slices.Clone(l.Others), same), part)
	return l
}

// Parts returns the leftovers as a flat list without Others. first is the name of the run's first target.
func (l Leftovers) Parts(first string) []Leftovers {
	parts := append([]Leftovers{l}, l.Others...)
	for i := range parts {
		parts[i].Others = nil
		if parts[i].Target == "" {
			parts[i].Target = first
		}
	}
	return parts
}
