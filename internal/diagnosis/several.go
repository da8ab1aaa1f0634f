package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/outliers"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/rule"
)

// SeveralSchema names the document of `headroom doctor --json` on several machines. Fields are added to it, never
// renamed and never removed.
const SeveralSchema = "headroom/diagnoses/v1"

// Several is the answer of the rules about several machines.
type Several struct {
	Schema     string               `json:"schema"`
	Machines   []Machine            `json:"machines"`
	Findings   []rule.Shared        `json:"findings"`
	Deviations []outliers.Deviation `json:"unlike"`
	// LeftOut are the reasons why some nodes can have no pod.
	LeftOut []string `json:"left_out,omitempty"`
}

// Machine is one machine: the rules' answer, or the reason why nothing is known about it.
type Machine struct {
	Name      string       `json:"name"`
	Diagnosis *rule.Report `json:"diagnosis,omitempty"`
	Error     string       `json:"error,omitempty"`
}

// Reports returns the names and reports of all machines, nil for a machine of which nothing is known.
func (s Several) Reports() ([]string, []*rule.Report) {
	names, reports := make([]string, len(s.Machines)), make([]*rule.Report, len(s.Machines))
	for i, m := range s.Machines {
		names[i], reports[i] = m.Name, m.Diagnosis
	}
	return names, reports
}

// Known returns the machines that could be diagnosed.
func (s Several) Known() []string {
	return s.names(func(m Machine) bool { return m.Diagnosis != nil })
}

// UnreachableError returns the machines that could not be diagnosed.
func (s Several) UnreachableError() []string {
	return s.names(func(m Machine) bool { return m.Diagnosis == nil })
}

func (s Several) names(of func(Machine) bool) []string {
	var names []string
	for _, m := range s.Machines {
		if of(m) {
			names = append(names, m.Name)
		}
	}
	return names
}

// OnAll returns, as one report, the answers with a verdict that are the same on every machine.
func (s Several) OnAll(v rule.Verdict) rule.Report {
	known := s.Known()
	var r rule.Report
	for _, f := range s.Findings {
		if f.Verdict == v && len(f.On) == len(known) && !slices.ContainsFunc(s.Findings, func(o rule.Shared) bool {
			return o.Rule == f.Rule && o.Verdict != v
		}) {
			r.Findings = append(r.Findings, rule.Finding{Rule: f.Rule, Verdict: v})
		}
	}
	return r
}

// On describes on how many of some machines, and on which; or on which not, if those are few.
func On(on, of []string) string {
	const few, many = 3, 8
	if len(on) == len(of) {
		return fmt.Sprintf("on all %d", len(of))
	}
	which := prose.Names(on, ", ")
	if but := len(of) - len(on); but <= few && len(of) >= many {
		which = "all but " + strings.Join(slices.DeleteFunc(slices.Clone(of), func(name string) bool {
			return slices.Contains(on, name)
		}), ", ")
	}
	return fmt.Sprintf("on %d of %d: %s", len(on), len(of), which)
}
