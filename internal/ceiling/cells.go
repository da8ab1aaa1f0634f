package ceiling

import "headroom/internal/lab"

// OfCells are the ceilings of each cell of a run, by the cell's ID, from the facts of the target that it ran on.
func OfCells(run lab.Run) map[string][]Ceiling {
	machines := map[string]*Machine{}
	for _, t := range run.Targets {
		machines[t.Role] = NewMachine(t)
	}
	roles := map[string]string{}
	for _, arm := range run.Arms {
		roles[arm.ID] = arm.Role
	}
	all := make(map[string][]Ceiling, len(run.Cells))
	for _, cell := range run.Cells {
		all[cell.ID] = nil
		if m := machines[roles[cell.Arm]]; m != nil && lab.ByFio(cell.Engine) {
			all[cell.ID] = m.Of(cell.Params)
		}
	}
	return all
}
