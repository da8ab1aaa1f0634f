package compare

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
)

// cellReasons returns the reasons not to compare any metric of two cells.
func cellReasons(base, next Run, m match) (reasons []Reason, unchecked []string) {
	differ, unchecked := parameterDifferences(m.base, m.next, base.paramsComplete(), next.paramsComplete())
	if i := slices.IndexFunc(differ, func(p Pair) bool { return p.Name == "direct" }); i >= 0 {
		d := differ[i]
		reasons = append(reasons, Reason{Code: "direct", Items: []Pair{d},
			Text: fmt.Sprintf("direct=%s -> direct=%s: one goes to the storage, the other through the page cache",
				d.Base, d.New)})
		differ = slices.Delete(differ, i, i+1)
	}
	if m.base.Engine != m.next.Engine {
		differ = append(differ, Pair{Name: "engine", Base: m.base.Engine, New: m.next.Engine})
	}
	if len(differ) == 0 {
		differ = commandDifference(m)
	}
	if len(differ) > 0 {
		reasons = append(reasons,
			Reason{Code: "parameters", Items: differ, Text: "the loads differ: " + pairText(differ)})
	}
	if r, found := memoryReason(base, next, m); found {
		reasons = append(reasons, r)
	}
	return reasons, unchecked
}

// pairText lists the differences, the base first: "iodepth 8 -> 1, size 1g -> 10g".
func pairText(pairs []Pair) string {
	var parts []string
	for _, p := range pairs {
		parts = append(parts, fmt.Sprintf("%s %s -> %s", p.Name, p.Base, p.New))
	}
	return strings.Join(parts, ", ")
}

// memoryReason returns the reason that buffered data fits into the memory of one side and not of the other.
func memoryReason(base, next Run, m match) (Reason, bool) {
	sizeA, memoryA := sizeAndMemory(base, m.base)
	sizeB, memoryB := sizeAndMemory(next, m.next)
	if sizeA <= 0 || sizeB <= 0 || memoryA <= 0 || memoryB <= 0 || (sizeA < memoryA) == (sizeB < memoryB) {
		return Reason{}, false
	}
	if param(m.base, base.paramsComplete(), "direct") != "0" || param(m.next, next.paramsComplete(), "direct") != "0" {
		return Reason{}, false
	}
	side := map[bool]string{true: "base", false: "new"}[sizeA < memoryA]
	return Reason{Code: "memory",
		Text: fmt.Sprintf("buffered, and the data fits into the memory of the %s side only: %s of %s -> %s of %s", side,
			sizeText(sizeA), sizeText(memoryA), sizeText(sizeB), sizeText(memoryB)),
		Items: []Pair{{"data", strconv.FormatInt(sizeA, 10), strconv.FormatInt(sizeB, 10)},
			{"memory.total", strconv.FormatInt(memoryA, 10), strconv.FormatInt(memoryB, 10)}}}, true
}

// sizeAndMemory returns the size of a cell's data and of its machine's memory, in bytes; 0 for unknown sizes.
func sizeAndMemory(r Run, c Cell) (size, memory int64) {
	if memory, _ = strconv.ParseInt(r.fact("memory.total"), 10, 64); memory == 0 {
		return 0, 0
	}
	if size, _ = unit.ParseBytes(load(c)["size"]); size == 0 {
		size = r.place(c.Role).Size
	}
	return size, memory
}

// taints reports whether a warning casts doubt on a metric that n repetitions of the cell have. A warning of fewer than
// half of the repetitions does not: its effect is part of the spread that decides. Nor does a warning about the spread.
func taints(w lab.RepeatedWarning, weights map[string]validity.Weight, metric string, n int) bool {
	weight := weights[w.Code]
	return w.Tainted(metric) && weight != validity.Widens && weight != validity.Note &&
		(w.Repetitions == 0 || 2*w.Repetitions >= n)
}

// Spoils reports whether a warning makes the metric unusable for any comparison. The weights are the weights of all
// checks.
func Spoils(w lab.RepeatedWarning, weights map[string]validity.Weight, metric string, n int) bool {
	weight := weights[w.Code]
	return taints(w, weights, metric, n) && weight != validity.Slows && weight != validity.Moves
}

// warningsOf returns the warnings of the whole run and of a cell.
func warningsOf(run Run, cell Cell) []lab.RepeatedWarning {
	all := make([]lab.RepeatedWarning, 0, len(run.Warnings)+len(cell.Warnings))
	for _, w := range run.Warnings {
		all = append(all, lab.RepeatedWarning{Warning: w})
	}
	return append(all, cell.Warnings...)
}

