package difference

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/layer"
	"github.com/headroom/headroom/internal/stat"
)

// Options of a comparison of profiles.
type Options struct {
	// A and B name the compared profiles.
	A, B string
	// FactsA and FactsB are the facts of the two machines, as far as known.
	FactsA, FactsB []lab.Fact
	// Alpha limits the probability of any wrong statement; 0 means 0.05.
	Alpha float64
}

// Of compares the profiles of the cells that both sides have: each at most once on a side, in one arm.
func Of(a, b []cost.Profile, o Options) (Document, error) {
	o.Alpha = cmp.Or(o.Alpha, 0.05)
	d := Document{Schema: Schema, A: o.A, B: o.B, Alpha: o.Alpha, Cells: []Cell{}}
	layers, err := layer.Load()
	if err != nil {
		return d, err
	}
	causes := couldSlowAll(o.FactsA, o.FactsB)
	var all []*work
	for _, one := range a {
		i := slices.IndexFunc(b, func(other cost.Profile) bool { return place(other) == place(one) })
		if i < 0 {
			continue
		}
		w := &work{known: layers, rows: map[string]*row{}, layers: map[string]*row{}, causes: causes}
		w.cell = Cell{Cell: place(one), A: one, B: b[i], Slower: 1, Layers: []Layer{}, Functions: []Function{}}
		w.collect()
		if err := w.rename(); err != nil {
			return d, err
		}
		w.missing()
		all = append(all, w)
	}
	judge(all, o.Alpha)
	for _, w := range all {
		w.list()
		w.account(stat.FamilyWise(o.Alpha, len(all)))
		d.Cells = append(d.Cells, w.cell)
	}
	return d, nil
}

// OfArms compares the profiles of two arms of a run; the result has no cells if that is impossible.
func OfArms(costs []cost.Profile, a, b string) Document {
	of := func(arm string) []cost.Profile {
		return slices.DeleteFunc(slices.Clone(costs), func(c cost.Profile) bool { return c.Arm != arm })
	}
	d, err := Of(of(a), of(b), Options{A: a, B: b})
	if err != nil {
		return Document{} // the tests of the layers report their faults
	}
	return d
}

// place identifies the cell and target of a profile, whatever the arm.
func place(p cost.Profile) string {
	cell := p.Cell
	if p.Arm != "" {
		cell = strings.TrimSuffix(cell, lab.CellIn("", p.Arm))
	}
	if p.Role != "" {
		cell += " (" + p.Role + ")"
	}
	return cell
}

// work is a cell while it is computed.
type work struct {
	known  *layer.Layers
	cell   Cell
	rows   map[string]*row // functions, by name
	layers map[string]*row // by id
	// reached are the layers that requests of the load reach, by id.
	reached map[string]bool
	// aside is the excluded time of each load, raw the time of each layer without it, and pace the logarithm of how
	// long everything takes in each load.
	aside, pace pair
	raw         map[string]pair
	// causes are facts that could slow down everything.
	causes []FactChange
}

// functions returns the rows in the order of their names.
func (w *work) functions() []*row {
	var all []*row
	for _, name := range slices.Sorted(maps.Keys(w.rows)) {
		all = append(all, w.rows[name])
	}
	return all
}

func (w *work) groups() []*row {
	var all []*row
	for _, id := range slices.Sorted(maps.Keys(w.layers)) {
		all = append(all, w.layers[id])
	}
	return all
}

// fewestLoads of a side that are needed to estimate its spread.
const fewestLoads = 2

// missing records what can't be compared.
func (w *work) missing() {
	for _, part := range []struct {
		what string
		a, b int
		part profile.Part
	}{
		{"function calls", w.cell.A.CallLoads, w.cell.B.CallLoads, profile.Calls},
		{"samples", w.cell.A.TimeLoads, w.cell.B.TimeLoads, profile.Time},
	} {
		m := profile.Missing{What: part.what}
		switch {
		case part.a == 0 && part.b == 0:
			m.Why = "neither side has any"
		case part.a == 0:
			m.Why = "the first side has none"
		case part.b == 0:
			m.Why = "the second side has none"
		case min(part.a, part.b) < fewestLoads:
			m.Why = "one profiled load does not say how much they scatter"
		default:
			continue
		}
		m.Hint = "profile both sides again, with at least two loads each"
		w.cell.Missing = append(w.cell.Missing, m)
	}
}

// FactChange is a fact that differs between the two machines.
type FactChange struct {
	Key string `json:"key"`
	// Title in words: "page-table isolation".
	Title string `json:"title"`
	A     string `json:"a"`
	B     string `json:"b"`
}

// slowAll returns the keys of facts that can slow down everything that a CPU does, or every entry to the kernel, with
// their titles. A key that ends in a dot means all keys with that prefix. Counts of calls don't show the cost of these
// facts.
func slowAll() [][2]string {
	return [][2]string{
		{"cpu.pti", "page-table isolation"},
		{"vm.emulated", "an emulated CPU"},
		{"cpu.model", "the CPU's model"},
		{"cpu.governor", "the frequency governor"},
		{"cpu.frequency.", "the CPU's frequency"},
		{"cpu.boost", "boost frequencies"},
		{"cpu.energy_preference", "the CPU's energy preference"},
		{"cpu.smt", "threads that share a core"},
		{"cpu.microcode", "microcode"},
		{"load.steal", "time that the hypervisor took"},
		{"cpu.vulnerability.", "the mitigation of "},
	}
}

// SlowsAll reports whether a fact can slow down everything.
func SlowsAll(key string) bool {
	return slices.ContainsFunc(slowAll(), func(known [2]string) bool {
		name, fits := strings.CutPrefix(key, known[0])
		return fits && (name == "" || strings.HasSuffix(known[0], "."))
	})
}

// couldSlowAll returns the facts that differ between two machines and can slow down everything, in the order of
// slowAll.
func couldSlowAll(a, b []lab.Fact) []FactChange {
	var all []FactChange
	for _, known := range slowAll() {
		for _, before := range a {
			name, fits := strings.CutPrefix(before.Key, known[0])
			if !fits || before.Unknown != "" || name != "" && !strings.HasSuffix(known[0], ".") {
				continue
			}
			title := known[1]
			if strings.HasSuffix(title, " ") {
				title += name
			}
			for _, after := range b {
				if after.Key == before.Key && after.About == before.About && after.Value != before.Value &&
					after.Unknown == "" {
					all = append(all, FactChange{before.Key, title, before.Value, after.Value})
				}
			}
		}
	}
	return all
}
