package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/results"
)

// flags are the flags of a command, with methods for those that several commands have.
type flags struct {
	*pflag.FlagSet
	command *cobra.Command
	app     *app.App
}

func flagsOf(a *app.App, c *cobra.Command) flags { return flags{c.Flags(), c, a} }

func (f flags) json() { f.BoolVar(&f.app.JSON, "json", false, "print JSON") }

// document adds -o and --format.
func (f flags) document(o *results.DocumentOutput) {
	f.StringVarP(&o.Output, "output", "o", "", "also write the result to a file: .html, .md, .csv or .json")
	f.format(&o.Format, slices.Concat(results.DocumentFormats(), o.More))
}

func (f flags) format(to *string, known []results.OutputFormat) {
	f.StringVar(to, "format", "", "how to write the result: "+strings.Join(results.FormatNames(known),
		", ")+" (default table)")
	f.values("format", func() []string { return results.FormatNames(known) })
}

// dryRun adds --dry-run, which is short where it has no value.
func (f flags) dryRun(to *app.DryRun, usage string) {
	f.Var(to, "dry-run", usage)
	f.Lookup("dry-run").NoOptDefVal = string(app.InShort)
	f.values("dry-run", func() []string { return []string{string(app.InShort), string(app.InFull)} })
}

// resume adds --resume, and --trust beside it.
func (f flags) resume(to *string, usage string) {
	f.StringVar(to, "resume", "", usage)
	f.BoolVar(&f.app.Trust, "trust", false,
		"with --resume: go on with a run that was imported, and carry out what came with it")
}

// wait adds --wait to a command that changes settings.
func (f flags) wait() {
	f.Bool("wait", false, "if another run is changing one of the settings, wait until it has ended")
}

// count adds a flag that takes a number of times.
func (f flags) count(to *int, name, usage string) { f.Var((*countValue)(to), name, usage) }

// seed adds the flag that gives a random order again.
func (f flags) seed(to *uint64, usage string) { f.Var((*seedValue)(to), "seed", usage) }

// budget adds the flag that limits the time of a number of passes.
func (f flags) budget(to *time.Duration) {
	f.DurationVar(to, "budget", 0,
		"time limit, like 10m: no pass starts that would end later; with --resume it counts from now")
}

func (f flags) events(o *experiment.EventOptions, where string) {
	f.StringArrayVar(&o.Events, "event", nil, "an event during each load: 'TIME: COMMAND', 'TIME: EVENT' (a built-in "+
		"event), 'TIME: FACTOR=LEVEL' or 'TIME: undo'; may be repeated")
	f.StringArrayVar(&o.Undo, "undo", nil, "the command that undoes an event; once for each event that is a command")
	f.BoolVar(&o.NoUndo, "no-undo", false, "allow events without --undo: they end by themselves")
	f.StringArrayVar(&o.On, "event-on", nil, where)
	f.StringVar(&o.Length, "event-for", "20s",
		"undo an event after this time; at the latest when the load ends")
	f.StringVar(&o.ExpectedShare, "event-left", "",
		"expected rate during an event, like 50%; shown next to the measured one")
	f.values("event", experiment.EventNames)
}

// profile adds the flag that has loads profiled beside the repetitions, and those that go with it.
func (f flags) profile(o *experiment.ProfileOptions, with string) {
	f.count(&o.Loads, "profile", fmt.Sprintf("%salso profile this many loads of each cell, beside its first "+
		"repetitions: where CPU time goes, and which kernel functions are called (without a number %d)", with,
		experiment.DefaultProfiles))
	f.Lookup("profile").NoOptDefVal = fmt.Sprint(experiment.DefaultProfiles)
	f.recorder(o, "with --profile: ")
}

// recorder adds the flags that say how loads are profiled.
func (f flags) recorder(o *experiment.ProfileOptions, with string) {
	f.IntVar(&o.Hz, "profile-hz", experiment.DefaultHz, with+"samples a second of each CPU")
	f.StringVar(&o.Recorder, "recorder", "", with+"copy this headroom to the target to record there, where its "+
		"processor is another than this machine's (default: this program)")
}

// targets offers targets for the values of flags.
func (f flags) targets(names ...string) {
	for _, name := range names {
		f.offer(name, completion{f.app}.targets)
	}
}

// values offers the values of a flag.
func (f flags) values(name string, values func() []string) {
	f.offer(name, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return values(), cobra.ShellCompDirectiveNoFileComp
	})
}

// offer has the shell ask for the values of a flag. cobra keeps what is registered in a table of the process, with the
// whole command line behind it: in tests, of thousands of commands.
func (f flags) offer(name string, values cobra.CompletionFunc) {
	if !completes(f.app.Environment) {
		return
	}
	if err := f.command.RegisterFlagCompletionFunc(name, values); err != nil {
		panic(err) // the flag is not there: an error of the program
	}
}

// profileFlagNames are the flags of profile and recorder that a run settles.
func profileFlagNames() []string { return []string{"profile", "profile-hz"} }