// warningReasons returns the warnings that cast doubt on a metric on either side.
func warningReasons(weights map[string]validity.Weight, base, next Run, m match, metric string) []Reason {
	var reasons []Reason
	for _, side := range []struct {
		name string
		run  Run
		cell Cell
	}{{"base", base, m.base}, {"new", next, m.next}} {
		for _, w := range warningsOf(side.run, side.cell) {
			if !taints(w, weights, metric, side.cell.N) {
				continue
			}
			printed := func(r Reason) bool { return r.Items[0].Name == w.Code }
			if i := slices.IndexFunc(reasons, printed); i >= 0 {
				if side.name == "new" && reasons[i].Items[0].New == "" {
					reasons[i].Items[0].New = w.Text
					reasons[i].Text = w.Code + " on both sides: " + w.Text
				}
				continue
			}
			item := Pair{Name: w.Code, Base: w.Text}
			if side.name == "new" {
				item = Pair{Name: w.Code, New: w.Text}
			}
			reasons = append(reasons, Reason{Code: "warning", Text: w.Code + " on the " + side.name + " side: " +
				w.Text, Items: []Pair{item}})
		}
	}
	return reasons
}

// fioVersion returns the fio version of a run; empty if it is not known.
func fioVersion(r Run) string { return r.fact("tool.fio.version", "fio.version") }

// reasonsFor returns all reasons not to compare one metric of two cells.
func reasonsFor(weights map[string]validity.Weight, base, next Run, m match, ofCell []Reason, metric string) []Reason {
	reasons := slices.Clone(ofCell)
	values := [2]float64{center(m.base.Values[metric]), center(m.next.Values[metric])}
	if r, found := versionReason(m, fioVersion(base), fioVersion(next), metric, values); found {
		reasons = append(reasons, r)
	}
	reasons = append(reasons, warningReasons(weights, base, next, m, metric)...)
	if r, found := zeroReason(m, metric); found {
		reasons = append(reasons, r)
	}
	if r, found := failedReason(m); found {
		reasons = append(reasons, r)
	}
	return reasons
}

// At most so many loads of a side, or this share of them, may fail: a single failure by chance means little, but the
// loads that worked do not represent many that failed.
const (
	maxFailed      = 1
	maxFailedShare = 0.1
)

// failedReason returns the reason that loads of a side failed. The results of the others would make that side look as
// good as if it always worked.
func failedReason(m match) (Reason, bool) {
	a, b := failed(m.base), failed(m.next)
	many := func(failed, of int) bool { return failed > maxFailed && float64(failed) > maxFailedShare*float64(of) }
	text := fmt.Sprintf("loads failed, and have no result: %d of %d on the base side, %d of %d on the new side", a,
		m.base.N, b, m.next.N)
	return Reason{Code: "failed", Text: text}, many(a, m.base.N) || many(b, m.next.N)
}

// failed returns how many repetitions of a cell have no values at all.
func failed(c Cell) int {
	measured := 0
	for _, values := range c.Values {
		measured = max(measured, len(values))
	}
	return c.N - measured
}

// zeroReason returns the reason that some values have no ratio. Without these values a side that measured 0 would look
// as fast as if it never did.
func zeroReason(m match, metric string) (Reason, bool) {
	base, next := m.base.Values[metric], m.next.Values[metric]
	a, b := len(base)-len(positive(base)), len(next)-len(positive(next))
	text := fmt.Sprintf("a value of 0 has no ratio: %d of %d are on the base side, %d of %d on the new side", a,
		len(base), b, len(next))
	return Reason{Code: "zero", Text: text}, a+b > 0
}

// center returns the median of the values.
func center(values []Value) float64 { return figures(values).Center }

// commandDifference returns how two commands with equal parameters differ, with the commands that run before them.
func commandDifference(m match) []Pair {
	a, b := m.base.Runs, m.next.Runs
	if a == nil || b == nil {
		return nil
	}
	text := func(c *lab.Command) string {
		var lines []string
		for _, argv := range append(slices.Clone(c.Prepare), c.Argv) {
			lines = append(lines, lab.ShellQuote(argv))
		}
		for _, name := range slices.Sorted(maps.Keys(c.Environment)) {
			lines = append(lines, name+"="+c.Environment[name])
		}
		return strings.Join(lines, "; ")
	}
	if text(a) == text(b) {
		return nil
	}
	return []Pair{{Name: "exec", Base: text(a), New: text(b)}}
}
