package rule

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// outcome is one rule's answer about one thing.
type outcome struct {
	about    string
	verdict  Verdict
	evidence []Evidence
	missing  []Missing
	note     string
}

// Evaluate evaluates every rule for the machine with the given facts.
func (s *Set) Evaluate(snapshot []lab.Fact, o Options) Report {
	m := newMachine(s.vocabulary, snapshot)
	m.tellSystem(o.Systems)
	kept := parseKeep(o.Keep)
	to := systems{names: o.Systems}
	if len(o.Systems) == 0 {
		to = detect(m)
	}
	report := Report{Schema: Schema, Findings: []Finding{}}
	reported := foundRules{}
	for i := range s.rules {
		rule := &s.rules[i]
		if rule.Unquantified && !o.Unquantified || rule.Risk && !o.Risks {
			continue
		}
		var outcomes []outcome
		for _, about := range m.thingsOf(rule.Scope) {
			var out outcome
			if n := len(outcomes); n > 0 && outcomes[n-1].stopped() {
				out = outcomes[n-1] // the cost limit was reached; evaluating thousands more would not end either
				out.about = about
			} else {
				out = rule.evaluate(m, about)
			}
			reported.silences(rule, &out)
			outcomes = append(outcomes, out)
		}
		if len(outcomes) == 0 {
			outcomes = []outcome{rule.withoutThings(m)}
		}
		for _, out := range outcomes {
			report.Counts.add(out.verdict)
			if out.verdict == Unknown && slices.ContainsFunc(out.missing, needsRoot) {
				report.PrivilegedWouldAnswer++
			}
		}
		for _, f := range group(rule, outcomes) {
			if f.Verdict != Found && f.Verdict != Unknown && !o.All {
				continue
			}
			if f.Verdict == Found {
				f.setEffect(rule)
				f.rate()
				f.rateByLoads(rule, m)
				f.addRemedies(rule, m, kept, to)
			}
			report.Findings = append(report.Findings, f)
		}
	}
	slices.SortStableFunc(report.Findings, byWeight)
	return report
}

// stopped reports whether the condition was stopped at its cost limit.
func (o outcome) stopped() bool {
	return slices.ContainsFunc(o.missing, func(m Missing) bool { return m.Reason == tooMuchWork })
}

// thingsOf returns the things for which a rule of a scope is evaluated; the machine is "".
func (m *machine) thingsOf(scope string) []string {
	if scope == "" {
		return []string{""}
	}
	return m.things[scope]
}

// evaluate answers for one thing. A false condition decides even if it is unknown whether the rule applies: either way
// there is no finding.
func (r *Rule) evaluate(m *machine, about string) outcome {
	out := outcome{about: about, verdict: Clear}
	applies := yes
	if r.applies != nil {
		applies, _, out.missing = r.applies.evaluate(m, r.Scope, about)
	}
	if applies == no {
		out.verdict = NotApplicable
		return out
	}
	when, evidence, missing := r.when.evaluate(m, r.Scope, about)
	switch {
	case when == no:
		out.missing = nil
	case when == yes && applies == yes:
		out.verdict, out.evidence = Found, append(evidence, m.shown(r.Shows, r.Scope, about)...)
	default:
		out.verdict = Unknown
		for _, more := range missing {
			if !slices.ContainsFunc(out.missing, func(o Missing) bool { return o.Fact == more.Fact }) {
				out.missing = append(out.missing, more)
			}
		}
	}
	return out
}

// withoutThings returns the answer of a rule whose scope has no things on this machine.
func (r *Rule) withoutThings(m *machine) outcome {
	if f, closed := m.closed[r.Scope]; closed {
		return outcome{verdict: Unknown, missing: []Missing{{Fact: f.Key, Reason: f.Unknown}}}
	}
	return outcome{verdict: NotApplicable, note: "there is no " + r.Scope + " here"}
}

// foundRules are the rules with a finding, and the subject of the finding.
type foundRules map[foundRule]bool

type foundRule struct{ rule, scope, about string }

// silences makes a rule not applicable if another rule's finding, about the same thing or the machine, names its cause.
// A silenced rule counts as found, so that it silences further rules as its finding would have.
func (t foundRules) silences(r *Rule, out *outcome) {
	if out.verdict != Found && out.verdict != Unknown {
		return
	}
	for _, id := range r.SilentIf {
		if !t[foundRule{id, r.Scope, out.about}] && !t[foundRule{id, "", ""}] &&
			(r.Scope != "" && r.Scope != profileClass || !t[foundRule{id, anything, ""}]) {
			continue
		}
		t.add(r, out.about)
		*out = outcome{about: out.about, verdict: NotApplicable, note: "covered by " + id}
		return
	}
	if out.verdict == Found {
		t.add(r, out.about)
	}
}

// anything is the scope of all things. A finding about one thing silences a rule about the machine, or about a load
// that uses the machine.
const anything = "*"

