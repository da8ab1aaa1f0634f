package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/testing/golden"
)

// TestCommandsDoc keeps the page of all commands the same as the commands.
func TestCommandsDoc(t *testing.T) {
	golden.Equal(t, "../../docs/reference/commands.md", commandsPage(documentedRoot()))
}

// documentedRoot is the tree of commands as users see it, with the one that cobra adds.
func documentedRoot() *cobra.Command {
	a := app.New(app.Environment{Stdout: io.Discard, Stderr: io.Discard,
		Env: func(string) string { return "" }})
	root := wholeTree(a)
	root.InitDefaultCompletionCmd()
	return root
}

// wholeTree is the tree with all commands built.
func wholeTree(a *app.App) *cobra.Command {
	t := newCommandTree(a)
	t.buildAll(t.root)
	return t.root
}

// leastShared is in how many commands a flag means the same to be described once for all of them.
const leastShared = 3

// commandsDoc is the page of all commands.
type commandsDoc struct {
	strings.Builder
	shared *pflag.FlagSet
}

func commandsPage(root *cobra.Command) string {
	d := commandsDoc{shared: sharedFlags(root)}
	d.WriteString(`# Commands

All commands with their flags. ` + "`headroom COMMAND --help`" + ` and ` + "`man headroom-COMMAND`" + ` explain them with examples.
[Shared flags](#shared-flags) mean the same wherever a command has them.

This page is written from the commands in internal/cli.

## Exit codes

| code | meaning |
| --- | --- |
| 0 | done |
`)
	for _, e := range app.ExitCodes() {
		fmt.Fprintf(&d, "| %d | %s |\n", e.Code, e.Meaning)
	}
	d.WriteString("\n## Flags of all commands\n\n")
	d.table(root.PersistentFlags())
	d.WriteString("| `-h`, `--help` | | show the help of a command |\n\n## Shared flags\n\n")
	d.table(d.shared)
	for _, c := range manualCommands(root) {
		d.command(c)
	}
	return d.String()
}

// sharedFlags are those that mean the same in several commands. Of several meanings of a name the commonest is shared.
func sharedFlags(root *cobra.Command) *pflag.FlagSet {
	type meaning struct{ name, usage, value string }
	uses, example := map[meaning]int{}, map[string]*pflag.Flag{}
	of := func(f *pflag.Flag) meaning { return meaning{f.Name, f.Usage, f.DefValue} }
	var count func(c *cobra.Command)
	count = func(c *cobra.Command) {
		for _, f := range documentedFlags(c.LocalFlags()) {
			uses[of(f)]++
			if known := example[f.Name]; known == nil || uses[of(f)] > uses[of(known)] {
				example[f.Name] = f
			}
		}
		for _, sub := range manualCommands(c) {
			count(sub)
		}
	}
	for _, c := range manualCommands(root) {
		count(c)
	}
	shared := pflag.NewFlagSet("shared", pflag.ContinueOnError)
	for _, f := range example {
		if uses[of(f)] >= leastShared {
			shared.AddFlag(f)
		}
	}
	return shared
}

// command describes a command, then those below it.
func (d *commandsDoc) command(c *cobra.Command) {
	short := c.Short
	if !strings.HasSuffix(short, "?") {
		short += "."
	}
	fmt.Fprintf(d, "\n## %s\n\n%s\n\n```text\n%s\n```\n", c.CommandPath(), short, c.UseLine())
	var below, shared []string
	for _, sub := range manualCommands(c) {
		below = append(below, d.link(sub))
	}
	if len(below) > 0 {
		fmt.Fprintf(d, "\nCommands below it: %s.\n", strings.Join(below, ", "))
	}
	own := pflag.NewFlagSet("own", pflag.ContinueOnError)
	for _, f := range documentedFlags(c.LocalFlags()) {
		if s := d.shared.Lookup(f.Name); s != nil && s.Usage == f.Usage && s.DefValue == f.DefValue {
			shared = append(shared, "`--"+f.Name+"`")
			continue
		}
		own.AddFlag(f)
	}
	if own.HasFlags() {
		d.WriteString("\n")
		d.table(own)
	}
	if len(shared) > 0 {
		fmt.Fprintf(d, "\n[Shared flags](#shared-flags): %s.\n", strings.Join(shared, ", "))
	}
	if c.Name() == "completion" { // of each shell the same
		return
	}
	for _, sub := range manualCommands(c) {
		d.command(sub)
	}
}

// link names a command and leads to its section, if it has one.
func (d *commandsDoc) link(c *cobra.Command) string {
	if c.Parent().Name() == "completion" {
		return "`" + c.Name() + "`"
	}
	return fmt.Sprintf("[%s](#%s)", c.Name(), pageName(c))
}

// documentedFlags are those that a command's section has: not --help, which all have.
func documentedFlags(flags *pflag.FlagSet) (documented []*pflag.Flag) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Name != "help" {
			documented = append(documented, f)
		}
	})
	return documented
}

func (d *commandsDoc) table(flags *pflag.FlagSet) {
	d.WriteString("| flag | takes | what it does |\n| --- | --- | --- |\n")
	for _, f := range documentedFlags(flags) {
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		kind, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(d, "| %s | %s | %s%s |\n", name, valueKind(kind), tableText(usage), defaultOf(f))
	}
}

// valueKind is what a flag takes, in words rather than types of Go.
func valueKind(kind string) string {
	switch kind {
	case "string":
		return "text"
	case "stringArray", "strings":
		return "text, repeatable"
	case "int", "uint", "float":
		return "number"
	}
	return tableText(kind)
}

// defaultOf is a default that is a value; descriptions tell of others.
func defaultOf(f *pflag.Flag) string {
	switch value := cmp.Or(f.DefValue, "0"); value {
	case "0", "false", "[]", "0s":
		return ""
	default:
		return " (default `" + value + "`)"
	}
}

// tableText is a text for a cell of a Markdown table.
func tableText(text string) string {
	return strings.NewReplacer("|", `\|`, "*", `\*`, "<", "&lt;", "\n", " ").Replace(text)
}
