package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

// Options that differ between two kernels are split into those that a boot argument can change and those that need a
// build.
func TestOptionsByBoots(t *testing.T) {
	k := knowledge(t)
	a, b := configFile(t, "debian-6.1.0-50"), configFile(t, "talos-6.6.57-iommu-strict")
	boots, rest := k.ByBoots(a, b)
	figure.Record(t, figure.Figure{Name: "diff/by-boots/argument", Center: float64(len(boots)),
		N: len(k.Compare(a, b).Differences), Text: "differences that have a boot argument"})
	figure.Record(t, figure.Figure{Name: "diff/by-boots/builds", Center: float64(len(rest)),
		N: len(k.Compare(a, b).Differences), Text: "differences that need builds"})
	var arguments []string
	for _, x := range boots {
		t.Logf("%.4f %s: %s=%s or %s (%s to %s)", x.Difference.Weight, x.Difference.Name, x.Argument, x.A, x.B,
			x.Difference.A, x.Difference.B)
		arguments = append(arguments, x.Argument)
	}
	if len(boots) == 0 || boots[0].Argument != "iommu.strict" || boots[0].A != "0" || boots[0].B != "1" ||
		boots[0].Difference.Name != "IOMMU_DEFAULT_DMA_STRICT" {
		t.Errorf("%+v", boots)
	}
	if slices.Sort(arguments); len(slices.Compact(arguments)) != len(boots) {
		t.Errorf("an argument stands twice: %v", arguments)
	}
	for _, d := range rest {
		if d.Name == "IOMMU_DEFAULT_DMA_STRICT" || d.Name == "IOMMU_DEFAULT_DMA_LAZY" {
			t.Errorf("%s needs no build", d.Name)
		}
		// Both translate DMA of disks and adapters; no argument excludes the graphics adapter as one build does.
		if strings.HasPrefix(d.Name, "INTEL_IOMMU_DEFAULT_ON") && (d.Slower != "" || d.Weight > 0.01) {
			t.Errorf("%+v", d)
		}
	}
	if len(rest) < 2900 || rest[0].Name != "GCC_PLUGIN_STACKLEAK" {
		t.Errorf("%d need builds, %s first", len(rest), rest[0].Name)
	}
	boots, rest = k.ByBoots(configFile(t, "talos-6.6.57-iommu-strict"), configFile(t, "talos-6.6.57-iommu-lazy"))
	if len(boots) != 1 || boots[0].A != "1" || boots[0].B != "0" || len(rest) != 0 {
		t.Errorf("%+v, and %d others", boots, len(rest))
	}
}
