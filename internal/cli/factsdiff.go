package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"headroom/internal/diff"
	"headroom/internal/facts"
	"headroom/internal/kconfig"
	"headroom/internal/lab"
	"headroom/internal/prose"
)

// shownDifferences is how many differences are listed unless asked otherwise: as many as are worth reading in a row.
const shownDifferences = 20

type factsDiffOptions struct {
	format string
	top    int
	all    bool
	redact bool
}

func (p *program) factsDiffCommand() *cobra.Command {
	var o factsDiffOptions
	c := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two machines, the differences most likely to matter for I/O first",
		Long: `Compares what is known of two machines: targets ("local", "ssh://host"), saved
runs, snapshots, kernel configurations, the output of sysctl -a; - is standard
input. Differences come in the order of their likely effect on I/O, with the
reason. Devices are paired by serial number, place and model, whatever they
are called. The order is knowledge, not measurement; what nothing is known of
comes last.`,
		Example: `  headroom facts diff node6.json node7.json
  headroom facts diff local last
  headroom facts diff ssh://node6 ssh://node7
  headroom facts diff last:node6 last:node7
  headroom facts diff /boot/config-6.1.0-50-amd64 /boot/config-6.12.9
  headroom facts diff old.config new.config --format diffconfig`,
		Args:              between(2, 2, "two things to compare: targets, runs, files, - for standard input"),
		ValidArgsFunction: p.completeSubjects(2),
		RunE: func(c *cobra.Command, args []string) error {
			if err := o.check(p.json); err != nil {
				return err
			}
			if args[0] == standardInput && args[1] == standardInput {
				return usage("standard input can be one of the two only", "name the other by its file")
			}
			a, err := p.subject(c.Context(), args[0], facts.SnapshotLimit)
			if err != nil {
				return err
			}
			b, err := p.subject(c.Context(), args[1], facts.SnapshotLimit)
			if err != nil {
				return err
			}
			return p.compareFacts(a, b, o)
		},
	}
	f := c.Flags()
	f.StringVar(&o.format, "format", "",
		"diffconfig prints the differing build options as the kernel's scripts/diffconfig does")
	f.IntVar(&o.top, "top", shownDifferences, "how many differences to list")
	f.BoolVar(&o.all, "all", false, "list all differences, and what can't be compared")
	f.BoolVar(&o.redact, "redact", false, "hide serial numbers, addresses, host and user names")
	p.jsonFlag(c)
	completeFlag(c, "format", func() []string { return []string{diffconfig} })
	return c
}

// diffconfig is the format of the kernel's scripts/diffconfig.
const diffconfig = "diffconfig"

func (o factsDiffOptions) check(json bool) error {
	switch {
	case o.format != "" && o.format != diffconfig:
		return usage("there is no format "+o.format, "--format diffconfig, or --json")
	case o.format != "" && json:
		return usage("--format diffconfig and --json exclude each other")
	case o.top < 0:
		return usage(fmt.Sprintf("--top %d is no number of differences", o.top),
			"--top 0 prints the first line only, --all all differences")
	}
	return nil
}

func (p *program) compareFacts(a, b facts.Document, o factsDiffOptions) error {
	if o.format == diffconfig {
		for _, d := range []facts.Document{a, b} {
			if len(configOf(d)) == 0 {
				return usage("no build option of "+d.Target+" is known", "kernels with CONFIG_IKCONFIG_PROC show "+
					"theirs in /proc/config.gz, distributions in /boot/config-$(uname -r)")
			}
		}
		return kconfig.Diffconfig(p.Stdout, configOf(a), configOf(b), false)
	}
	if !inCommon(a, b) {
		return usage(a.Target+" and "+b.Target+" have nothing in common that could be compared",
			"compare two of a kind: two snapshots, two kernel configurations, two outputs of sysctl -a; a snapshot "+
				"goes with each of them",
			"an imported run knows next to nothing of its machine")
	}
	knowledge, err := diff.Load()
	if err != nil {
		return err
	}
	d := knowledge.Compare(side(a, o.redact), side(b, o.redact))
	if p.json {
		return p.printJSON(d)
	}
	p.printDifferences(d, o)
	return nil
}

// inCommon says whether there is a key that both sides know something of.
func inCommon(a, b facts.Document) bool {
	known := map[string]bool{}
	for _, f := range a.Facts {
		if f.Unknown == "" {
			known[f.Key] = true
		}
	}
	return slices.ContainsFunc(b.Facts, func(f lab.Fact) bool { return f.Unknown == "" && known[f.Key] })
}

func side(d facts.Document, redact bool) diff.Side {
	if redact {
		d.Target, d.Facts = facts.NewRedactor(d.Facts).Text(d.Target), facts.Redact(d.Facts)
	}
	return diff.Side{Name: d.Target, Facts: d.Facts}
}

// configOf takes the options of the build out of a snapshot.
func configOf(d facts.Document) kconfig.Config {
	c := kconfig.Config{}
	for _, f := range d.Facts {
		if name, ok := strings.CutPrefix(f.Key, "kernel.config."); ok && f.Unknown == "" {
			c[name] = f.Value
		}
	}
	return c
}

