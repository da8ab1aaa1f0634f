package difference

import (
	"bytes"
	_ "embed"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed renames.yaml
var renamesFile []byte

// known returns the renames of the file, which is read once.
var known = sync.OnceValues(func() ([]Renamed, error) {
	var all []Renamed
	decoder := yaml.NewDecoder(bytes.NewReader(renamesFile))
	decoder.KnownFields(true)
	err := decoder.Decode(&all)
	return all, err
})

// rename merges two rows of functions that have different names in the two kernels. Only functions that did not run at
// all on one side are considered renamed: a function that ran on both exists in both.
func (w *work) rename() error {
	if w.cell.A.Kernel == w.cell.B.Kernel {
		return nil
	}
	all, err := known()
	if err != nil {
		return err
	}
	for _, r := range all {
		if !w.join(r) {
			w.join(Renamed{A: r.B, B: r.A, Why: r.Why})
		}
	}
	stems := map[string][]string{}
	for name := range w.rows {
		stems[stem(name)] = append(stems[stem(name)], name)
	}
	for _, names := range stems {
		if len(names) != 2 {
			continue
		}
		why := "the same but for underscores or _noprof"
		if !w.join(Renamed{A: names[0], B: names[1], Why: why}) {
			w.join(Renamed{A: names[1], B: names[0], Why: why})
		}
	}
	return nil
}

// stem returns the common part of a function's names in different versions. Functions with profiled allocations end in
// _noprof.
func stem(name string) string { return strings.TrimSuffix(strings.Trim(name, "_"), "_noprof") }

func (w *work) join(r Renamed) bool {
	a, b := w.rows[r.A], w.rows[r.B]
	if a == nil || b == nil || !a.inA() || a.inB() || b.inA() || !b.inB() {
		return false
	}
	b.calls[0], b.bursts[0], b.self[0], b.waits[0] = a.calls[0], a.bursts[0], a.self[0], a.waits[0]
	b.ownCalls[0], b.ownBursts[0], b.ownSelf[0] = a.ownCalls[0], a.ownBursts[0], a.ownSelf[0]
	delete(w.rows, r.A)
	w.cell.Renamed = append(w.cell.Renamed, r)
	return true
}
