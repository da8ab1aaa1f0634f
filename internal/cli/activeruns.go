package cli

import (
	"slices"
	"strings"

	"headroom/internal/lab"
)

// warnActiveRuns says once of each run of the store that another process is measuring on the same disks at the moment.
// Both runs go on: their warnings say afterwards what they did to each other.
func (m *measurement) warnActiveRuns() {
	if len(m.place().Disks) == 0 || m.traits(m.target.Name()).Made() {
		return
	}
	m.activeOnce.Do(func() { m.active = m.store.Active() }) // before this command begins runs of its own
	for _, b := range m.active {
		shared := m.disksShared(b.Run)
		if len(shared) == 0 || !m.markWarned(b.Run.ID) {
			continue
		}
		id := m.store.ShortID(b.Run.ID)
		m.print("! ", "run "+id+" is measuring "+strings.Join(shared, ", ")+" at the moment, and the two disturb each "+
			"other; headroom list --status running lists it until it has ended")
	}
}

// markWarned notes that a run of another process is said to go on, and says whether it is for the first time.
func (p *program) markWarned(run string) bool {
	p.outputMu.Lock()
	defer p.outputMu.Unlock()
	if slices.Contains(p.warnedActive, run) {
		return false
	}
	p.warnedActive = append(p.warnedActive, run)
	return true
}

// disksShared are the disks under the place that a run measures too.
func (m *measurement) disksShared(run lab.Run) []string {
	var shared []string
	for _, t := range run.Targets {
		for _, disk := range t.Place.Disks {
			if t.Target == m.target.Name() && slices.Contains(m.place().Disks, disk) && !slices.Contains(shared, disk) {
				shared = append(shared, disk)
			}
		}
	}
	return shared
}
