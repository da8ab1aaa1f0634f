package ceiling

import "github.com/headroom/headroom/internal/lab"

// OfCells returns the ceilings of each cell of a run, by the cell's ID, from the facts of the target that it ran on.
func OfCells(run lab.Run) map[string][]Ceiling {
	machines, clients := map[string]*Machine{}, map[string]string{}
	for _, t := range run.Targets {
		machines[t.Role], clients[t.Role] = NewMachine(t), t.Target
	}
	roles := map[string]string{}
	for _, arm := range run.Arms {
		roles[arm.ID] = arm.Role
	}
	all := make(map[string][]Ceiling, len(run.Cells))
	for _, cell := range run.Cells {
		all[cell.ID] = nil
		switch m := machines[roles[cell.Arm]]; {
		case m == nil:
		case lab.ByFio(cell.Engine):
			all[cell.ID] = m.Of(cell.Params)
		case run.Source == lab.Imported && cell.Engine == lab.EngineIperf3:
			all[cell.ID] = m.OfNetwork(clients[roles[cell.Arm]])
		}
	}
	return all
}
