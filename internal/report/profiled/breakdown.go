package profiled

import (
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/stacks"
)

// Schema of a Document.
const Schema = "headroom/profile/v1"

// Document has the profiles of a run: `headroom profile show --json`.
type Document struct {
	Schema string `json:"schema"`
	Run    string `json:"run"`
	// Warnings are the limits of the numbers.
	Warnings []lab.Warning `json:"warnings,omitempty"`
	Cells    []Cell        `json:"cells"`
}

// Cell is one cell in one arm, on one target if the run measures several.
type Cell struct {
	cost.Profile
	// Requests by device, direction and size, the most frequent first, and their Devices.
	Requests []Requests `json:"requests,omitempty"`
	Devices  []Device   `json:"devices,omitempty"`
	// Waits are where the load's threads were off the CPU; nil if that was not recorded.
	Waits *Waits `json:"waits,omitempty"`
	// Stacks are for pictures and other programs, and Modules are the modules of their functions; JSON has neither.
	Stacks  stacks.Set        `json:"-"`
	Modules map[string]string `json:"-"`
}

// Group has the loads of one cell in one arm, on one target.
type Group struct {
	Cell, Arm, Role string
	Loads           []profile.Load
}

// Groups returns the loads of a run by cell, arm and target, in their original order.
func Groups(loads []profile.Load) []Group {
	var groups []Group
	for _, l := range loads {
		i := slices.IndexFunc(groups, func(g Group) bool {
			return g.Cell == l.Cell && g.Arm == l.Arm && g.Role == l.Role
		})
		if i < 0 {
			i = len(groups)
			groups = append(groups, Group{Cell: l.Cell, Arm: l.Arm, Role: l.Role})
		}
		groups[i].Loads = append(groups[i].Loads, l)
	}
	return groups
}

// CellOf computes a cell from the loads of a group and the cost of an I/O.
func CellOf(g Group, costs cost.Profile) Cell {
	c := Cell{Profile: costs, Modules: map[string]string{}}
	for _, l := range g.Loads {
		maps.Copy(c.Modules, l.Modules)
	}
	c.Requests, c.Devices = requestsOf(g.Loads), devicesOf(g.Loads)
	c.Waits = waitsOf(g.Loads)
	var cpu []float64
	if costs.CPU != nil {
		cpu = costs.CPU.Values
	}
	c.Stacks = stacks.Of(g.Loads, cpu)
	c.Stacks.Cell, c.Stacks.Arm, c.Stacks.Role = c.Cell, c.Arm, c.Role
	return c
}
