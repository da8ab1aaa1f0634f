package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

// newManCommand returns the command that writes the manual pages, which packages install.
func newManCommand(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "man DIR",
		Example: "  headroom man /usr/local/share/man/man1",
		Args:    argumentCount(1, 1, "a folder"),
		RunE: func(c *cobra.Command, args []string) error {
			c.Root().InitDefaultCompletionCmd()
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return err
			}
			return writeManuals(c.Root(), args[0], versionOf(a.Environment))
		},
	}
}

// writeManuals writes the pages of a command and its subcommands.
func writeManuals(c *cobra.Command, dir string, build versionDocument) error {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	text := manualPage(c, build.Version, build.Date)
	if err := os.WriteFile(filepath.Join(dir, pageName(c)+".1"), []byte(text), 0o644); err != nil {
		return err
	}
	for _, sub := range manualCommands(c) {
		if err := writeManuals(sub, dir, build); err != nil {
			return err
		}
	}
	return nil
}

// manualCommands returns the subcommands that have pages.
func manualCommands(c *cobra.Command) []*cobra.Command {
	var shown []*cobra.Command
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			shown = append(shown, sub)
		}
	}
	return shown
}

// pageName returns the name of a page for man(1): headroom-bisect-facts, which it also finds as "headroom bisect
// facts".
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manualPage returns the page of a command in the macros of man(7), from its help.
func manualPage(c *cobra.Command, version, date string) string {
	day, _, _ := strings.Cut(date, "T")
	m := manual{}
	fmt.Fprintf(&m, ".TH %s 1 %q %q \"headroom manual\"\n", roff(strings.ToUpper(pageName(c))), day,
		"headroom "+version)
	m.WriteString(".nh\n.ad l\n") // words are not hyphenated: a hyphenated flag can't be copied
	m.heading("NAME")
	m.WriteString(roff(pageName(c)) + ` \- ` + roff(c.Short) + "\n") // the form that lexgrog(1) expects
	m.heading("SYNOPSIS")
	m.synopsis(c)
	m.heading("DESCRIPTION")
	m.prose(description(c))
	m.commands(c)
	m.options(c)
	if c.Example != "" {
		m.heading("EXAMPLES")
		m.literal(c.Example)
	}
	m.exitStatus(c)
	if !c.HasParent() {
		m.surroundings()
	}
	m.seeAlso(c)
	return m.String()
}

func description(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short + "."
}
