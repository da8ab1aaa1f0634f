package varied

import (
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/diff"
)

// A culprit whose functions moved is explained, one whose functions did not is doubted.
func TestMechanismsOfCulprits(t *testing.T) {
	flush := diff.Mechanism{Evidence: diff.Moved, Functions: []diff.FunctionCalls{{Function: "qi_submit_sync", A: 0.02,
		B: 1}}}
	still := diff.Mechanism{Evidence: diff.Still}
	text := proofText{Document: bisection.Document{Culprits: []bisection.Culprit{
		{Factor: "cmdline:iommu.strict", Bad: "1", Mechanism: &flush}, {Factor: "cmdline:audit", Bad: "1",
			Mechanism: &still}, {Factor: "cmdline:unknown", Bad: "1"}}}}
	want := []string{
		"iommu.strict=1: qi_submit_sync 0.02 → 1.00 calls per I/O in the profiles (without → with), as it is known to do.",
		"audit=1: caution: the functions that it is known to make run did not run in the profiles, without or with; look " +
			"for what else changed with it.",
	}
	if got := text.mechanisms(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
