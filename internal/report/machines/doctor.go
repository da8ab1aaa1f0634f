package machines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/rule"
)

// DiagnosisOptions select how much of a diagnosis is shown.
type DiagnosisOptions struct {
	// Full shows findings of low severity like the others. All shows everything, and names the rules that are clear or
	// do not apply.
	Full, All bool
}

func (o DiagnosisOptions) shortens(f rule.Finding) bool { return f.Severity == rule.Low && !o.Full }

// Diagnosis builds the document about one machine: the number of findings, then the findings, the worst first; then
// what is undetermined.
func Diagnosis(d diagnosis.Document, o DiagnosisOptions) document.Document {
	out := document.Document{Title: "Diagnosis of " + d.Target, Blocks: doctorAnswer(d.Report)}
	var found findings
	for _, f := range d.Findings {
		if f.Verdict == rule.Found {
			found.add(f, o, evidencePart(f, o))
		}
	}
	out.Blocks = append(out.Blocks, found.blocks()...)
	out.Blocks = append(out.Blocks, undeterminedBlocks(undeterminedIn([]string{""}, []*rule.Report{&d.Report}), nil,
		o)...)
	for _, v := range []rule.Verdict{rule.Clear, rule.NotApplicable} {
		out.Blocks = append(out.Blocks, otherRules(d.Report, v)...)
	}
	if d.OnlyBuild() {
		out.Blocks = append(out.Blocks, kernelDefaults(d.Defaults, o)...)
	}
	return out
}

// doctorAnswer counts rules, not rules times things: a rule about each of forty disks is one line for a reader.
func doctorAnswer(r rule.Report) []document.Block {
	found, unknown := map[string]bool{}, map[string]bool{}
	severities, unmeasured := map[string]int{}, 0
	for _, f := range r.Findings {
		switch f.Verdict {
		case rule.Found:
			if !found[f.Rule] {
				severities[f.Severity]++
				if f.Unmeasured() {
					unmeasured++
				}
			}
			found[f.Rule] = true
		case rule.Unknown:
			unknown[f.Rule] = true
		}
	}
	if len(found) == 0 && len(unknown) > 0 && r.Counts.Clear == 0 {
		return []document.Block{
			document.Sentence{Role: document.Answer,
				Text: r.Target + ": nothing can be checked, because it has none of the facts that the rules need"},
			document.Command{What: "a snapshot has it", Text: "headroom facts --json > FILE"}}
	}
	counts := fmt.Sprintf("%d unknown, %d clear, %d do not apply", len(unknown), r.Counts.Clear,
		r.Counts.NotApplicable)
	if r.PrivilegedWouldAnswer > 0 {
		counts += fmt.Sprintf("; as root %d more could be checked", r.PrivilegedWouldAnswer)
	}
	answer := findingsText(severities, unmeasured, "this machine")
	// the output of one command is no proof that a machine has no faults
	if len(found) == 0 && len(unknown) > r.Counts.Clear {
		answer = "nothing found in what is known, but most rules can't be checked"
	}
	return []document.Block{
		document.Sentence{Role: document.Answer, Text: r.Target + ": " + answer},
		document.Sentence{Role: document.Detail, Text: counts}}
}

// findingsText counts findings by severity, and names those that are listed last: mitigations with an unmeasured cost.
func findingsText(severities map[string]int, unmeasured int, of string) string {
	n := 0
	var counts []string
	for _, s := range rule.Severities() {
		if severities[s] > 0 {
			n += severities[s]
			counts = append(counts, fmt.Sprintf("%d %s", severities[s], s))
		}
	}
	if n == 0 {
		return "nothing found that holds the I/O of " + of + " back"
	}
	text := fmt.Sprintf("%s (%s)", prose.Count(n, "finding"), strings.Join(counts, ", "))
	const mitigations = "mitigations of the CPU, whose cost is not measured here"
	switch {
	case unmeasured == n:
		return text + ", all of them " + mitigations
	case n > 1:
		text += ", the one most likely to matter first"
	}
	if unmeasured > 0 {
		text += "; " + mitigations + ", last"
	}
	return text
}

