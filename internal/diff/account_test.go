package diff

import (
	"testing"

	"github.com/headroom/headroom/internal/profile/difference"
)

// accounted returns a document in which one part accounts for a share of the loss, and the IOMMU for the rest.
func accounted(d difference.Document, reason difference.Reason, share float64) difference.Document {
	within := func(v float64) difference.Range { return difference.Range{Value: v, Low: v - 0.01, High: v + 0.01} }
	loss := difference.Range{Value: 280_000, Low: 260_000, High: 300_000}
	c := &d.Cells[0]
	c.Account = &difference.Account{A: 181_000, B: 461_000, CPUs: 1, Loss: loss, Parts: []difference.Part{
		{Reason: reason, Factor: 2.36, Share: within(share)},
		{Reason: difference.InLayer, Layer: "dma", Share: within(1 - share)}}}
	for _, name := range []string{"qi_submit_sync", "iommu_flush_iotlb_psi"} {
		c.Functions = append(c.Functions, difference.Function{Name: name, Layer: "dma",
			Calls: &difference.Delta{A: 0.015, B: 1, Change: difference.Appeared}})
	}
	return d
}

// TestMechanismsByAccount checks that functions that appeared but account for little get no weight, and that a general
// slowdown gets more if it is most of the loss.
func TestMechanismsByAccount(t *testing.T) {
	for name, c := range map[string]struct {
		profile        difference.Document
		little, slower bool
	}{
		"everything is slower": {accounted(between(lazy(), strict()), difference.Uniform, 0.98), true, true},
		"half and half":        {accounted(between(lazy(), strict()), difference.Uniform, 0.5), false, true},
		"waiting":              {accounted(between(lazy(), strict()), difference.Waiting, 0.98), false, false},
		"no account":           {between(lazy(), strict()), false, false},
	} {
		strictSaid := false
		for _, d := range compared(t, "ro iommu.strict=0 pti=off", "ro iommu.strict=1 pti=on", "none", "none") {
			m := knowledge(t).Mechanism(c.profile, d)
			switch d.Name {
			case "iommu.strict":
				strictSaid = true
				factor := float64(movedFactor)
				if c.little {
					factor = littleFactor
				}
				if m == nil || m.Evidence != Moved || m.Little != c.little || m.Factor != factor {
					t.Errorf("%s: iommu.strict: %+v", name, m)
				}
			case "pti":
				if slower := m != nil && m.Evidence == SlowsAll && m.Factor == slowsFactor; slower != c.slower {
					t.Errorf("%s: pti: %+v", name, m)
				}
			}
		}
		if !strictSaid {
			t.Errorf("%s: nothing is said of iommu.strict", name)
		}
	}
}
