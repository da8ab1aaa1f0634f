package diff

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/testing/figure"
)

const configsDir = "../kconfig/testdata"

func knowledge(t testing.TB) *Knowledge {
	t.Helper()
	k, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// configFile decodes one of the published configurations, as a user's file.
func configFile(t testing.TB, name string) Side {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(configsDir, name+".config.gz"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Decode(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func config(t testing.TB, name string) kconfig.Config {
	t.Helper()
	c := kconfig.Config{}
	for _, f := range configFile(t, name).Facts {
		if option, ok := bytes.CutPrefix([]byte(f.Key), []byte(configPrefix)); ok {
			c[string(option)] = f.Value
		}
	}
	if len(c) < 1000 {
		t.Fatalf("%s has %d options", name, len(c))
	}
	return c
}

func configSide(name string, c kconfig.Config) Side {
	return Side{Name: name, Facts: ConfigFacts(name, nil, c)}
}

// The slow kernel of the field report is Talos's with strict IOMMU; the option that cost 60% is one of thousands.
func TestTalosAgainstDebian(t *testing.T) {
	d := knowledge(t).Compare(configFile(t, "talos-6.6.57-iommu-strict"), configFile(t, "debian-6.1.0-50"))
	if d.Counts.Options != 4905 {
		t.Errorf("%d options differ, want 4905", d.Counts.Options)
	}
	rank := slices.IndexFunc(d.Differences, func(d Difference) bool { return d.Name == "IOMMU_DEFAULT_DMA_STRICT" }) + 1
	if rank < 1 || rank > 3 {
		t.Fatalf("IOMMU_DEFAULT_DMA_STRICT has rank %d, want 1 to 3", rank)
	}
	strict := d.Differences[rank-1]
	if strict.Slower != "a" || strict.Argument != "iommu.strict=0" || strict.Source == nil ||
		!slices.Contains(strict.Follows, "kernel.config.IOMMU_DEFAULT_DMA_LAZY") {
		t.Errorf("%+v", strict)
	}
	figure.Record(t, figure.Figure{Name: "diff/talos/options", Center: float64(d.Counts.Options),
		Text: "options in which Talos 6.6.57 (strict) differs from Debian 6.1"})
	figure.Record(t, figure.Figure{Name: "diff/talos/differences", Center: float64(len(d.Differences)),
		Text: "the same, folded"})
	figure.Record(t, figure.Figure{Name: "diff/talos/rank", Center: float64(rank), Better: figure.Lower,
		Text: "rank of IOMMU_DEFAULT_DMA_STRICT among them"})
	for _, x := range d.Differences[:min(40, len(d.Differences))] {
		t.Logf("%2d %.4f %-38s %s -> %s slower %q, with %d more. %s [%s]", x.Rank, x.Weight, x.Name, x.A, x.B, x.Slower,
			len(x.Follows), x.Why, x.Note)
	}
}

// If an option exists on one architecture only, the other side is not called slower for lacking it.
func TestOtherArchitecture(t *testing.T) {
	d := knowledge(t).Compare(configFile(t, "debian-6.1.0-50"), configFile(t, "debian-6.1.0-56-arm64"))
	if first := d.Differences[0]; first.Name != "IOMMU_DEFAULT_DMA_STRICT" || first.Slower != "b" {
		t.Errorf("the first is %+v", first)
	}
	for _, x := range d.Differences {
		alone := strings.HasPrefix(x.Name, "ARM64_") || strings.HasPrefix(x.Name, "X86_")
		if alone && x.Slower != "" {
			t.Errorf("%+v", x)
		}
	}
}

// The same build with lazy domains and pages of 64 KiB, as other distributions build it.
func TestARM64Builds(t *testing.T) {
	strict := config(t, "debian-6.1.0-56-arm64")
	lazy := maps.Clone(strict)
	lazy["IOMMU_DEFAULT_DMA_STRICT"], lazy["IOMMU_DEFAULT_DMA_LAZY"] = "n", "y"
	lazy["ARM64_4K_PAGES"], lazy["ARM64_64K_PAGES"] = "n", "y"
	d := knowledge(t).Compare(configSide("strict", strict), configSide("lazy", lazy))
	var names []string
	for _, x := range d.Differences {
		names = append(names, x.Name)
	}
	if len(names) != 2 || names[0] != "IOMMU_DEFAULT_DMA_STRICT" || !strings.HasPrefix(names[1], "ARM64_") {
		t.Errorf("%v", names)
	}
}

func TestTalosStrictAgainstLazy(t *testing.T) {
	d := knowledge(t).Compare(configFile(t, "talos-6.6.57-iommu-strict"), configFile(t, "talos-6.6.57-iommu-lazy"))
	if len(d.Differences) != 1 || d.Counts.Options != 2 || d.Differences[0].Name != "IOMMU_DEFAULT_DMA_STRICT" ||
		!slices.Equal(d.Differences[0].Follows, []string{"kernel.config.IOMMU_DEFAULT_DMA_LAZY"}) {
		t.Errorf("%+v", d)
	}
}
