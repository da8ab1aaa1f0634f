package lab

import (
	"slices"
)

// Leftovers is what a run would leave behind on its targets if it were killed now. It is on disk before any of it
// comes to be.
type Leftovers struct {
	// Target that it is on, by its name; empty for the first of the run.
	Target string `json:"target,omitempty"`
	// Jobs is the prefix of the IDs of its detached jobs.
	Jobs string `json:"jobs,omitempty"`
	// Scratch files, by absolute path.
	Scratch []string `json:"scratch,omitempty"`
	// Mount is what was mounted for the run on the folder of the scratch files, as a level of the factor mount:nfs is
	// written; empty where nothing was. The files lie on a server, so that they are reached through it.
	Mount string `json:"mount,omitempty"`
	// Folders that commands work in, by absolute path.
	Folders []string `json:"folders,omitempty"`
	// Devices that hold test data.
	Devices []string `json:"devices,omitempty"`
	// Tracers begin the names of what recorders of loads have made in the kernel.
	Tracers []string `json:"tracers,omitempty"`
	// Others are what it would leave besides: on other targets, or under other jobs.
	Others []Leftovers `json:"others,omitempty"`
}

// With is the leftovers with those of one more part of the run. A part that is known, by its target and its jobs, is
// replaced.
func (l Leftovers) With(part Leftovers) Leftovers {
	same := func(o Leftovers) bool { return o.Target == part.Target && o.Jobs == part.Jobs }
	if l.Jobs == "" || same(l) {
		part.Others = l.Others
		return part
	}
	l.Others = append(slices.DeleteFunc(slices.Clone(l.Others), same), part)
	return l
}

// Parts are the leftovers one by one, none of which has others. First is the name of the run's first target.
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
