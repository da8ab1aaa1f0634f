//go:build system && guests

package cli

import "testing"

// Rates of emulated guests say nothing, so that any verdict on them is accepted; the mechanism is not.
func TestTutorialMechanism(t *testing.T) {
	t.Parallel()
	kernelOfGuests(t)
	tutorial(t, "mechanism.md", finding{answer: "1 job: "}, finding{answer: "qi_submit_sync"},
		finding{answer: "iommu-strict"})
}
