package diff

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/testing/figure"
)

// regression is a published slowdown by one option of the build.
type regression struct {
	Option   string
	Slow     string
	Fast     string
	Argument string
	What     string
	Source   string
}

func regressions(t *testing.T) []regression {
	t.Helper()
	data, err := os.ReadFile("testdata/regressions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var list []regression
	if err := yaml.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 20 {
		t.Fatalf("%d regressions in the list, want 20", len(list))
	}
	return list
}

// firstPlaces is the worst rank at which a planted option counts as found, and wanted is how many of the twenty must be
// found.
const (
	firstPlaces = 10
	wanted      = 16
)

// Each of twenty published regressions is planted alone in each of four pairs of real configurations. At least 16 of 20
// must be among the first ten differences. An option counts only if it has its own rank, not if it is listed under
// another. The slow value is planted in either side, and the worse rank counts.
func TestPlantedRegressions(t *testing.T) {
	list := regressions(t)
	k := knowledge(t)
	pairs := [][2]string{
		{"talos-6.6.57-iommu-strict", "debian-6.1.0-50"},
		{"talos-6.6.57-iommu-lazy", "debian-6.12.111"},
		{"debian-6.1.0-50", "debian-6.12.111"},
		{"talos-6.6.57-iommu-lazy", "debian-6.1.0-50"},
	}
	if !figure.Whole {
		pairs = pairs[:2] // each configuration once
	}
	for _, p := range pairs {
		a, b := config(t, p[0]), config(t, p[1])
		var places []string
		hits := 0
		for _, r := range list {
			rank := max(plantedRank(k, a, b, r, true), plantedRank(k, a, b, r, false))
			if rank <= firstPlaces {
				hits++
			}
			places = append(places, fmt.Sprintf("%s %d", r.Option, rank))
		}
		figure.Record(t, figure.Figure{Name: figure.Name("diff/planted", p[0], p[1]), Center: float64(hits),
			N: len(list), Better: figure.Higher,
			Text: fmt.Sprintf("of published regressions in the first %d, %s against %s: %s", firstPlaces, p[0], p[1],
				strings.Join(places, ", "))})
		if hits < wanted {
			t.Errorf("%s against %s: %d of %d planted regressions are in the first %d, want %d", p[0], p[1], hits,
				len(list), firstPlaces, wanted)
		}
	}
}

// plantedRank returns the rank of an option that is the only planted difference: it and its former names are removed
// from both configurations, then it is added, slow on one side and fast on the other.
func plantedRank(k *Knowledge, a, b kconfig.Config, r regression, slowA bool) int {
	a, b = maps.Clone(a), maps.Clone(b)
	for _, c := range []kconfig.Config{a, b} {
		for _, name := range otherNames(r.Option) {
			delete(c, name)
		}
	}
	a[r.Option], b[r.Option] = r.Fast, r.Slow
	if slowA {
		a[r.Option], b[r.Option] = r.Slow, r.Fast
	}
	d := k.Compare(configSide("a", a), configSide("b", b))
	i := slices.IndexFunc(d.Differences, func(d Difference) bool { return d.Name == r.Option })
	if i < 0 {
		return len(d.Differences) + 1
	}
	return d.Differences[i].Rank
}

// otherNames returns an option's names over the kernels' versions, including its own.
func otherNames(option string) []string {
	names := []string{option}
	for i := 0; i < len(names); i++ {
		for _, r := range kconfig.Renames() {
			if r.Old == names[i] && !slices.Contains(names, r.New) {
				names = append(names, r.New)
			}
			if r.New == names[i] && !slices.Contains(names, r.Old) {
				names = append(names, r.Old)
			}
		}
	}
	return names
}
