package diff

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/profile/cost"
)

// realCounts returns profiles of guests with real kernels, by the setting; see the file.
func realCounts(t *testing.T) map[string]cost.Profile {
	t.Helper()
	data, err := os.ReadFile("../profile/layer/testdata/calls.tsv")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	counts := map[string]map[string]float64{}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), "\t")
		switch {
		case strings.HasPrefix(line, "#"):
		case names == nil:
			names = fields[1:]
			for _, name := range names {
				counts[name] = map[string]float64{}
			}
		default:
			for i, name := range names {
				n, err := strconv.ParseFloat(fields[i+1], 64)
				if err != nil {
					t.Fatal(err)
				}
				counts[name][fields[0]] = n
			}
		}
	}
	all := map[string]cost.Profile{}
	for _, name := range names {
		p := cost.Profile{Cell: "rand-read", CallLoads: 1}
		for function, n := range counts[name] {
			if calls := n / counts[name]["aio_read"]; calls >= minCalls {
				p.Functions = append(p.Functions, cost.Function{Name: function, Calls: &cost.LoadMean{Mean: calls,
					Values: []float64{calls}}})
			}
		}
		all[name] = p
	}
	return all
}

// Counts from guests with Linux 6.1 and 6.12 identify the setting that was changed, and none if both guests were alike.
func TestMechanismOfRealKernels(t *testing.T) {
	counts := realCounts(t)
	arguments := "ro iommu.strict=1 slub_debug=FZPU page_owner=on swiotlb=force debug_pagealloc=on"
	differences := compared(t, "ro iommu.strict=0", arguments, "none", "none")
	for pair, want := range map[string]string{"lazy1 strict1": "iommu.strict", "lazy1 strict2": "iommu.strict",
		"lazy612 strict612": "iommu.strict", "lazy1 slub": "slub_debug", "lazy1 lazy2": "", "strict1 strict2": ""} {
		a, b, _ := strings.Cut(pair, " ")
		if len(counts[a].Functions) < 100 || len(counts[b].Functions) < 100 {
			t.Fatalf("%s: %d and %d functions", pair, len(counts[a].Functions), len(counts[b].Functions))
		}
		var moved []string
		for _, d := range differences {
			m := knowledge(t).Mechanism(between(counts[a], counts[b]), d)
			if m == nil {
				t.Errorf("%s says nothing of %s", pair, d.Name)
			} else if m.Evidence == Moved {
				moved = append(moved, d.Name)
			}
		}
		if len(differences) != 5 || !slices.Equal(moved, strings.Fields(want)) {
			t.Errorf("%s: of %d differences %v moved, want %q", pair, len(differences), moved, want)
		}
	}
}
