package experiment

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// warnActiveRuns warns once of each run of the store that another process is measuring on the same disks of a target.
// Both runs continue: their warnings show afterwards how they disturbed each other.
func warnActiveRuns(p *app.App, s *store.Store, target string, disks []string) {
	if len(disks) == 0 || p.Traits(target).Made() {
		return
	}
	for _, b := range p.Others.In(s) {
		shared := disksShared(b.Run, target, disks)
		if len(shared) == 0 || !p.Others.FirstTold(b.Run.ID) {
			continue
		}
		id := s.ShortID(b.Run.ID)
		p.Print("! ", "run "+id+" is measuring "+strings.Join(shared, ", ")+" at the moment, and the two disturb "+
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
