package experiment

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// warnActiveRuns warns once of each run of the store that another process is measuring on the same disks. Both runs
// continue: their warnings show afterwards how they disturbed each other.
func (m *Measurement) warnActiveRuns() {
	if len(m.Place().Disks) == 0 || m.App.Traits(m.Target.Name()).Made() {
		return
	}
	for _, b := range m.App.Others.In(m.Store) {
		shared := m.disksShared(b.Run)
		if len(shared) == 0 || !m.App.Others.FirstTold(b.Run.ID) {
			continue
		}
		id := m.Store.ShortID(b.Run.ID)
		m.App.Print("! ", "run "+id+" is measuring "+strings.Join(shared, ", ")+" at the moment, and the two disturb "+
			"each other; headroom list --status running lists it until it has ended")
	}
}

// disksShared are the disks under the place that a run measures too.
func (m *Measurement) disksShared(run lab.Run) []string {
	var shared []string
	for _, t := range run.Targets {
		for _, disk := range t.Place.Disks {
			if t.Target == m.Target.Name() && slices.Contains(m.Place().Disks, disk) && !slices.Contains(shared, disk) {
				shared = append(shared, disk)
			}
		}
	}
	return shared
}
