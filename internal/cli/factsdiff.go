package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/machines"
	"github.com/headroom/headroom/internal/results"
)

// factsDiffCommand compares two machines.
type factsDiffCommand struct {
	app    *app.App
	result results.DocumentOutput
	top    int
	all    bool
	redact bool
}

func newFactsDiffCommand(a *app.App) *cobra.Command {
	o := &factsDiffCommand{app: a}
	c := &cobra.Command{
		Use: "diff A B",
		Long: `Compares the facts of two machines: targets ("local", "ssh://host"), saved runs, snapshots, kernel
configurations, files of a machine (a sosreport, what commands printed); - is standard input. Differences are ranked by their likely effect on
I/O, with the reason. Devices are paired by serial number, slot and model, not by name. The ranking comes from
published knowledge, not from a measurement; differences with no known effect come last. Of two runs that were
profiled, what each difference is known to make the kernel do is looked up in the profiles, and counts, too.`,
		Example: `  headroom facts diff node6.json node7.json
  headroom facts diff local last
  headroom facts diff ssh://node6 ssh://node7
  headroom facts diff last:node6 last:node7
  headroom facts diff /boot/config-6.1.0-50-amd64 /boot/config-6.12.9
  headroom facts diff node6.json node7.json -o differences.html
  headroom facts diff old.config new.config --format diffconfig`,
		Args:              argumentCount(2, 2, "two things to compare: targets, runs, files, - for standard input"),
		ValidArgsFunction: completion{a}.subjects(2),
		Annotations:       namedArguments(argumentsAreTargets),
		RunE:              o.run,
	}
	f := flagsOf(a, c)
	o.result.More = []results.OutputFormat{diffconfigFormat()}
	f.document(&o.result)
	f.IntVar(&o.top, "top", machines.ShownDifferences, "how many differences to list")
	f.BoolVar(&o.all, "all", false, "list all differences, and what can't be compared")
	f.BoolVar(&o.redact, "redact", false, "hide serial numbers, addresses, host and user names")
	f.json()
	return c
}

func (o *factsDiffCommand) run(c *cobra.Command, args []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if args[0] == app.StandardInput && args[1] == app.StandardInput {
		return app.Usage("standard input can be one of the two only", "name the other by its file")
	}
	a, err := o.app.Subjects().Facts(c.Context(), args[0], facts.SnapshotLimit)
	if err != nil {
		return err
	}
	b, err := o.app.Subjects().Facts(c.Context(), args[1], facts.SnapshotLimit)
	if err != nil {
		return err
	}
	for _, d := range []*facts.Document{&a, &b} {
		if brief := facts.Brief(d.Facts); onlySysctls(brief) { // compare the sysctls themselves
			d.Facts = slices.DeleteFunc(d.Facts, func(f lab.Fact) bool { return !catalogue.Bulk(f.Key) })
		}
	}
	profiles, err := profilesBeside(o.app, args[0], args[1])
	if err != nil {
		return err
	}
	return o.compare(a, b, profiles)
}

// diffconfigFormat returns the format of the kernel's scripts/diffconfig.
func diffconfigFormat() results.OutputFormat {
	return results.OutputFormat{Name: "diffconfig", Suffix: ".diffconfig"}
}

func (o *factsDiffCommand) check() error {
	if _, _, err := o.result.Formats(o.app.JSON); err != nil {
		return err
	}
	if o.top < 0 {
		return app.Usage(fmt.Sprintf("--top %d is no number of differences", o.top),
			"--top 0 prints the first line only, --all all differences")
	}
	return nil
}

func (o *factsDiffCommand) compare(a, b facts.Document, profiles difference.Document) error {
	file, printed, err := o.result.Formats(o.app.JSON)
	if err != nil {
		return err
	}
	if diffconfig := diffconfigFormat().Name; file == diffconfig || printed == diffconfig {
		return o.diffconfig(a, b)
	}
	if !inCommon(a, b) {
		return app.Usage(a.Target+" and "+b.Target+" have nothing in common that could be compared",
			"compare two of a kind: two snapshots, two kernel configurations, two outputs of sysctl -a; a snapshot "+
				"goes with each of them",
			"an imported run knows next to nothing of its machine")
	}
	knowledge, err := diff.Load()
	if err != nil {
		return err
	}
	d := knowledge.WithProfiles(knowledge.Compare(side(a, o.redact), side(b, o.redact)), profiles)
	of := func(shown report.Options) document.Document {
		reported := d
		if !shown.Serials && !o.redact {
			reported = knowledge.WithProfiles(knowledge.Compare(side(a, true), side(b, true)), profiles)
		}
		return machines.Differences(reported, machines.DifferenceOptions{Top: o.top, All: o.all})
	}
	return results.ShowResult(o.app, nil, results.ResultDocument{Published: d, Document: of}, o.result)
}

// diffconfig prints the differing build options like scripts/diffconfig, or writes them into a file.
func (o *factsDiffCommand) diffconfig(a, b facts.Document) error {
	for _, d := range []facts.Document{a, b} {
		if len(configOf(d)) == 0 {
			return app.Usage("no build option of "+d.Target+" is known", "kernels with CONFIG_IKCONFIG_PROC show "+
				"theirs in /proc/config.gz, distributions in /boot/config-$(uname -r)")
		}
	}
	if app.OwnOutput(o.result.Output) {
		return kconfig.Diffconfig(o.app.Stdout, configOf(a), configOf(b), false)
	}
	var out bytes.Buffer
	if err := kconfig.Diffconfig(&out, configOf(a), configOf(b), false); err != nil {
		return err
	}
	return results.WriteFile(o.app, o.result.Output, out.Bytes())
}

// inCommon reports whether both sides know a fact of the same key.
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
		d = d.Redacted()
	}
	return diff.Side{Name: d.Target, Facts: d.Facts}
}

// configOf returns the build options in a snapshot.
func configOf(d facts.Document) kconfig.Config {
	c := kconfig.Config{}
	for _, f := range d.Facts {
		if name, ok := strings.CutPrefix(f.Key, "kernel.config."); ok && f.Unknown == "" {
			c[name] = f.Value
		}
	}
	return c
}
