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
		shared := disksShared(b.Run, m.Target.Name(), m.Place().Disks)
		if len(shared) == 0 || !m.App.Others.FirstTold(b.Run.ID) {
			continue
		}
		id := m.Store.ShortID(b.Run.ID)
		m.App.Print("! ", "run "+id+" is measuring "+strings.Join(shared, ", ")+" at the moment, and the two disturb "+
			"each other; headroom list --status running lists it until it has ended")
	}
}

// disksShared returns which of some disks of a target a run measures too.
func disksShared(run lab.Run, target string, disks []string) []string {
	var shared []string
	for _, t := range run.Targets {
		for _, disk := range t.Place.Disks {
			if t.Target == target && slices.Contains(disks, disk) && !slices.Contains(shared, disk) {
				shared = append(shared, disk)
			}
		}
	}
	return shared
}
