package cli

import (
	"fmt"
	"slices"
	"strings"

	"headroom/internal/diagnosis"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/outliers"
	"headroom/internal/rule"
	"headroom/internal/unit"
)

// printDiagnoses prints each finding once, with the machines that it is on; then by what a few of them are not like the
// others; then what can't be told.
func (p *program) printDiagnoses(d diagnosis.Several, o doctorOptions) {
	full := o.all || len(o.systems) > 0
	w := &wrapper{out: p.Stdout, width: columns(p.Stdout), colour: p.colour(p.Stdout)}
	known := d.Known()
	w.line("", diagnosesTitle(d))
	for _, m := range d.Machines {
		if m.Diagnosis == nil {
			w.line("!     ", m.Name+" could not be diagnosed: "+m.Error)
		}
	}
	for _, text := range d.LeftOut {
		w.line("!     ", text)
	}
	var notes []string
	measuring := ""
	for _, s := range d.Findings {
		if s.Verdict != rule.Found {
			continue
		}
		if s.Severity == rule.Low && !full {
			notes = []string{"Findings of low severity are shortened: --all or --for SYSTEM tells them in full."}
		} else {
			measuring += s.Each[0][0].Measure + "\n"
		}
		w.shared(s, known, s.Severity == rule.Low && !full)
	}
	w.unlike(d.Unlike, o.all)
	names, reports := d.Reports()
	w.untold(untoldIn(names, reports), known, o.all)
	for _, v := range []rule.Verdict{rule.Clear, rule.NotApplicable} {
		w.others(d.OnAll(v), v)
	}
	if stands := stoodFor(measuring); stands != "" {
		notes = append(notes, "In lines \"measure\" "+stands+".")
	}
	if len(notes) > 0 {
		fmt.Fprintln(w.out)
		w.line("", strings.Join(notes, " "))
	}
}

// diagnosesTitle counts rules, as that of one machine does.
func diagnosesTitle(d diagnosis.Several) string {
	severities := map[string]int{}
	found, unknown := 0, 0
	for _, s := range d.Findings {
		switch s.Verdict {
		case rule.Found:
			found++
			severities[s.Severity]++
		case rule.Unknown:
			unknown++
		}
	}
	known := len(d.Known())
	title := plural(known, "machine")
	if known < len(d.Machines) {
		title = fmt.Sprintf("%d of %s", known, plural(len(d.Machines), "machine"))
	}
	switch {
	case known == 0:
		return title + ": none could be diagnosed"
	case found == 0:
		title += ": nothing found that holds the I/O of any of them back"
	default:
		var counts []string
		for _, s := range rule.Severities() {
			if severities[s] > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", severities[s], s))
			}
		}
		title += fmt.Sprintf(": %s (%s), the one most likely to matter first", plural(found, "finding"),
			strings.Join(counts, ", "))
	}
	return title + fmt.Sprintf("; %d can't be told on all of them", unknown)
}

// shared prints a finding of several machines. What to do is that of the first of them.
func (w *wrapper) shared(s rule.Shared, of []string, short bool) {
	f := s.Each[0][0]
	f.Severity = s.Severity
	w.head(f)
	w.line(indent, diagnosis.On(s.On, of))
	type reading struct {
		text string
		on   []string
	}
	var readings []reading
	for i, each := range s.Each {
		var texts []string
		for _, f := range each {
			texts = append(texts, readOf(f))
		}
		text := strings.Join(texts, "; ")
		at := slices.IndexFunc(readings, func(r reading) bool { return r.text == text })
		if at < 0 {
			at, readings = len(readings), append(readings, reading{text: text})
		}
		readings[at].on = append(readings[at].on, s.On[i])
	}
	const most = 4 // that are told
	left := len(s.On)
	for i, r := range readings {
		if i == most {
			w.line(indent, fmt.Sprintf("and otherwise on %d more: --json has all of it", left))
			break
		}
		left -= len(r.on)
		switch {
		case r.text == "":
		case len(readings) == 1:
			w.line(indent, r.text)
		default:
			w.line(indent, names(r.on)+": "+r.text)
		}
	}
	if short {
		w.afterShort(f)
		return
	}
	w.after(f)
}

// fewUnlike are as many facts as are told without --all.
const fewUnlike = 10

// unlike prints by what a few machines are not like the others.
func (w *wrapper) unlike(all []outliers.Unlike, full bool) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintln(w.out)
	w.line("", "not like the others:")
	for i, u := range all {
		if i == fewUnlike && !full {
			w.line("~     ", fmt.Sprintf("%d more, less likely to matter (--all)", len(all)-i))
			break
		}
		w.line("~     ", unlikeText(u))
	}
}

// unlikeText is a fact by which some are not like the others, in words.
func unlikeText(u outliers.Unlike) string {
	on := unit.Names(u.On, ", ")
	others := fmt.Sprintf("on %d of %d", u.Alike, u.Machines)
	var text string
	switch {
	case u.Kind == "thing" && u.Here == "":
		text = fmt.Sprintf("%s: no %s %s, which is there %s", on, u.Fact, u.There, others)
	case u.Kind == "thing":
		text = fmt.Sprintf("%s: %s %s, which is not there %s", on, u.Fact, u.Here, others)
	default:
		name := u.Name
		if about := commonTo(u.About); about != "" {
			name += " of " + about
		}
		show := func(value string) string {
			switch {
			case value == "":
				return "not given"
			case u.Kind == "fact":
				return facts.Show(lab.Fact{Key: u.Fact, Value: value})
			}
			return value
		}
		text = fmt.Sprintf("%s: %s is %s, and %s %s", on, name, show(u.Here), show(u.There), others)
	}
	if u.Slower {
		text += "; likely slower"
	}
	return text + ": " + u.Why
}

// commonTo is what all of a list are; empty where they differ.
func commonTo(list []string) string {
	if list = slices.Compact(slices.Clone(list)); len(list) == 1 {
		return list[0]
	}
	return ""
}
