package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"headroom/internal/diagnosis"
	"headroom/internal/rule"
)

// printDiagnosis prints the answer first, in a sentence; then the findings, the worst first; then what can't be told.
// Low findings are shortened unless they are wanted in full.
func (p *program) printDiagnosis(r rule.Report, o doctorOptions) {
	full := o.all || len(o.systems) > 0
	w := &wrapper{out: p.Stdout, width: columns(p.Stdout), colour: p.colour(p.Stdout)}
	w.line("", diagnosisTitle(r))
	var notes []string
	measuring := ""
	for _, f := range r.Findings {
		switch {
		case f.Verdict != rule.Found:
		case f.Severity == rule.Low && !full:
			w.short(f)
			notes = []string{"Findings of low severity are shortened: --all or --for SYSTEM tells them in full."}
		default:
			w.finding(f)
			measuring += f.Measure + "\n"
		}
	}
	w.untold(untoldIn([]string{""}, []*rule.Report{&r}), nil, o.all)
	for _, v := range []rule.Verdict{rule.Clear, rule.NotApplicable} {
		w.others(r, v)
	}
	if stands := stoodFor(measuring); stands != "" {
		notes = append(notes, "In lines \"measure\" "+stands+".")
	}
	if len(notes) > 0 {
		fmt.Fprintln(w.out)
		w.line("", strings.Join(notes, " "))
	}
}

// placeholder is a word in lines "measure" that the reader replaces.
type placeholder struct{ word, means string }

func placeholders() []placeholder {
	return []placeholder{
		{"DIR", "a directory on the storage in question"},
		{"DEVICE", "a disk (an empty one; ladder only reads, so there it may be in use)"},
		{"NAME", "the disk, array or controller"},
		{"SERVER", "a machine at the other end of the network, like ssh://db1, with --address where that network has " +
			"another address of it"},
		{"GUEST", "the virtual machine"},
		{"CLASS", "the StorageClass in question"},
		{"OTHER", "the one that is changed"},
		{"FILE", "the description of a guest to start"},
		{"TARGET", "a machine that headroom starts anew for each level: a guest (qemu:FILE), or one that --reboot " +
			"names, too; for this one: headroom run before and after its reboot, then headroom compare"},
	}
}

// stoodFor says what the words in capitals stand for that commands have.
func stoodFor(commands string) string {
	var parts []string
	for _, p := range placeholders() {
		if regexp.MustCompile(`\b` + p.word + `\b`).MatchString(commands) {
			parts = append(parts, p.word+" is "+p.means)
		}
	}
	return strings.Join(parts, "; ")
}

// diagnosisTitle counts rules, not rules times things: a rule about each of forty disks is one line to a reader.
func diagnosisTitle(r rule.Report) string {
	found, unknown := map[string]bool{}, map[string]bool{}
	severities := map[string]int{}
	for _, f := range r.Findings {
		switch f.Verdict {
		case rule.Found:
			if !found[f.Rule] {
				severities[f.Severity]++
			}
			found[f.Rule] = true
		case rule.Unknown:
			unknown[f.Rule] = true
		}
	}
	title := r.Target + ": "
	switch {
	case len(found) == 0 && len(unknown) > 0 && r.Counts.Clear == 0:
		return r.Target + ": nothing can be told, because what the rules ask about is not in it; a snapshot has it: " +
			"headroom facts --json > FILE"
	case len(found) == 0:
		title += "nothing found that holds the I/O of this machine back"
	case len(found) == 1:
		title += "1 finding"
	default:
		var counts []string
		for _, s := range rule.Severities() {
			if severities[s] > 0 {
				counts = append(counts, fmt.Sprintf("%d %s", severities[s], s))
			}
		}
		title += fmt.Sprintf("%d findings (%s), the one most likely to matter first", len(found),
			strings.Join(counts, ", "))
	}
	title += fmt.Sprintf("; %d can't be told, %d clear, %d do not apply", len(unknown), r.Counts.Clear,
		r.Counts.NotApplicable)
	if r.PrivilegedWouldTell > 0 {
		title += fmt.Sprintf("; as root %d more could be told", r.PrivilegedWouldTell)
	}
	return title
}

