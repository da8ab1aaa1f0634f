package rule

import (
	"slices"
	"testing"
)

func TestShare(t *testing.T) {
	rules, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	set, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var reports []*Report
	for name, host := range healthyHosts(t) {
		names = append(names, name)
		r := set.Evaluate(host, Options{})
		reports = append(reports, &r)
	}
	names, reports = append(names, "gone"), append(reports, nil)
	shared := Share(names, reports)
	// No finding is lost or reported twice, and the machine without facts has none.
	found, reported := 0, 0
	for _, r := range reports[:len(reports)-1] {
		found += len(r.Findings)
	}
	seen := map[string]bool{}
	for i, s := range shared {
		if id := s.Rule + string(s.Verdict); seen[id] {
			t.Errorf("%s is told twice", id)
		} else {
			seen[id] = true
		}
		if len(s.On) == 0 || len(s.On) != len(s.Each) || slices.Contains(s.On, "gone") {
			t.Errorf("%s is on %q, with findings of %d", s.Rule, s.On, len(s.Each))
		}
		for _, each := range s.Each {
			reported += len(each)
			for _, f := range each {
				if f.Rule != s.Rule || f.Verdict != s.Verdict || worse(f.Severity, s.Severity) {
					t.Errorf("%s of severity %s among those of %s", f.Rule, f.Severity, s.Rule)
				}
			}
		}
		if i > 0 && s.Verdict == shared[i-1].Verdict && s.Unmeasured() == shared[i-1].Unmeasured() &&
			worse(s.Severity, shared[i-1].Severity) {
			t.Errorf("%s stands behind %s", s.Rule, shared[i-1].Rule)
		}
	}
	if reported != found || found < 20 {
		t.Errorf("%d of %d answers are told", reported, found)
	}
}
