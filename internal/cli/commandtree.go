package cli

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor/journal"
)

// commandTree is the root command with its subcommands. Each is an outline at first, enough to be found and listed: a
// command with all its flags is built only when a command line names it.
type commandTree struct {
	app      *app.App
	root     *cobra.Command
	outlines map[*cobra.Command]listed
}

func newCommandTree(a *app.App) *commandTree {
	t := &commandTree{a, newRootCommand(a), map[*cobra.Command]listed{}}
	for _, title := range commandGroups() {
		t.root.AddGroup(&cobra.Group{ID: title, Title: title})
	}
	t.outline(t.root, commands())
	return t
}

// outline adds outlines of commands below another.
func (t *commandTree) outline(above *cobra.Command, all []listed) {
	for _, l := range all {
		// Help lists runnable commands only.
		c := &cobra.Command{Use: l.name, RunE: func(*cobra.Command, []string) error { return nil }}
		t.describe(c, l)
		t.outlines[c] = l
		above.AddCommand(c)
	}
}

// describe gives a command its texts from the list.
func (t *commandTree) describe(c *cobra.Command, l listed) {
	c.Short, c.GroupID, c.Hidden = t.app.Naming.Text(l.short), l.group, l.hidden
	if l.alias != "" {
		c.Aliases = []string{l.alias}
	}
}

// build replaces the outline of a command by the command, with outlines of its subcommands.
func (t *commandTree) build(outline *cobra.Command) *cobra.Command {
	l, above := t.outlines[outline], outline.Parent()
	delete(t.outlines, outline)
	c := l.new(t.app)
	t.describe(c, l)
	c.Long, c.Example = t.app.Naming.Text(c.Long), t.app.Naming.Text(c.Example)
	if l.readOnly {
		exitOnInterrupt(c, &t.app.UnfinishedWork)
		for i := range l.below {
			l.below[i].readOnly = true
		}
	}
	waitForSettings(c, t.app.WaitForSetting)
	t.outline(c, l.below)
	above.RemoveCommand(outline)
	above.AddCommand(c)
	return c
}

// buildNamed builds the command that words name, and its parents; all commands for one that reads others.
func (t *commandTree) buildNamed(words []string) {
	for {
		c, _, _ := t.root.Find(words) // wrong words are reported when they are carried out
		l, isOutline := t.outlines[c]
		if isOutline {
			t.build(c)
		}
		if l.readsAll || c == t.root && slices.ContainsFunc(words, readsCommands) {
			t.buildAll(t.root)
		}
		if !isOutline {
			return
		}
	}
}

// readsCommands reports whether a word may name one of cobra's own commands that read all others.
func readsCommands(word string) bool {
	return word == "help" || strings.HasPrefix(word, cobra.ShellCompRequestCmd)
}

// buildAll builds all commands below another.
func (t *commandTree) buildAll(above *cobra.Command) {
	for _, c := range slices.Clone(above.Commands()) {
		if _, isOutline := t.outlines[c]; isOutline {
			c = t.build(c)
		}
		t.buildAll(c)
	}
}

// commandWords returns the arguments of the command line. The completion program gets only the words that it completes.
func commandWords(s app.Environment) []string {
	if filepath.Base(s.Args[0]) == app.CompletionFile {
		return append([]string{cobra.ShellCompRequestCmd}, s.Args[1:]...)
	}
	return s.Args[1:]
}

// pluginNaming returns the naming of the subcommands.
func pluginNaming(below []listed) app.Naming {
	names := []string{"--help"}
	for _, l := range below {
		names = append(names, regexp.QuoteMeta(l.name))
	}
	// The pattern does not match the end of a path. It includes the word before, so converted names stay unchanged.
	return app.Naming{Commands: regexp.MustCompile(`(^|[^-./\w])(?:kubectl )?headroom(\s+(?:` +
		strings.Join(names, "|") + `)\b)`)}
}

// waitForSettings makes a command with --wait restart once the run that holds one of its settings has ended, for which
// freed waits. It starts from the beginning because facts read earlier include that run's changes.
func waitForSettings(c *cobra.Command, freed func(context.Context, *journal.Held) error) {
	wait := c.Flags().Lookup("wait")
	if wait == nil {
		return
	}
	run := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		for {
			err := run(c, args)
			held, isHeld := errors.AsType[*journal.Held](err)
			if !isHeld || wait.Value.String() != "true" || held.Dead {
				return err
			}
			if err := freed(c.Context(), held); err != nil {
				return err
			}
		}
	}
}
