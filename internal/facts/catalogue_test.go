package facts

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/testing/factstest"
)

// Every fact of any saved machine is in the catalogue, so that rules, redaction and comparison know it.
func TestEveryFactIsInTheCatalogue(t *testing.T) {
	index := catalogue.NewIndex()
	for _, m := range factstest.Machines(t) {
		_, facts := placeAndFacts(t, m)
		for _, f := range facts {
			d, ok := index.Lookup(f.Key)
			if !ok {
				t.Errorf("%s: %s is not in the catalogue", m.Title, f.Key)
				continue
			}
			if (catalogue.ClassOf(f.Key) != "") != (f.About != "") &&
				!strings.Contains(f.Key, catalogue.UnderTestRole) {
				t.Errorf("%s: %s is about %q", m.Title, f.Key, f.About)
			}
			if f.Unknown == "" && !d.Kind.Holds(f.Value) {
				t.Errorf("%s: %s = %q is not what its kind says", m.Title, f.Key, f.Value)
			}
		}
	}
}

func TestCatalogueHasEachKeyOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range catalogue.All() {
		if seen[d.Key] || d.Text == "" {
			t.Errorf("%s stands twice, or says nothing", d.Key)
		}
		seen[d.Key] = true
		known := slices.Contains([]catalogue.Unit{catalogue.Bytes, catalogue.KiB, catalogue.BitsPerSecond,
			catalogue.BytesPerSecond, catalogue.Transfers,
			catalogue.Hertz, catalogue.Seconds, catalogue.Minutes, catalogue.Microseconds,
			catalogue.Nanoseconds, catalogue.Celsius,
			catalogue.Percent, catalogue.Share}, d.Unit)
		if !known && d.Unit != "" || d.Unit != "" && (d.Kind == catalogue.Flag || d.Kind == catalogue.List) {
			t.Errorf("%s: %q is not a unit for it", d.Key, d.Unit)
		}
		if !known && (d.Kind == catalogue.Whole || d.Kind == catalogue.Fraction) && strings.Contains(d.Text, "bytes") {
			t.Errorf("%s: %q, but no unit", d.Key, d.Text)
		}
	}
	if len(seen) < 400 {
		t.Errorf("only %d keys", len(seen))
	}
}

// Every key occurs for some saved machine, so that no key is only promised. One member represents its family.
func TestEveryKeyIsProduced(t *testing.T) {
	// The keys that do not occur, and why.
	absent := map[string]string{
		"collector.*":          "it says that a collector was late",
		"cpu.vulnerability":    "it is never known: it stands for a list that is not there",
		"port.out_of_sequence": "only RoCE adapters of the mlx5 driver count it, and no saved machine has one",
	}
	for _, d := range catalogue.All() {
		if class, _, _ := strings.Cut(d.Key, "."); slices.Contains([]string{"cluster", "cni", "claim"}, class) {
			absent[d.Key] = "the API of a cluster tells it, and no file of a machine"
		}
	}
	produced := map[string]bool{}
	index := catalogue.NewIndex()
	for _, m := range factstest.Machines(t) {
		_, facts := placeAndFacts(t, m)
		for _, f := range facts {
			if d, ok := index.Lookup(f.Key); ok {
				produced[d.Key] = produced[d.Key] || f.Unknown == ""
			}
		}
	}
	for _, d := range catalogue.All() {
		known, there := produced[d.Key]
		reason := absent[d.Key]
		switch {
		case d.Mark == catalogue.Computed && there:
			t.Errorf("%s is computed, and yet a collector yields it", d.Key)
		case d.Mark != catalogue.Computed && !there && reason == "":
			t.Errorf("no saved machine has %s", d.Key)
		case d.Mark != catalogue.Computed && !known && reason == "":
			t.Errorf("no saved machine knows %s", d.Key)
		case known && reason != "":
			t.Errorf("%s is there, although %s", d.Key, reason)
		}
	}
}
