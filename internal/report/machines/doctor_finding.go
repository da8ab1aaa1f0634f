package machines

import (
	"cmp"
	"strings"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/rule"
)

// evidencePart lists the evidence of a finding and its sources; in one line if the finding is shortened.
func evidencePart(f rule.Finding, o DiagnosisOptions) document.Part {
	part := document.Part{Name: "read", Obvious: true}
	if text := briefEvidence(f); o.shortens(f) && text != "" {
		part.Lines = []document.Line{{Text: text}}
		return part
	}
	for _, e := range shownEvidence(f.Evidence) {
		text := evidenceText(e)
		if e.Source != "" {
			text += " (" + e.Source + ")"
		}
		part.Lines = append(part.Lines, document.Line{Text: text})
	}
	return part
}

// briefEvidence returns all evidence in one line.
func briefEvidence(f rule.Finding) string {
	var read []string
	for _, e := range shownEvidence(f.Evidence) {
		read = append(read, evidenceText(e))
	}
	return strings.Join(read, "; ")
}

// shownEvidence leaves out the numbers of the kernel's release if there is other evidence: the facts that kernel(6, 2)
// reads do not explain the finding.
func shownEvidence(all []rule.Evidence) []rule.Evidence {
	var kept []rule.Evidence
	for _, e := range all {
		if e.Fact != "kernel.major" && e.Fact != "kernel.minor" {
			kept = append(kept, e)
		}
	}
	if len(kept) == 0 {
		return all
	}
	return kept
}

func evidenceText(e rule.Evidence) string {
	text := e.Fact + " is " + catalogue.Show(lab.Fact{Key: e.Fact, Value: e.Value})
	if len(e.About) > 0 {
		text += " for " + report.FirstNames(e.About)
	}
	return text
}

// effectAndRemedies returns the cost of a finding, the remedies, and the command that measures it.
func effectAndRemedies(f rule.Finding) []document.Part {
	var parts []document.Part
	if effect := f.MainEffect(); effect != "" {
		parts = append(parts, document.Part{Name: "effect", Obvious: true, Lines: []document.Line{{Text: effect}}})
	}
	parts = append(parts, keptPart(f, "what it costs is above"))
	for i, systems := range rule.BySetting(f.Remedies) {
		parts = append(parts, remedyPart(i, systems))
	}
	measure := document.Part{Name: "measure"}
	for command := range strings.Lines(f.Measure) {
		measure.Lines = append(measure.Lines, document.Line{Text: strings.TrimSpace(command), Typed: true})
	}
	return append(parts, measure)
}

// keptPart describes the cost of keeping settings that must not change; an effect that is already shown above is
// replaced.
func keptPart(f rule.Finding, effect string) document.Part {
	part := document.Part{Name: "kept"}
	for _, k := range f.Kept {
		text := strings.Replace(strings.TrimPrefix(k, "kept: "), f.Effect, effect, 1)
		part.Lines = append(part.Lines, document.Line{Text: text})
	}
	return part
}

// briefRemedy returns the first remedy of a finding and its cost.
func briefRemedy(f rule.Finding) []document.Part {
	parts := []document.Part{keptPart(f, f.Effect)}
	if len(f.Remedies) == 0 {
		return parts
	}
	r := f.Remedies[0]
	change := r.Set
	if command, is := strings.CutPrefix(r.Set, "exec:"); is || r.Set == "" {
		// A step before or after the command is in the text; without it the command may have no effect.
		change, _, _ = strings.Cut(cmp.Or(strings.TrimSpace(r.Text), command), "\n")
	}
	change += rule.Caveats(r.Reboot, r.Destroys)
	if r.Only != "" {
		change += ", " + r.Only
	}
	parts = append(parts, document.Part{Name: "change", Lines: []document.Line{{Text: change}}})
	if r.Cost != "" && r.Cost != "none" {
		parts = append(parts, document.Part{Name: "cost", Lines: []document.Line{{Text: r.Cost}}})
	}
	return parts
}

// remedyPart is a remedy: the setting in one line; then how to make it on each system, in full for the best remedy and
// for those that are not a setting; then its cost.
func remedyPart(number int, systems []rule.Instruction) document.Part {
	r := systems[0]
	part := document.Part{Name: "change"}
	if number > 0 {
		part.Name = "or"
	}
	add := func(l document.Line) { part.Lines = append(part.Lines, l) }
	caveats := rule.Caveats(r.Reboot, r.Destroys)
	command, isCommand := strings.CutPrefix(r.Set, "exec:")
	switch {
	case isCommand:
		if caveats != "" {
			add(document.Line{Text: strings.Trim(caveats, " ()") + ":"})
		}
		add(document.Line{Text: command, Typed: true})
	case r.Set != "":
		add(document.Line{Text: r.Set + caveats})
	}
	for _, s := range systems {
		if r.Set != "" && number > 0 && !isCommand {
			break
		}
		text := s.Text
		if isCommand {
			text = strings.TrimSuffix(strings.TrimSuffix(text, command), ": ")
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if len(systems) > 1 {
			text = s.System + ": " + text
		}
		lines := strings.Split(text, "\n")
		if r.Set == "" && len(lines) == 1 {
			lines[0] += caveats
		}
		add(document.Line{Text: lines[0]})
		for _, line := range lines[1:] {
			// A file's text keeps its lines; a sentence on how to keep the change does not.
			add(document.Line{Text: line, Typed: !strings.HasPrefix(line, "to keep it")})
		}
		if r.Set == "" && len(lines) > 1 && caveats != "" {
			add(document.Line{Text: strings.Trim(caveats, " ()")})
		}
	}
	if r.Only != "" {
		add(document.Line{Text: r.Only}) // begins with "only if"
	}
	if r.Cost != "" {
		add(document.Line{Label: "cost", Text: r.Cost})
	}
	return part
}
