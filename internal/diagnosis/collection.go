package diagnosis

import (
	"net/url"
	"strings"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outliers"
	"github.com/headroom/headroom/internal/rule"
)

// Collection gathers what is known of several machines. It holds the facts of the first, and of each other only those
// that differ from them: a thousand lists of thousands that are the same take gigabytes.
type Collection struct {
	ask      func(facts.Document) rule.Report
	machines []Machine
	targets  []string // by which machines are reached
	leftOut  []string
	first    int // which is known first; -1 while none is
	facts    [][]lab.Fact
}

// NewCollection is one of n machines, of none of which anything is known yet.
func NewCollection(n int, ask func(facts.Document) rule.Report) *Collection {
	return &Collection{ask: ask, machines: make([]Machine, n), targets: make([]string, n), first: -1,
		facts: make([][]lab.Fact, n)}
}

// LeaveOut says why a node that was meant is not one of the machines.
func (c *Collection) LeaveOut(reasons ...string) { c.leftOut = append(c.leftOut, reasons...) }

// Add asks the rules about a machine, which is reached as a target.
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

// Miss says why nothing is known of a machine, which is reached as a target.
func (c *Collection) Miss(i int, name, target, why string) {
	c.machines[i], c.targets[i] = Machine{Name: name, Error: why}, target
}

// factsOf are the facts of a machine that is known.
func (c *Collection) factsOf(i int) []lab.Fact {
	if i == c.first {
		return c.facts[i]
	}
	return facts.Completed(c.facts[c.first], c.facts[i])
}

// Redacted is the same without names of hosts and hardware.
func (c *Collection) Redacted() *Collection {
	r := NewCollection(len(c.machines), c.ask)
	for i, m := range c.machines {
		if m.Diagnosis == nil {
			clean := facts.NewRedactor(namesIn(c.targets[i])) // its facts are not known
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

// namesIn is what a target's name says of what its host is called.
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

// Document puts the answers together, and finds by what a few machines are not like the others.
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