// severityWord is what stands before a finding, always of one width.
func severityWord(severity string) string {
	switch severity {
	case rule.High:
		return "HIGH  "
	case rule.Medium:
		return "MED   "
	}
	return "LOW   "
}

const indent = "      "

func (w *wrapper) finding(f rule.Finding) {
	w.head(f)
	for _, e := range told(f.Evidence) {
		w.line(indent, evidence(e)+readFrom(e))
	}
	w.after(f)
}

// after is what comes after the evidence: the effect, and what to do.
func (w *wrapper) after(f rule.Finding) {
	w.line(indent, f.MainEffect())
	for _, k := range f.Kept {
		w.line(indent, strings.Replace(k, f.Effect, "what it costs is above", 1))
	}
	for i, r := range rule.BySetting(f.Remedies) {
		w.remedy(i, r)
	}
	prefix := indent + "measure: "
	for command := range strings.Lines(f.Measure) {
		w.line(prefix, command)
		prefix = strings.Repeat(" ", len(prefix))
	}
}

// short prints a finding of low severity: what was read, the first change and its cost.
func (w *wrapper) short(f rule.Finding) {
	w.head(f)
	if read := readOf(f); read != "" {
		w.line(indent, read)
	}
	w.afterShort(f)
}

// readOf is all evidence of a finding in a line.
func readOf(f rule.Finding) string {
	var read []string
	for _, e := range told(f.Evidence) {
		read = append(read, evidence(e))
	}
	return strings.Join(read, "; ")
}

func (w *wrapper) afterShort(f rule.Finding) {
	for _, k := range f.Kept {
		w.line(indent, k)
	}
	if len(f.Remedies) == 0 {
		return
	}
	r := f.Remedies[0]
	change := r.Set
	if change == "" {
		change, _, _ = strings.Cut(strings.TrimSpace(r.Text), "\n")
	}
	change += rule.Caveats(r.Reboot, r.Destroys)
	if r.Only != "" {
		change += ", " + r.Only
	}
	w.line(indent+"change:  ", change)
	if r.Cost != "" && r.Cost != "none" {
		w.line(indent+"cost:    ", r.Cost)
	}
}

// head prints how severe it is, the title and, on the right, the rule.
func (w *wrapper) head(f rule.Finding) {
	fmt.Fprintln(w.out)
	head := severityWord(f.Severity)
	title := wrap(f.Title, w.columns()-len(head)-len(f.Rule)-2)
	gap := max(2, w.columns()-len(head)-len([]rune(title[0]))-len(f.Rule))
	if w.colour != nil && f.Severity == rule.High {
		head = w.colour("\x1b[1;31m") + "HIGH" + w.colour("\x1b[0m") + "  "
	}
	fmt.Fprintf(w.out, "%s%s%s%s\n", head, title[0], strings.Repeat(" ", gap), f.Rule)
	for _, l := range title[1:] {
		fmt.Fprintln(w.out, indent+l)
	}
}

