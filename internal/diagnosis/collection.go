package diagnosis

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outliers"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/rule"
)

// Collection collects the facts of several machines. It holds the facts of the first, and of each other machine only
// those that differ: a thousand copies of thousands of equal facts take gigabytes.
type Collection struct {
	ask      func(facts.Document) rule.Report
	machines []Machine
	targets  []string // the targets through which machines are reached
	leftOut  []string
	first    int // the first known machine; -1 while there is none
	facts    [][]lab.Fact
}

// NewCollection returns a collection of n machines without facts.
func NewCollection(n int, ask func(facts.Document) rule.Report) *Collection {
	return &Collection{ask: ask, machines: make([]Machine, n), targets: make([]string, n), first: -1,
		facts: make([][]lab.Fact, n)}
}

// LeaveOut records why nodes are not among the machines.
func (c *Collection) LeaveOut(reasons ...string) { c.leftOut = append(c.leftOut, reasons...) }

// Add evaluates the rules for a machine, which is reached as a target.
func (c *Collection) Add(i int, name, target string, d facts.Document) {
	report := c.ask(d)
	c.machines[i], c.targets[i] = Machine{Name: name, Diagnosis: &report}, target
	if c.first < 0 {
		c.first, c.facts[i] = i, d.Facts
		return
	}
	c.facts[i] = facts.Differing(c.facts[c.first], d.Facts)
}

// Memory estimates how many bytes the facts of the machines take.
func (c *Collection) Memory() int {
	bytes := 0
	for _, all := range c.facts {
		bytes += facts.Memory(all)
	}
	return bytes
}

// Miss records why nothing is known about a machine, which is reached as a target.
func (c *Collection) Miss(i int, name, target, why string) {
	c.machines[i], c.targets[i] = Machine{Name: name, Error: why}, target
}

// factsOf returns the facts of a known machine.
func (c *Collection) factsOf(i int) []lab.Fact {
	if i == c.first {
		return c.facts[i]
	}
	return facts.Completed(c.facts[c.first], c.facts[i])
}

// Redacted returns a copy without names of hosts and hardware.
func (c *Collection) Redacted() *Collection {
	r := NewCollection(len(c.machines), c.ask)
	for i, m := range c.machines {
		if m.Diagnosis == nil {
			clean := facts.NewRedactor(namesIn(c.targets[i])) // its facts are unknown
			r.Miss(i, clean.Text(m.Name), "", clean.Text(m.Error))
			continue
		}
		d := facts.Document{Target: m.Diagnosis.Target, Facts: c.factsOf(i)}
		r.Add(i, facts.NewRedactor(d.Facts).Text(m.Name), "", d.Redacted())
	}
	for _, text := range c.leftOut {
		node, _, _ := strings.Cut(strings.TrimPrefix(text, "node "), " ")
		r.LeaveOut(facts.NewRedactor([]lab.Fact{{Key: "cluster.node", Value: node}}).Text(text))
	}
	return r
}

// namesIn returns the host names in a target's name.
func namesIn(target string) []lab.Fact {
	u, err := url.Parse(target)
	if err != nil {
		return nil
	}
	names := []lab.Fact{{Key: "host.name", Value: u.Hostname()}}
	if u.User != nil {
		names = append(names, lab.Fact{Key: "host.name", Value: u.User.Username()})
	}
	return append(names, lab.Fact{Key: "cluster.node", Value: u.Query().Get("node")})
}

// Document combines the answers, and finds how a few machines differ from the others.
func (c *Collection) Document(knowledge *diff.Knowledge) Several {
	s := Several{Schema: SeveralSchema, Machines: c.machines, LeftOut: c.leftOut}
	names, reports := s.Reports()
	s.Findings = rule.Share(names, reports)
	var known []int
	for i, m := range c.machines {
		if m.Diagnosis != nil {
			known = append(known, i)
		}
	}
	s.Deviations = outliers.Machines(knowledge, s.Known(), func(i int) []lab.Fact { return c.factsOf(known[i]) })
	return s
}

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
