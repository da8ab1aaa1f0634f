package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/yamlfile"
)

// flagError says in the words of the user which flag can't be read, what was typed, and what the flag takes.
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

// unknownFlag names the flag that was most likely meant.
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

// nearestFlag is the flag of a command that a name stands for: the same with one dash, the only one that begins so, or
// the one that is spelled alike. It is empty where there is none.
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

// takenBy says what values a flag takes, and names one; the example is empty where a text says nothing more.
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

// exampleFor is a hint that shows how to type a flag; none where there is nothing to show.
func exampleFor(f *pflag.Flag) []string {
	_, example := takenBy(f)
	if example == "" {
		return nil
	}
	words := []string{"--" + f.Name, example}
	if f.NoOptDefVal != "" { // without a value it has one already
		words = []string{"--" + f.Name + "=" + example}
	}
	return []string{"for example: " + lab.ShellQuote(words)}
}

// exclusive refuses two flags that ask for two things at once.
func exclusive(c *cobra.Command, a, b string) error {
	if !c.Flags().Changed(a) || !c.Flags().Changed(b) {
		return nil
	}
	return app.Usage("--"+a+" and --"+b+" exclude each other", "leave out one of them")
}

// refuseSettled refuses flags with --resume that say what was settled when the run began.
func refuseSettled(c *cobra.Command, names ...string) error {
	if !c.Flags().Changed("resume") {
		return nil
	}
	for _, name := range names {
		if c.Flags().Changed(name) {
			return app.Usage("--"+name+" can't be changed when a run is resumed",
				"leave it out: the run says what was settled")
		}
	}
	return nil
}
