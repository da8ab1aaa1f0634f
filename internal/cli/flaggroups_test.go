package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

// A flag that is new to one of these commands must be put into a group, and one that no command has any more out of it.
func TestFlagsOfHelpAreInOneGroup(t *testing.T) {
	groupOf := map[string]string{}
	for _, g := range flagGroups() {
		for _, name := range g.flags {
			if other, ok := groupOf[name]; ok {
				t.Errorf("--%s is below %q and below %q", name, other, g.title)
			}
			groupOf[name] = g.title
		}
	}
	first := firstFlags()
	exists := map[string]bool{}
	for _, c := range commandsWithMany() {
		name, shown := calledBy(c), shownFlags(c)
		for _, flag := range shown {
			exists[flag] = true
			if _, ok := groupOf[flag]; !ok && flag != "help" {
				t.Errorf("%s: --%s is in no group of flagGroups", name, flag)
			}
		}
		if n := len(first[name]); n < 4 || n > 6 {
			t.Errorf("%s has many flags, and firstFlags names %d; name about five", name, n)
		}
		for _, flag := range first[name] {
			if !slices.Contains(shown, flag) {
				t.Errorf("firstFlags names --%s, which %s does not have", flag, name)
			}
		}
		delete(first, name)
	}
	for name := range first {
		t.Errorf("firstFlags names %q, which is no command with many flags", name)
	}
	for flag, title := range groupOf {
		if !exists[flag] {
			t.Errorf("--%s is below %q, and no command with many flags has it", flag, title)
		}
	}
}

// Headings change the order of the flags and nothing else: each is listed once, and those that are hidden are not.
func TestHelpUnderHeadingsListsEachFlagOnce(t *testing.T) {
	commands := commandsWithMany()
	for _, c := range commands {
		const hidden = "hidden"
		c.Flags().Bool(hidden, false, "a flag that help does not show")
		if err := c.Flags().MarkHidden(hidden); err != nil {
			t.Fatal(err)
		}
		plain := c.UsageString()
		grouped := groupFlags(c, plain)
		if !strings.Contains(grouped, "\n\nOutput:\n") || strings.Contains(grouped, "\n\nOther:\n") {
			t.Errorf("%s: not under the headings:\n%s", calledBy(c), grouped)
		}
		if strings.Contains(grouped, "--"+hidden) {
			t.Errorf("%s: --%s is hidden and listed:\n%s", calledBy(c), hidden, grouped)
		}
		if got, want := flagLines(grouped), flagLines(plain); !slices.Equal(got, want) {
			t.Errorf("%s lists\n%s\ninstead of\n%s", calledBy(c), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	if len(commands) == 0 {
		t.Error("no command has many flags")
	}
}

// flagLines are the lines of a help text that begin with a flag, sorted.
func flagLines(help string) []string {
	var found []string
	for line := range strings.Lines(help) {
		if beginsFlag().MatchString(line) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	slices.Sort(found)
	return found
}

// commandsWithMany are the commands whose help lists flags under headings.
func commandsWithMany() []*cobra.Command {
	a := app.New(app.Environment{Env: func(string) string { return "" }})
	var found []*cobra.Command
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		if len(shownFlags(c)) > maxUngroupedFlags {
			found = append(found, c)
		}
		for _, below := range c.Commands() {
			look(below)
		}
	}
	look(wholeTree(a))
	return found
}
