package cli

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
)

// argumentsNote is the annotation of commands that describes their arguments: targets, or the position of a suite.
const argumentsNote = "arguments"

const (
	argumentsAreTargets = "targets"
	// argumentsAreFacts are two targets, then a suite.
	argumentsAreFacts = "facts"
	// argumentsAreSides are targets with --live or --layers, and runs without.
	argumentsAreSides = "sides"
)

// suiteAt returns the annotation of a command with a suite at a position.
func suiteAt(position int) map[string]string { return namedArguments(strconv.Itoa(position)) }

func namedArguments(arguments string) map[string]string {
	return map[string]string{argumentsNote: arguments}
}

// targetFlags returns the flags that name targets.
func targetFlags() []string {
	return []string{"on", "event-on", "boot-on", "reboot", "reference-on", "guest"}
}

// configured applies the configuration to a command line: it replaces names by addresses of targets and files of
// suites, and sets the defaults of flags.
type configured struct{ app *app.App }

// apply changes the flags and arguments of a command. It needs no configuration if nothing is measured or read.
func (s configured) apply(c *cobra.Command, args []string) error {
	if c.Name() == "version" || c.Name() == "help" || strings.HasPrefix(c.Name(), "__") ||
		c.HasParent() && c.Parent().Name() == "completion" {
		return nil
	}
	if f := c.Flags().Lookup("label"); f != nil && c.Name() != "list" { // the flag of list searches labels
		if err := store.CheckLabel(f.Value.String()); err != nil {
			return err
		}
	}
	settings, _, err := s.app.Config()
	if err != nil {
		return err
	}
	if err := s.replaceNames(c, args); err != nil {
		return err
	}
	for _, k := range config.Keys() {
		if v, set := settings.Values[k.Name]; set && k.OfFlags {
			if err := s.applyDefault(c, args, k.Name, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// replaceNames replaces names by addresses and files. The command of a run keeps the words as typed.
func (s configured) replaceNames(c *cobra.Command, args []string) (err error) {
	for _, name := range targetFlags() {
		if f := c.Flags().Lookup(name); f != nil && f.Changed {
			if err := replaceValues(f, s.app.NamedTarget); err != nil {
				return err
			}
		}
	}
	if f := c.Flags().Lookup("suite"); f != nil && f.Changed {
		file, err := s.app.SuiteFile(f.Value.String())
		if err != nil {
			return err
		}
		if err := f.Value.Set(file); err != nil {
			return err
		}
	}
	switch names := c.Annotations[argumentsNote]; names {
	case "":
	case argumentsAreSides:
		if c.Flags().Changed("live") || c.Flags().Changed("layers") {
			s.replaceTargets(args)
		}
	case argumentsAreTargets:
		s.replaceTargets(args)
	case argumentsAreFacts:
		s.replaceTargets(args[:min(2, len(args))])
		if len(args) > 2 {
			args[2], err = s.app.SuiteFile(args[2])
		}
	default:
		if i, _ := strconv.Atoi(names); i < len(args) {
			args[i], err = s.app.SuiteFile(args[i])
		}
	}
	return err
}

func (s configured) replaceTargets(args []string) {
	for i, typed := range args {
		args[i] = s.app.NamedTarget(typed)
	}
}

// replaceValues changes the values of a flag that was given.
func replaceValues(f *pflag.Flag, change func(string) string) error {
	list, several := f.Value.(pflag.SliceValue)
	if !several {
		return f.Value.Set(change(f.Value.String()))
	}
	values := list.GetSlice()
	for i := range values {
		values[i] = change(values[i])
	}
	return list.Replace(values)
}

// applyDefault gives a flag its configured value, unless the command line, an experiment's file or a saved run has one.
// A value that affects the result is added to the command that a run saves, so the command gives the same result with
// another configuration.
func (s configured) applyDefault(c *cobra.Command, args []string, name string, v config.Value) error {
	f := c.Flags().Lookup(name)
	if f == nil || settledOtherwise(c, args, name) {
		return nil
	}
	text := v.Text
	if share, err := unit.ParseShare(text); err == nil && f.Value.Type() == "float64" {
		text = strconv.FormatFloat(share, 'g', -1, 64)
	}
	list, several := f.Value.(pflag.SliceValue)
	switch {
	case several && slices.ContainsFunc(list.GetSlice(), isGeneral):
		return nil // --margin METRIC=SHARE leaves room for the margin of all other metrics
	case several:
		if err := list.Replace(append([]string{text}, list.GetSlice()...)); err != nil {
			return err
		}
	case f.Changed:
		return nil
	default:
		if err := f.Value.Set(text); err != nil {
			return fmt.Errorf("--%s from %s: %w", name, v.Origin, err)
		}
	}
	if decides(name) {
		s.addToCommand("--" + name + "=" + text)
	}
	return nil
}

// isGeneral reports whether a margin applies to all metrics without a separate margin.
func isGeneral(margin string) bool { return !strings.Contains(margin, "=") }

// decides reports whether a flag changes the result, rather than its presentation.
func decides(name string) bool { return name == config.Margin || name == config.Alpha }

// settledOtherwise reports whether a source that precedes the configuration sets a flag.
func settledOtherwise(c *cobra.Command, args []string, name string) bool {
	if !decides(name) {
		return false
	}
	for _, of := range []string{"resume", "show", "layers"} {
		if c.Flags().Changed(of) {
			return true
		}
	}
	return vary.FileSets(args, name)
}

// addToCommand adds a word to the command line that runs save, before the arguments after "--", if any.
func (s configured) addToCommand(word string) {
	end := slices.Index(s.app.Args, "--")
	if end < 0 {
		end = len(s.app.Args)
	}
	s.app.Args = slices.Insert(slices.Clone(s.app.Args), end, word)
}