// findings are entries, and the notes below them.
type findings struct {
	entries   []document.Entry
	shortened bool
	commands  []string // that measure them
}

// add adds a finding with its evidence.
func (l *findings) add(f rule.Finding, o DiagnosisOptions, read ...document.Part) {
	e := document.Entry{Mark: severityMark(f.Severity), Severity: severityOf(f.Severity), Title: f.Title, ID: f.Rule,
		Values: []document.Value{report.TextValue("severity", f.Severity),
			report.TextValue("about", strings.Join(f.About, ", "))}}
	if f.Note != "" {
		read = append(read, document.Part{Name: "rated", Lines: []document.Line{{Text: f.Note}}})
	}
	if o.shortens(f) {
		l.shortened = true
		e.Parts = append(read, briefRemedy(f)...)
	} else {
		l.commands = append(l.commands, f.Measure)
		e.Parts = append(read, effectAndRemedies(f)...)
	}
	e.Parts = slices.DeleteFunc(e.Parts, func(p document.Part) bool { return len(p.Lines) == 0 })
	l.entries = append(l.entries, e)
}

// blocks returns the entries, and notes about them.
func (l *findings) blocks() []document.Block {
	if len(l.entries) == 0 {
		return nil
	}
	blocks := []document.Block{document.Entries{Name: "findings", List: l.entries}}
	if l.shortened {
		blocks = append(blocks, document.Sentence{Role: document.Reading,
			Text: "Findings of low severity are shortened: --all or --for SYSTEM prints them in full."})
	}
	if stands := rule.PlaceholdersIn(strings.Join(l.commands, "\n")); stands != "" {
		blocks = append(blocks, document.Sentence{Role: document.Reading,
			Text: "In lines \"measure\" " + stands + "."})
	}
	return blocks
}

// severityMark returns the mark before a finding.
func severityMark(severity string) string {
	switch severity {
	case rule.High:
		return "HIGH"
	case rule.Medium:
		return "MED"
	}
	return "LOW"
}

func severityOf(severity string) document.Severity {
	switch severity {
	case rule.High:
		return document.High
	case rule.Medium:
		return document.Medium
	}
	return document.Low
}

// otherRules names the rules whose answer is not a finding.
func otherRules(r rule.Report, v rule.Verdict) []document.Block {
	var listed []string
	for _, f := range r.Findings {
		if f.Verdict != v {
			continue
		}
		text := f.Rule
		if f.Note != "" {
			text += " (" + f.Note + ")"
		}
		if !slices.Contains(listed, text) {
			listed = append(listed, text)
		}
	}
	if len(listed) == 0 {
		return nil
	}
	what := map[rule.Verdict]string{rule.Clear: "clear: ", rule.NotApplicable: "do not apply: "}[v]
	return []document.Block{document.Sentence{Role: document.More, Text: what + strings.Join(listed, ", ")}}
}

// mostDefaults is how many defaults of a kernel are shown, unless all are requested.
const mostDefaults = 5

// kernelDefaults describes the cost of a build's defaults, which other settings of the machine may override.
func kernelDefaults(defaults []diff.Default, o DiagnosisOptions) []document.Block {
	if len(defaults) == 0 {
		return []document.Block{document.Sentence{Role: document.More,
			Text: "This kernel defaults to nothing that is known to cost I/O."}}
	}
	var list document.List
	for i, d := range defaults {
		if i == mostDefaults && !o.All {
			list.Items = append(list.Items,
				document.Item{Text: fmt.Sprintf("%d more: --all", len(defaults)-mostDefaults)})
			break
		}
		text := fmt.Sprintf("%s=%s: %s; boot argument %s", d.Option, d.Value, d.Why, d.Argument)
		if d.Effect != "" {
			text += "; published: " + d.Effect
		}
		list.Items = append(list.Items, document.Item{Text: text})
	}
	return []document.Block{document.Sentence{Role: document.More,
		Text: "This kernel defaults to what costs I/O; whether it is in effect needs the machine, by headroom doctor " +
			"there:"}, list}
}
