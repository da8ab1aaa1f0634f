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

// argumentsNote is the annotation of commands that says what their arguments name: targets, or at which position a
// suite.
const argumentsNote = "arguments"

const (
	argumentsAreTargets = "targets"
	// argumentsAreFacts are two targets, then a suite.
	argumentsAreFacts = "facts"
	// argumentsAreSides are targets with --live or --layers, and runs without.
	argumentsAreSides = "sides"
)

// suiteAt notes which argument of a command is a suite.
func suiteAt(position int) map[string]string { return namedArguments(strconv.Itoa(position)) }

func namedArguments(arguments string) map[string]string {
	return map[string]string{argumentsNote: arguments}
}

// targetFlags are the flags that name targets.
func targetFlags() []string {
	return []string{"on", "event-on", "boot-on", "reboot", "reference-on", "guest"}
}

// configured puts what the configuration says into a command line: the addresses of targets and the files of suites in
// the place of their names, and the defaults of flags.
type configured struct{ app *app.App }

// apply changes the flags and arguments of a command. It needs no configuration where nothing is measured or read.
func (s configured) apply(c *cobra.Command, args []string) error {
	if c.Name() == "version" || c.Name() == "help" || strings.HasPrefix(c.Name(), "__") ||
		c.HasParent() && c.Parent().Name() == "completion" {
		return nil
	}
	if f := c.Flags().Lookup("label"); f != nil && c.Name() != "list" { // which looks for labels
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

// replaceNames puts addresses and files in the place of names. What was typed stays as the command of a run.
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

// applyDefault gives a flag the value that the configuration has for it, unless the command line or an experiment's
// file says another, or a saved run has it. What decides a result is added to the command that a run keeps, so that it
// gives the same result where the configuration is another.
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
		return nil // beside --margin METRIC=SHARE there is still the one for all others
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

// isGeneral says of a margin that it is that of all metrics without one of their own.
func isGeneral(margin string) bool { return !strings.Contains(margin, "=") }

// decides says whether a flag changes what comes out, rather than what is shown of it.
func decides(name string) bool { return name == config.Margin || name == config.Alpha }

// settledOtherwise says whether something more particular than the configuration says what a flag does.
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

// addToCommand adds a word to the command line as runs keep it, before the command of others where there is one.
func (s configured) addToCommand(word string) {
	end := slices.Index(s.app.Args, "--")
	if end < 0 {
		end = len(s.app.Args)
	}
	s.app.Args = slices.Insert(slices.Clone(s.app.Args), end, word)
}
