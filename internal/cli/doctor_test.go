package cli

import (
	"testing"

	"headroom/internal/rule"
)

func TestDiagnosisTitle(t *testing.T) {
	found := func(id, severity string) rule.Finding {
		return rule.Finding{Rule: id, Verdict: rule.Found, Severity: severity}
	}
	for _, c := range []struct {
		r    rule.Report
		want string
	}{
		{rule.Report{Target: "n7", Counts: rule.Counts{Clear: 3}},
			"n7: nothing found that holds the I/O of this machine back; 0 can't be told, 3 clear, 0 do not apply"},
		{rule.Report{Target: "n7", Findings: []rule.Finding{found("a", "low")}},
			"n7: 1 finding; 0 can't be told, 0 clear, 0 do not apply"},
		{rule.Report{Target: "n7", Findings: []rule.Finding{found("a", "high"), found("b", "low"), found("b", "low"),
			found("c", "low")}, PrivilegedWouldTell: 2},
			"n7: 3 findings (1 high, 2 low), the one most likely to matter first; 0 can't be told, 0 clear, 0 do not " +
				"apply; as root 2 more could be told"},
		{rule.Report{Target: "dump", Findings: []rule.Finding{{Rule: "a", Verdict: rule.Unknown}}},
			"dump: nothing can be told, because what the rules ask about is not in it; a snapshot has it: headroom " +
				"facts --json > FILE"},
	} {
		if got := diagnosisTitle(c.r); got != c.want {
			t.Errorf("%q\n  not %q", got, c.want)
		}
	}
}