// remedy prints a change: the setting first, in one line; then how it is made on each system, in full for the best
// remedy and for those that are no setting; then what it costs.
func (w *wrapper) remedy(i int, systems []rule.Instruction) {
	r := systems[0]
	prefix, below := indent+"change:  ", indent+"         "
	if i > 0 {
		prefix = indent + "or:      "
	}
	command, isCommand := strings.CutPrefix(r.Set, "exec:")
	switch {
	case isCommand:
		fmt.Fprintln(w.out, prefix+command+rule.Caveats(r.Reboot, r.Destroys)) // in one line, as it is to be typed
		prefix = below
	case r.Set != "":
		w.line(prefix, r.Set+rule.Caveats(r.Reboot, r.Destroys))
		prefix = below
	}
	for _, s := range systems {
		if r.Set != "" && i > 0 && !isCommand {
			break
		}
		text := s.Text
		if isCommand {
			text = strings.TrimSuffix(strings.TrimSuffix(text, command), ": ")
		}
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if len(systems) > 1 {
			lines[0] = s.System + ": " + lines[0]
		}
		if r.Set == "" {
			lines[len(lines)-1] += rule.Caveats(s.Reboot, s.Destroys)
		}
		w.line(prefix, lines[0])
		for _, l := range lines[1:] {
			fmt.Fprintln(w.out, below+l) // a file's text keeps its own lines
		}
		prefix = below
	}
	if r.Only != "" {
		w.line(below, r.Only) // begins with "only if"
	}
	if r.Cost != "" {
		w.line(below+"cost: ", r.Cost)
	}
}

// told leaves out the numbers of the kernel's release where there is other evidence: what kernel(6, 2) asks for says
// nothing of the finding.
func told(all []rule.Evidence) []rule.Evidence {
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

func evidence(e rule.Evidence) string {
	text := e.Fact + " is " + e.Value
	if len(e.About) > 0 {
		text += " for " + names(e.About)
	}
	return text
}

func readFrom(e rule.Evidence) string {
	if e.Source == "" {
		return ""
	}
	return " (" + e.Source + ")"
}

// manyRules is how many rules wait for one fact before they are counted.
const manyRules = 8

// notCollected is the reason for facts that a snapshot does not have at all: one line is enough for all of them.
const notCollected = "not collected"

// untold is what can't be told for one reason: rules, and the machines where they are asked in vain.
type untold struct {
	why       string
	rules, on []string
}

// untoldIn puts together what can't be told by what would have to be read, because one closed file keeps several rules
// silent. Machines have names; nil is the report of one that could not be read.
func untoldIn(names []string, reports []*rule.Report) []untold {
	var rows []untold
	for i, r := range reports {
		if r == nil {
			continue
		}
		for _, f := range r.Findings {
			if f.Verdict != rule.Unknown {
				continue
			}
			why := "unknown"
			if len(f.Missing) > 0 {
				if why = f.Missing[0].Reason; why != notCollected {
					why = f.Missing[0].Fact + ": " + why
				}
			}
			at := slices.IndexFunc(rows, func(u untold) bool { return u.why == why })
			if at < 0 {
				at, rows = len(rows), append(rows, untold{why: why})
			}
			u := &rows[at]
			if !slices.Contains(u.rules, f.Rule) {
				u.rules = append(u.rules, f.Rule)
			}
			if n := len(u.on); n == 0 || u.on[n-1] != names[i] {
				u.on = append(u.on, names[i])
			}
		}
	}
	return rows
}

// untold prints what can't be told. Of several machines, of which all are given, it is said on which of them.
func (w *wrapper) untold(rows []untold, of []string, all bool) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(w.out)
	w.line("", "can't be told:")
	for _, u := range rows {
		rules := strings.Join(u.rules, ", ")
		if more := len(u.rules) - manyRules; more > 1 && !all {
			rules = strings.Join(u.rules[:manyRules], ", ") + fmt.Sprintf(" and %d more (--all)", more)
		}
		where := ""
		if len(u.on) < len(of) {
			where = " (" + diagnosis.On(u.on, of) + ")"
		}
		w.line("?     ", rules+": "+u.why+where)
	}
}

func (w *wrapper) others(r rule.Report, v rule.Verdict) {
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
	if len(listed) > 0 {
		fmt.Fprintln(w.out)
		w.line("", map[rule.Verdict]string{rule.Clear: "clear: ", rule.NotApplicable: "do not apply: "}[v]+strings.Join(
			listed, ", "))
	}
}
