package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/yamlfile"
)

// flags has the flags of a command, with methods for flags that several commands have.
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

// dryRun adds --dry-run, which means short without a value.
func (f flags) dryRun(to *app.DryRun, usage string) {
	f.Var(to, "dry-run", usage)
	f.Lookup("dry-run").NoOptDefVal = string(app.InShort)
	f.values("dry-run", func() []string { return []string{string(app.InShort), string(app.InFull)} })
}

// resume adds --resume and --trust.
func (f flags) resume(to *string, usage string) {
	f.StringVar(to, "resume", "", usage)
	f.BoolVar(&f.app.Trust, "trust", false,
		"with --resume: continue an imported run, and carry out its commands")
}

// wait adds --wait to a command that changes settings.
func (f flags) wait() {
	f.Bool("wait", false, "if another run is changing one of the settings, wait until it has ended")
}

// count adds a flag that takes a number of times.
func (f flags) count(to *int, name, usage string) { f.Var((*countValue)(to), name, usage) }

// seed adds the flag that repeats a random order.
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

// profile adds the flag for profiling loads in addition to the repetitions, and the flags that belong to it.
func (f flags) profile(o *experiment.ProfileOptions, with string) {
	f.count(&o.Loads, "profile", fmt.Sprintf("%salso profile this many loads of each cell, beside its first "+
		"repetitions: where CPU time goes, and which kernel functions are called (without a number %d)", with,
		experiment.DefaultProfiles))
	f.Lookup("profile").NoOptDefVal = fmt.Sprint(experiment.DefaultProfiles)
	f.recorder(o, "with --profile: ")
}

// recorder adds the flags of the recording of profiles.
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

// offer registers the values of a flag for completion by the shell. cobra keeps registrations in a table of the
// process, with the whole command line behind it: in tests, of thousands of commands.
func (f flags) offer(name string, values cobra.CompletionFunc) {
	if !completes(f.app.Environment) {
		return
	}
	if err := f.command.RegisterFlagCompletionFunc(name, values); err != nil {
		panic(err) // the flag does not exist: a programming error
	}
}

// profileFlagNames returns the flags of profile and recorder that can't change when a run is resumed.
func profileFlagNames() []string { return []string{"profile", "profile-hz"} }

// countValue is the value of a flag that takes a number of times: at least 1. 0 means that the flag was not given, so a
// typed 0 would act like the default.
type countValue int

func (n *countValue) String() string { return strconv.Itoa(int(*n)) }

// Type returns the word that help prints after the flag.
func (n *countValue) Type() string { return "int" }

// Set reads the value as typed.
func (n *countValue) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err == nil && v < 1 {
		err = errors.New("less than 1")
	}
	*n = countValue(v)
	return err
}

// seedValue is the value of a flag that takes the seed of a random order. 0 means that the flag was not given, so a
// typed 0 would be a random seed.
type seedValue uint64

func (n *seedValue) String() string { return strconv.FormatUint(uint64(*n), 10) }

// Type returns the word that help prints after the flag.
func (n *seedValue) Type() string { return "uint" }

// Set reads the value as typed.
func (n *seedValue) Set(text string) error {
	v, err := strconv.ParseUint(text, 0, 64)
	if err == nil && v == 0 {
		err = errors.New("less than 1")
	}
	*n = seedValue(v)
	return err
}

// flagError returns an error that names the unreadable flag, the typed value, and the values that the flag takes.
func flagError(c *cobra.Command, err error) error {
	help := c.CommandPath() + " --help lists the flags"
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		return unknownFlag(c, e, help)
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		f := e.GetFlag()
		return app.Usage(fmt.Sprintf("--%s needs a value: %s", f.Name, f.Usage), append(exampleFor(f), help)...)
	}
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		f := e.GetFlag()
		takes, _ := takenBy(f)
		what := fmt.Sprintf("--%s takes %s, and not %q", f.Name, takes, e.GetValue())
		return app.Usage(what, append(exampleFor(f), help)...)
	}
	return app.Usage(err.Error(), help)
}

// unknownFlag returns an error that names the most likely flag.
func unknownFlag(c *cobra.Command, e *pflag.NotExistError, help string) error {
	typed, name := "--"+e.GetSpecifiedName(), e.GetSpecifiedName()
	if short := e.GetSpecifiedShortnames(); short != "" { // -repeat is read as six flags of one letter
		typed, name = "-"+short, strings.TrimPrefix(short, "-")
	}
	hints := []string{help}
	if near := nearestFlag(c, name); near != "" {
		hints = slices.Insert(hints, 0, "did you mean --"+near+"?")
	}
	return app.Usage("unknown flag: "+typed, hints...)
}

// nearestFlag returns the flag of a command that a name probably means: the name with one dash, the only flag that
// begins with it, or one with a similar spelling. It is empty if there is none.
func nearestFlag(c *cobra.Command, name string) string {
	name, _, _ = strings.Cut(name, "=")
	var all, begin []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		all = append(all, f.Name)
		if len(name) > 1 && strings.HasPrefix(f.Name, name) {
			begin = append(begin, f.Name)
		}
	})
	if slices.Contains(all, name) {
		return name
	}
	if len(begin) == 1 {
		return begin[0]
	}
	return yamlfile.Nearest(name, all)
}

// takenBy describes the values of a flag, with an example; the example is empty if it would not help.
func takenBy(f *pflag.Flag) (takes, example string) {
	switch f.Value.(type) {
	case *countValue:
		return "a whole number from 1", "3"
	case *seedValue:
		return "a whole number from 1", "42"
	}
	switch f.Value.Type() {
	case new(app.DryRun).Type():
		return "short or full", string(app.InFull)
	case "int":
		takes, example = "a whole number", "1"
	case "float64":
		takes, example = "a number", "0.05"
	case "duration":
		takes, example = "a length of time", "10m"
	case "bool":
		takes, example = "true or false", "true"
	case "stringSlice":
		return "names with commas between them", ""
	default:
		return "another value", ""
	}
	if d := f.DefValue; !slices.Contains([]string{"0", "0s", "false"}, d) {
		example = d
	}
	return takes, example
}

// exampleFor returns a hint that shows how to type a flag; none if an example would not help.
func exampleFor(f *pflag.Flag) []string {
	_, example := takenBy(f)
	if example == "" {
		return nil
	}
	words := []string{"--" + f.Name, example}
	if f.NoOptDefVal != "" { // it has a value already if none is typed
		words = []string{"--" + f.Name + "=" + example}
	}
	return []string{"for example: " + lab.ShellQuote(words)}
}

// exclusive refuses two flags that contradict each other.
func exclusive(c *cobra.Command, a, b string) error {
	if !c.Flags().Changed(a) || !c.Flags().Changed(b) {
		return nil
	}
	return app.Usage("--"+a+" and --"+b+" exclude each other", "leave out one of them")
}

// refuseSettled refuses flags with --resume whose values were fixed when the run began.
func refuseSettled(c *cobra.Command, names ...string) error {
	if !c.Flags().Changed("resume") {
		return nil
	}
	for _, name := range names {
		if c.Flags().Changed(name) {
			return app.Usage("--"+name+" can't be changed when a run is resumed",
				"leave it out: the run keeps its value")
		}
	}
	return nil
}
