package machines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outliers"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/rule"
)

// Diagnoses builds the document about several machines: each finding once, with its machines; then how a few of them
// differ from the others; then what is undetermined.
func Diagnoses(d diagnosis.Several, o DiagnosisOptions) document.Document {
	known := d.Known()
	out := document.Document{Title: "Diagnosis of " + prose.Count(len(d.Machines), "machine"), Blocks: severalAnswer(d)}
	add := func(blocks ...document.Block) { out.Blocks = append(out.Blocks, blocks...) }
	for _, m := range d.Machines {
		if m.Diagnosis == nil {
			add(document.Sentence{Role: document.Note, Text: m.Name + " could not be diagnosed: " + m.Error})
		}
	}
	for _, text := range d.LeftOut {
		add(document.Sentence{Role: document.Note, Text: text})
	}
	var found findings
	for _, s := range d.Findings {
		if s.Verdict == rule.Found {
			f := s.Each[0][0] // show the first machine's remedies
			f.Severity = s.Severity
			on := document.Line{Text: diagnosis.On(s.On, known)}
			found.add(f, o, document.Part{Name: "machines", Obvious: true, Lines: []document.Line{on}},
				sharedEvidence(s))
		}
	}
	add(found.blocks()...)
	add(unlikeBlocks(d.Deviations, o)...)
	names, reports := d.Reports()
	add(undeterminedBlocks(undeterminedIn(names, reports), known, o)...)
	for _, v := range []rule.Verdict{rule.Clear, rule.NotApplicable} {
		add(otherRules(d.OnAll(v), v)...)
	}
	return out
}

// severalAnswer counts rules, as the answer about one machine does.
func severalAnswer(d diagnosis.Several) []document.Block {
	severities := map[string]int{}
	unknown, unmeasured := 0, 0
	for _, s := range d.Findings {
		switch s.Verdict {
		case rule.Found:
			severities[s.Severity]++
			if s.Unmeasured() {
				unmeasured++
			}
		case rule.Unknown:
			unknown++
		}
	}
	known := len(d.Known())
	title := prose.Count(known, "machine")
	if known < len(d.Machines) {
		title = fmt.Sprintf("%d of %s", known, prose.Count(len(d.Machines), "machine"))
	}
	if known == 0 {
		return []document.Block{document.Sentence{Role: document.Answer, Text: title + ": none could be diagnosed"}}
	}
	return []document.Block{
		document.Sentence{Role: document.Answer,
			Text: title + ": " + findingsText(severities, unmeasured, "any of them")},
		document.Sentence{Role: document.Detail, Text: fmt.Sprintf("%d are unknown on all of them", unknown)}}
}

// sharedEvidence is the evidence of a finding: by machine if it differs between them.
func sharedEvidence(s rule.Shared) document.Part {
	type reading struct {
		text string
		on   []string
	}
	var readings []reading
	for i, each := range s.Each {
		var texts []string
		for _, f := range each {
			texts = append(texts, briefEvidence(f))
		}
		text := strings.Join(texts, "; ")
		at := slices.IndexFunc(readings, func(r reading) bool { return r.text == text })
		if at < 0 {
			at, readings = len(readings), append(readings, reading{text: text})
		}
		readings[at].on = append(readings[at].on, s.On[i])
	}
	const most = 4 // that are listed
	part := document.Part{Name: "read", Obvious: true}
	left := len(s.On)
	for i, r := range readings {
		text := r.text
		if i == most {
			text = fmt.Sprintf("and otherwise on %d more: --json has all of it", left)
		} else if text != "" && len(readings) > 1 {
			text = report.FirstNames(r.on) + ": " + text
		}
		if text != "" {
			part.Lines = append(part.Lines, document.Line{Text: text})
		}
		if i == most {
			break
		}
		left -= len(r.on)
	}
	return part
}

// unlikeBlocks describes how a few machines differ from the others.
func unlikeBlocks(all []outliers.Deviation, o DiagnosisOptions) []document.Block {
	const most = 10 // that are shown, unless all are
	if len(all) == 0 {
		return nil
	}
	var list []document.Entry
	for _, u := range all {
		slower := ""
		if u.Slower {
			slower = "likely"
		}
		list = append(list, document.Entry{Mark: "~", Name: u.Fact, Title: unlikeText(u), Values: []document.Value{
			report.TextValue("fact", u.Fact), report.TextValue("on", strings.Join(u.On, ", ")),
			report.TextValue("about", strings.Join(u.About, ", ")), report.TextValue("here", u.Value),
			report.TextValue("there", u.Typical),
			report.TextValue("slower", slower)}})
	}
	const title = "Not like the others"
	entries := document.Entries{Name: title, List: list}
	if len(list) > most && !o.All {
		entries.List, entries.Rest = list[:most], list[most:]
	}
	blocks := []document.Block{document.Heading{Text: title}, entries}
	if more := len(entries.Rest); more > 0 {
		blocks = append(blocks, document.Sentence{Role: document.Reading,
			Text: fmt.Sprintf("%d more, less likely to matter: --all", more)})
	}
	return blocks
}

// unlikeText describes a fact by which some machines differ from the others.
func unlikeText(u outliers.Deviation) string {
	on := prose.Names(u.On, ", ")
	others := fmt.Sprintf("on %d of %d", u.SameCount, u.Machines)
	var text string
	switch {
	case u.Kind == "thing" && u.Value == "":
		text = fmt.Sprintf("%s: no %s %s, which is there %s", on, u.Fact, u.Typical, others)
	case u.Kind == "thing":
		text = fmt.Sprintf("%s: %s %s, which is not there %s", on, u.Fact, u.Value, others)
	default:
		name := u.Name
		if about := slices.Compact(slices.Clone(u.About)); len(about) == 1 {
			name += " of " + about[0]
		}
		show := func(value string) string {
			switch {
			case value == "":
				return "not given"
			case u.Kind == "fact":
				return catalogue.Show(lab.Fact{Key: u.Fact, Value: value})
			}
			return value
		}
		text = fmt.Sprintf("%s: %s is %s, and %s %s", on, name, show(u.Value), show(u.Typical), others)
	}
	if u.Slower {
		text += "; likely slower"
	}
	return text + ": " + u.Why
}
