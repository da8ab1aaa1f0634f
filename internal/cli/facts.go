package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/saved"
)

// factsCommand shows the facts of a machine.
type factsCommand struct {
	app     *app.App
	only    []string
	all     bool
	sources bool
	redact  bool
	timeout time.Duration
	on      []string
}

func newFactsCommand(a *app.App) *cobra.Command {
	o := &factsCommand{app: a}
	c := &cobra.Command{
		Use: "facts [TARGET | RUN | FILE | -]",
		Long: `Shows what the kernel, the firmware and the devices report about this machine, another one (ssh://host) or one
whose files were saved (a sosreport, a folder with its /proc and /sys, text that commands printed): in about a
second, as any user, without changes. Facts that can't be read are unknown, with the reason. Build
options, sysctls and module parameters are only counted; --all lists them. The JSON output holds everything;
"facts diff" and "doctor" read it.`,
		Example: `  headroom facts
  headroom facts --only disk --only nic.ring
  headroom facts --json > node7.json
  headroom facts ssh://node7
  headroom facts qemu:guest.yaml
  headroom facts last
  headroom facts dir:sosreport-db1.tar.xz
  headroom facts diff node6.json node7.json`,
		Args: argumentCount(0, 1, "nothing, or what to show the facts of: a target, a run, a file, - for "+
			"standard input"),
		ValidArgsFunction: completion{a}.subjects(1),
		Annotations:       namedArguments(argumentsAreTargets),
		RunE: func(c *cobra.Command, args []string) error {
			name, err := subjectOn(args, o.on)
			if err != nil {
				return err
			}
			d, err := a.Subjects().Facts(c.Context(), name, o.timeout)
			if err != nil {
				return err
			}
			return o.print(d)
		},
	}
	f := flagsOf(a, c)
	f.StringArrayVar(&o.only, "only", nil,
		"only facts whose name begins with this: disk, nic.ring, sysctl.net; may be repeated")
	f.BoolVar(&o.all, "all", false, "list build options, sysctls and module parameters, too")
	f.BoolVar(&o.sources, "sources", false, "show where each fact was read")
	f.BoolVar(&o.redact, "redact", false, "hide serial numbers, addresses, host and user names")
	f.DurationVar(&o.timeout, "timeout", facts.SnapshotLimit,
		"time limit; facts that are not read by then are unknown")
	f.StringArrayVar(&o.on, "on", nil, "the target to read, the same as the argument")
	f.json()
	f.targets("on")
	f.values("only", factAreas)
	return c
}

func (o *factsCommand) print(d facts.Document) error {
	if o.redact {
		d = d.Redacted()
	}
	d.Facts = chosenFacts(d.Facts, o.only)
	if len(d.Facts) == 0 {
		return app.Usage(fmt.Sprintf("no fact of %s begins with %s", d.Target, strings.Join(o.only, " or ")),
			"headroom facts lists what there is, --all more; a name ends at a dot or an underscore: disk, "+
				"disk.queue, nic.ring.rx")
	}
	if o.app.JSON {
		return o.app.PrintJSON(d)
	}
	shown := d.Facts
	if len(o.only) == 0 && !o.all {
		shown = slices.DeleteFunc(slices.Clone(shown), func(f lab.Fact) bool { return f.Unknown == saved.Unsaid })
	}
	asksForBulk := func(prefix string) bool { return catalogue.Bulk(strings.TrimRight(prefix, ".*") + ".") }
	if !o.all && !slices.ContainsFunc(o.only, asksForBulk) {
		// A file with nothing else, such as a kernel's configuration or sysctls, is listed in full.
		if brief := facts.Brief(shown); len(brief) > 1 && !onlySysctls(brief) || len(brief) > 0 && len(o.only) > 0 {
			shown = brief
		}
	}
	(&app.Wrapper{Out: o.app.Stdout, Width: app.Columns(o.app.Stdout)}).Line("", factsTitle(d, len(shown)))
	for _, s := range facts.Sections(shown) {
		fmt.Fprintf(o.app.Stdout, "\n%s\n", s.Title)
		o.writeRows(o.app.Stdout, s.Rows, app.Columns(o.app.Stdout))
	}
	return nil
}

// onlySysctls reports whether all known facts follow from sysctls, as in the output of sysctl -a.
func onlySysctls(brief []lab.Fact) bool {
	return !slices.ContainsFunc(brief, func(f lab.Fact) bool {
		return f.Unknown == "" && !strings.HasPrefix(f.Source, "/proc/sys/")
	})
}

func chosenFacts(all []lab.Fact, only []string) []lab.Fact {
	if len(only) == 0 {
		return all
	}
	var kept []lab.Fact
	for _, f := range all {
		for _, prefix := range only {
			if rest, ok := strings.CutPrefix(f.Key, strings.TrimRight(prefix, ".*")); ok &&
				(rest == "" || strings.ContainsAny(rest[:1], "._")) {
				kept = append(kept, f)
				break
			}
		}
	}
	return kept
}

// factsTitle summarizes the read facts in a line.
func factsTitle(d facts.Document, shown int) string {
	unknown, unreadable := 0, 0
	for _, f := range d.Facts {
		if f.Unknown != "" && !catalogue.Bulk(f.Key) {
			unknown++
			if strings.Contains(f.Unknown, "permission") {
				unreadable++
			}
		}
	}
	title := d.Target + ": " + prose.Count(shown, "fact")
	if unknown > 0 {
		title += fmt.Sprintf(", %d unknown", unknown)
	}
	if unreadable > 0 {
		title += fmt.Sprintf(" (%d of them root may read)", unreadable)
	}
	if hidden := len(d.Facts) - shown; hidden > 0 {
		title += fmt.Sprintf("; with --all %d more (build options, sysctls, module parameters)", hidden)
	}
	return title
}

// writeRows prints facts with aligned values. On a terminal it cuts lines at its width, so each fact is a line. With a
// selection of facts it prints them in full.
func (o *factsCommand) writeRows(w io.Writer, rows []facts.Row, width int) {
	const widest = 40 // cpu's vulnerability.indirect_target_selection
	longest := 0
	for _, r := range rows {
		longest = max(longest, min(len(prose.Inline(r.Name)), widest))
	}
	index := catalogue.NewIndex()
	for _, r := range rows {
		name, value := fmt.Sprintf("  %-*s  ", longest, prose.Inline(r.Name)), index.Show(r.Fact)
		if o.sources && r.Fact.Source != "" {
			value += "   [" + r.Fact.Source + "]"
		}
		switch {
		case width == 0:
			fmt.Fprintln(w, prose.Inline(strings.TrimRight(name+value, " ")))
		case len(o.only) > 0:
			(&app.Wrapper{Out: w, Width: width}).Line(name, value)
		default:
			fmt.Fprintln(w, app.Fit(name+value, width))
		}
	}
}