func (p *program) printDifferences(d diff.Document, o factsDiffOptions) {
	w := &wrapper{out: p.Stdout, width: columns(p.Stdout)}
	w.line("", differencesTitle(d))
	shown := d.Differences
	if !o.all {
		shown = shown[:min(len(shown), o.top)]
	}
	for _, x := range shown {
		fmt.Fprintln(p.Stdout)
		w.difference(x)
	}
	if more := len(d.Differences) - len(shown); more > 0 {
		fmt.Fprintln(p.Stdout)
		w.line("", fmt.Sprintf("%d more, less likely to matter: --top %d, --all, or --json", more,
			max(shownDifferences, 2*len(shown))))
	}
	if o.all {
		w.notComparable(d.NotComparable)
	}
}

func differencesTitle(d diff.Document) string {
	var parts []string
	for _, c := range []struct {
		n    int
		what string
	}{{d.Counts.Options, "kernel option"}, {d.Counts.Arguments, "boot argument"}, {d.Counts.Sysctls, "sysctl"},
		{d.Counts.Facts, "fact"}} {
		switch {
		case c.n > 0 && c.what == "fact" && len(parts) > 0:
			parts = append(parts, prose.Count(c.n, "other fact"))
		case c.n > 0:
			parts = append(parts, prose.Count(c.n, c.what))
		}
	}
	title := fmt.Sprintf("A is %s, B is %s: ", d.A, d.B)
	if len(parts) == 0 {
		title += "no difference"
	} else {
		title += prose.List(parts) + " " + verb(d.Counts.Options+d.Counts.Arguments+d.Counts.Sysctls+d.Counts.Facts)
	}
	if d.Counts.NotComparable > 0 {
		title += fmt.Sprintf("; %d can't be compared, because not both sides know them (--all lists them)",
			d.Counts.NotComparable)
	}
	return title
}

func verb(n int) string {
	if n == 1 {
		return "differs"
	}
	return "differ"
}

// difference prints what differs and on which side it is likely slower, then why.
func (w *wrapper) difference(x diff.Difference) {
	if x.Kind == "thing" {
		side, what := "A", x.A
		if x.A == "" {
			side, what = "B", x.B
		}
		w.line(fmt.Sprintf("%3d  ", x.Rank), x.Fact+" "+what+": only "+side+" has it")
		return
	}
	head := x.Name
	if about := pairs(x.About); about != "" && x.Kind != "thing" { // whose name says it
		head += " of " + about
	}
	a, b := w.values(x)
	head += fmt.Sprintf(": A %s, B %s", a, b)
	if x.Slower != "" {
		head += "; " + strings.ToUpper(x.Slower) + " is likely slower"
	}
	w.line(fmt.Sprintf("%3d  ", x.Rank), head)
	const indent = "     "
	for _, text := range []string{x.Why, published(x), upperSides(x.Note)} {
		if text != "" {
			w.line(indent, text)
		}
	}
	if x.Argument != "" {
		w.line(indent, "boot argument of equal meaning: "+x.Argument)
	}
	if n := len(x.Follows); n > 0 {
		w.line(indent, fmt.Sprintf("what follows from it: %s", names(last(x.Follows))))
	}
}

// values are the two values as people read them, and as they are where that would make them look alike.
func (w *wrapper) values(x diff.Difference) (a, b string) {
	show := func(value string) string {
		if value == "" || x.Kind != "fact" {
			return value
		}
		return facts.Show(lab.Fact{Key: x.Fact, Value: value})
	}
	if a, b = show(x.A), show(x.B); a == b {
		a, b = x.A, x.B
	}
	if a == x.A {
		a = orNothing(a)
	}
	if b == x.B {
		b = orNothing(b)
	}
	return a, b
}

// upperSides writes the sides of a note as the text does, A and B; in JSON they are called a and b.
func upperSides(note string) string {
	for _, side := range []string{"a", "b"} {
		if rest, ok := strings.CutPrefix(note, side+" "); ok {
			return strings.ToUpper(side) + " " + rest
		}
		note = strings.Replace(note, "the kernel of "+side+" ", "the kernel of "+strings.ToUpper(side)+" ", 1)
	}
	return note
}

func published(x diff.Difference) string {
	if x.Effect == "" {
		return ""
	}
	text := "published: " + x.Effect
	if x.Source != nil {
		text += " (" + x.Source.Title + ")"
	}
	return text
}

// last are the names without what is the same for all of their kind.
func last(keys []string) []string {
	keys = slices.Clone(keys)
	for i, k := range keys {
		keys[i] = strings.TrimPrefix(strings.TrimPrefix(k, "kernel.config."), "sysctl.")
	}
	return keys
}

func orNothing(value string) string {
	if value == "" {
		return "nothing"
	}
	if strings.ContainsAny(value, " ,") {
		return lab.ShellQuote([]string{value})
	}
	return value
}

func pairs(list []diff.Pair) string {
	var text []string
	for _, p := range list {
		switch {
		case p.A == p.B || p.B == "":
			text = append(text, p.A)
		case p.A == "":
			text = append(text, p.B)
		default:
			text = append(text, p.A+"/"+p.B)
		}
	}
	return names(text)
}

func (w *wrapper) notComparable(list []diff.NotComparable) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintln(w.out)
	w.line("", "can't be compared:")
	for _, n := range list {
		name := n.Fact
		if n.About != "" {
			name += " of " + n.About
		}
		w.line("?    ", name+": "+n.Why)
	}
}