func (t foundRules) add(r *Rule, about string) {
	t[foundRule{r.ID, r.Scope, about}] = true
	t[foundRule{r.ID, anything, ""}] = true
	if r.Scope == measuredClass { // a load uses everything that the machine has
		t[foundRule{r.ID, "", ""}] = true
	}
}

// needsRoot reports whether root could read the missing fact.
func needsRoot(m Missing) bool {
	return strings.Contains(m.Reason, "permission denied") || strings.Contains(m.Reason, "root may read")
}

func (c *Counts) add(v Verdict) {
	switch v {
	case Found:
		c.Finding++
	case Clear:
		c.Clear++
	case NotApplicable:
		c.NotApplicable++
	case Unknown:
		c.Unknown++
	}
}

// seenValue is a fact with its value, or the reason why it is missing, in a finding.
type seenValue struct {
	finding     int
	fact, value string
}

// group makes one finding of equal answers about several things. Evidence and missing facts are listed once for each
// value.
func group(rule *Rule, outcomes []outcome) []Finding {
	var findings []Finding
	type key struct {
		verdict Verdict
		note    string
	}
	at := map[key]int{}
	seen := map[seenValue]int{}
	for _, out := range outcomes {
		i, ok := at[key{out.verdict, out.note}]
		if !ok {
			i = len(findings)
			at[key{out.verdict, out.note}] = i
			f := Finding{Rule: rule.ID, Verdict: out.verdict, Title: rule.Title, Severity: rule.Severity,
				Class: rule.Class,
				Guard: rule.Guard, Because: rule.Because, Metrics: rule.Metrics, Conflicts: rule.Conflicts,
				Sources: rule.Sources,
				Measure: rule.Measuring(), Note: out.note}
			if rule.Guard {
				f.Title = "now: " + f.Title
			}
			findings = append(findings, f)
		}
		f := &findings[i]
		if out.about != "" {
			f.About = append(f.About, out.about)
		}
		for _, e := range out.evidence {
			k := seenValue{i, e.Fact, e.Value}
			if j, ok := seen[k]; ok {
				f.Evidence[j].About = with(f.Evidence[j].About, e.About)
				continue
			}
			seen[k] = len(f.Evidence)
			e.About = slices.Clone(e.About)
			f.Evidence = append(f.Evidence, e)
		}
		for _, m := range out.missing {
			k := seenValue{i, m.Fact, m.Reason}
			if j, ok := seen[k]; ok {
				f.Missing[j].About = with(f.Missing[j].About, m.About)
				continue
			}
			seen[k] = len(f.Missing)
			m.About = slices.Clone(m.About)
			f.Missing = append(f.Missing, m)
		}
	}
	return findings
}

// rank orders findings before unmeasured mitigations, unknowns and the rest. Published costs of a mitigation say little
// about a disk, and removing it gives up security.
func rank(v Verdict, unmeasured bool) int {
	if v == Found && !unmeasured {
		return -1
	}
	return slices.Index([]Verdict{Found, Unknown, Clear, NotApplicable}, v)
}

// byWeight orders findings by rank, severity, the highest published figure and class.
func byWeight(a, b Finding) int {
	high := func(f Finding) float64 {
		var most float64
		for _, e := range f.Effects {
			most = max(most, e.High)
		}
		return most
	}
	place := func(list []string, s string) int { return slices.Index(list, s) }
	return cmp.Or(
		cmp.Compare(rank(a.Verdict, a.Unmeasured()), rank(b.Verdict, b.Unmeasured())),
		cmp.Compare(place(Severities(), a.Severity), place(Severities(), b.Severity)),
		cmp.Compare(high(b), high(a)),
		cmp.Compare(place(ruleClasses(), a.Class), place(ruleClasses(), b.Class)),
		cmp.Compare(a.Rule, b.Rule))
}

// leastShare is the share of a load's time from which a mitigation's cost counts as measured, and the share of its CPU
// time below which a layer costs little.
const leastShare = 0.03

// Unmeasured reports whether a finding is a mitigation of a CPU flaw whose cost on this machine is unknown: no profile
// has a load in which its functions take leastShare of the threads' time.
func (f Finding) Unmeasured() bool {
	share, busy := map[string]float64{}, map[string]float64{}
	for _, e := range f.Evidence {
		value, err := strconv.ParseFloat(e.Value, 64)
		if err != nil {
			continue
		}
		for _, load := range f.loads(e) {
			switch {
			case e.Fact == "profile.busy":
				busy[load] = value
			case strings.HasPrefix(e.Fact, "profile.function.") && strings.HasSuffix(e.Fact, ".share"):
				share[load] += value
			}
		}
	}
	for load := range share {
		if share[load]*busy[load] >= leastShare {
			return false
		}
	}
	return f.Class == "mitigation" && len(f.Metrics) > 0 // otherwise it is a risk, which costs no speed
}

// with adds things that are not yet in the list: the same fact is shown with each of several findings.
func with(things, more []string) []string {
	for _, t := range more {
		if !slices.Contains(things, t) {
			things = append(things, t)
		}
	}
	return things
}
