package rule

import (
	"cmp"
	"slices"
)

// Shared is a rule's answer that one or several machines have.
type Shared struct {
	Rule    string  `json:"rule"`
	Verdict Verdict `json:"verdict"`
	Title   string  `json:"title"`
	// Severity is the worst on any of the machines.
	Severity string `json:"severity"`
	Class    string `json:"class"`
	// On are the names of the machines.
	On []string `json:"on"`
	// Each are the findings of each machine, in the order of On.
	Each [][]Finding `json:"-"`
}

// Share combines the rules' answers about several machines, by their names: findings first, the worst first, then those
// on most machines. A nil report means that nothing is known about the machine.
func Share(names []string, reports []*Report) []Shared {
	type key struct {
		rule    string
		verdict Verdict
	}
	all := []*Shared{}
	at := map[key]*Shared{}
	best := map[*Shared]int{} // its best place in any report
	for i, r := range reports {
		if r == nil {
			continue
		}
		for place, f := range r.Findings {
			k := key{f.Rule, f.Verdict}
			s := at[k]
			if s == nil {
				s = &Shared{Rule: f.Rule, Verdict: f.Verdict, Title: f.Title, Severity: f.Severity, Class: f.Class}
				at[k], all, best[s] = s, append(all, s), place
			}
			best[s] = min(best[s], place)
			if worse(f.Severity, s.Severity) {
				s.Severity = f.Severity
			}
			if n := len(s.On); n == 0 || s.On[n-1] != names[i] {
				s.On, s.Each = append(s.On, names[i]), append(s.Each, nil)
			}
			s.Each[len(s.Each)-1] = append(s.Each[len(s.Each)-1], f)
		}
	}
	slices.SortStableFunc(all, func(a, b *Shared) int {
		return cmp.Or(cmp.Compare(rank(a.Verdict, a.Unmeasured()), rank(b.Verdict, b.Unmeasured())),
			cmp.Compare(slices.Index(Severities(), a.Severity), slices.Index(Severities(), b.Severity)),
			cmp.Compare(len(b.On), len(a.On)), cmp.Compare(best[a], best[b]), cmp.Compare(a.Rule, b.Rule))
	})
	shared := make([]Shared, len(all))
	for i, s := range all {
		shared[i] = *s
	}
	return shared
}

// Unmeasured reports whether it is a mitigation of a CPU flaw whose cost is unknown on all of the machines.
func (s *Shared) Unmeasured() bool {
	for _, of := range s.Each {
		if slices.ContainsFunc(of, func(f Finding) bool { return !f.Unmeasured() }) {
			return false
		}
	}
	return true
}

func worse(a, b string) bool { return slices.Index(Severities(), a) < slices.Index(Severities(), b) }
