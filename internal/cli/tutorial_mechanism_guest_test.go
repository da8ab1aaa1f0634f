//go:build system && guests

package cli

import "testing"

// Rates of emulated guests say nothing, so that any verdict on them is accepted; the mechanism is not. Which of its
// functions are shown to differ depends on how many I/Os a busy machine does while they are traced; that qi_submit_sync
// runs for each of them is what the rule asks for.
func TestTutorialMechanism(t *testing.T) {
	t.Parallel()
	kernelOfGuests(t)
	tutorial(t, "mechanism.md", finding{answer: "1 job: "},
		finding{answer: "DMA mapping and IOMMU"}, finding{answer: "iommu-strict"})
}
