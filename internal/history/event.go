package history

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/diff"
)

// near is how many runs apart the change points of cells may be that have the same reason: with 2% at 1% noise, one in
// ten is found further away.
const near = 2

// maxDifferences is how many are kept of an event: the rest are ranked below these, and compare lists them.
const maxDifferences = 20

// events are the times at which cells changed, and what else did. Changes of several cells within two runs are one
// event, at the run at which most of them have it: the time of one change is an estimate, and the facts of a run too
// early or too late would hide the reason.
func events(s Series, facts FactsOf, knowledge *diff.Knowledge) ([]Event, error) {
	out := []Event{}
	left := map[int]map[int]float64{} // by index of the run, the size of the change by track
	for i, t := range s.Cells {
		for _, c := range t.Changes {
			at := s.indexOf(c.Run)
			if left[at] == nil {
				left[at] = map[int]float64{}
			}
			left[at][i] = math.Abs(math.Log(c.Ratio))
		}
	}
	for len(left) > 0 {
		at := heaviest(left)
		e := Event{Run: s.Runs[at].ID, Before: s.Runs[at-1].ID, Created: s.Runs[at].Created,
			Differences: []diff.Difference{}}
		for i := at - near; i <= at+near; i++ {
			for track := range left[i] {
				e.Cells = append(e.Cells, track)
			}
			delete(left, i)
		}
		slices.Sort(e.Cells)
		e.Cells = slices.Compact(e.Cells)
		if err := e.explain(s, at, facts, knowledge); err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Event) int { return a.Created.Compare(b.Created) })
	return out, nil
}

// heaviest is the run at which most cells changed; of several, where they changed most.
func heaviest(changes map[int]map[int]float64) int {
	best, cells, size := -1, 0, 0.0
	for at, by := range changes {
		sum := 0.0
		for _, v := range by {
			sum += v
		}
		if len(by) > cells || len(by) == cells && (sum > size || sum == size && at < best) {
			best, cells, size = at, len(by), sum
		}
	}
	return best
}

func (s Series) indexOf(run string) int {
	return slices.IndexFunc(s.Runs, func(r RunInfo) bool { return r.ID == run })
}

// explain compares the machine before and after the event. When these are alike, it compares runs a little farther
// away, because the time of a change is an estimate.
func (e *Event) explain(s Series, at int, facts FactsOf, knowledge *diff.Knowledge) error {
	for _, around := range []int{0, near} {
		before, after := max(0, at-1-around), min(len(s.Runs)-1, at+around)
		a, err := facts(s.Runs[before].ID)
		if err != nil {
			return err
		}
		b, err := facts(s.Runs[after].ID)
		if err != nil {
			return err
		}
		if len(a) == 0 || len(b) == 0 {
			e.Unknown = "nothing is known of the machine of these runs"
			return nil
		}
		d := knowledge.Compare(diff.Side{Name: s.Runs[before].ID, Facts: a},
			diff.Side{Name: s.Runs[after].ID, Facts: b})
		if len(d.Differences) > 0 {
			shown := d.Differences[:min(len(d.Differences), maxDifferences)]
			e.Differences, e.Near = slices.Clone(shown), around > 0 // without the others, which may be many
			return nil
		}
	}
	return nil
}

// Updates are the differences that an update of the system goes by (kernel, distribution, firmware, microcode, fio),
// where there are any.
func (e Event) Updates() []diff.Difference {
	var out []diff.Difference
	for _, key := range updates() {
		i := slices.IndexFunc(e.Differences, func(d diff.Difference) bool { return d.Fact == key })
		named := slices.ContainsFunc(out, func(d diff.Difference) bool {
			return key == "os.version" && d.Fact == "os.name"
		})
		if i >= 0 && !named {
			out = append(out, e.Differences[i])
		}
	}
	return out
}

// updates are the facts by which updates go.
func updates() []string {
	return []string{"kernel.release", "os.name", "os.version", "machine.bios.version", "disk.firmware", "cpu.microcode",
		"tool.fio.version"}
}
