package report

import (
	"testing"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/profile/difference"
)

func TestMechanismText(t *testing.T) {
	flush := []diff.FunctionCalls{{Function: "qi_submit_sync", Cell: "rand-read", A: 0.015, B: 1},
		{Function: "check_bytes_and_report", Cell: "rand-read", B: 17.05}}
	for want, m := range map[string]*diff.Mechanism{
		"": nil,
		"qi_submit_sync 0.01 → 1.00, check_bytes_and_report 0.00 → 17.1 calls per I/O in the profiles " +
			"(without → with), as it is known to do": {
			Evidence: diff.Moved, Functions: flush},
		"the changes that it is known to make did not appear: qi_submit_sync 0.01 → 1.00 calls per I/O " +
			"in the profiles (without → with)": {
			Evidence: diff.Still, Functions: flush[:1]},
		"the functions that it is known to make run did not run in the profiles, without or with": {
			Evidence: diff.Still},
		"srso_* 0% → 12% of the CPU time in the profiles (without → with), as it is known to do": {Evidence: diff.Moved,
			Functions: []diff.FunctionCalls{{Function: "srso_*", B: 0.12, Measure: diff.Share}}},
		"blk_mq_get_tag 0.00 → 0.42 waits per I/O in the profiles (without → with), as it is known to do": {
			Evidence: diff.Moved, Functions: []diff.FunctionCalls{{Function: "blk_mq_get_tag", B: 0.42,
				Measure: diff.Waits}}},
		"none of its functions ran in the profiles, without or with": {Evidence: diff.NeverRan},
	} {
		if got := MechanismText(m, "without", "with"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFunctionsText(t *testing.T) {
	calls := func(a, b float64) *difference.Delta {
		return &difference.Delta{A: a, B: b, Change: difference.More}
	}
	got := FunctionsText("With x=1", []difference.CellFunctions{{Cell: "rand-read", Functions: []difference.Function{
		{Name: "qi_submit_sync", Calls: calls(0.02, 1)}, {Name: "fq_ring_free", Calls: calls(1.03, 0)},
		{Name: "srso_safe_ret", Calls: &difference.Delta{}, NS: calls(12, 340)},
		{Name: "blk_mq_get_tag", Calls: &difference.Delta{}, Waits: calls(0, 0.42)}}}})
	want := "With x=1, rand-read: qi_submit_sync 0.02 → 1.00, fq_ring_free 1.03 → 0.00 calls per I/O; " +
		"srso_safe_ret 12 → 340 ns per I/O; blk_mq_get_tag 0.00 → 0.42 waits per I/O."
	if len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
}
