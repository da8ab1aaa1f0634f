package difference

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

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
