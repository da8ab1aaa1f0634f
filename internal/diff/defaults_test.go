package diff

import (
	"slices"
	"testing"
)

// A kernel built to flush the IOMMU at each I/O is reported, with the argument that changes it; another kernel is not.
func TestSlowDefaults(t *testing.T) {
	k := knowledge(t)
	strict := k.SlowDefaults(config(t, "talos-6.6.57-iommu-strict"), "")
	if len(strict) == 0 || strict[0].Option != "IOMMU_DEFAULT_DMA_STRICT" || strict[0].Argument != "iommu.strict=0" ||
		strict[0].Why == "" {
		t.Fatalf("%+v", strict)
	}
	lazy := k.SlowDefaults(config(t, "talos-6.6.57-iommu-lazy"), "")
	if slices.ContainsFunc(lazy, func(d Default) bool { return d.Option == "IOMMU_DEFAULT_DMA_STRICT" }) {
		t.Errorf("%+v", lazy)
	}
	for i := 1; i < len(strict); i++ {
		if strict[i].Weight > strict[i-1].Weight {
			t.Errorf("%s before %s", strict[i-1].Option, strict[i].Option)
		}
	}
	if none := k.SlowDefaults(nil, ""); len(none) != 0 {
		t.Errorf("%+v of no build", none)
	}
	t.Logf("%+v", strict)
}
