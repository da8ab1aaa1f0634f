package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// dryRun is how much a command lists of what it would do instead of doing it. It is empty where the command is to do
// it.
type dryRun string

const (
	inShort dryRun = "short"
	inFull  dryRun = "full"
)

// everyCommand is the end of the help of most.
const everyCommand = "; =full lists every command"

// dryRunFlag adds --dry-run, which is short where it has no value.
func dryRunFlag(c *cobra.Command, d *dryRun, usage string) {
	c.Flags().Var(d, "dry-run", usage)
	c.Flags().Lookup("dry-run").NoOptDefVal = string(inShort)
	completeFlag(c, "dry-run", func() []string { return []string{string(inShort), string(inFull)} })
}

func (d *dryRun) String() string { return string(*d) }

// Type is how help names the value.
func (d *dryRun) Type() string { return "short|full" }

// Set takes what a flag without a value takes, too.
func (d *dryRun) Set(text string) error {
	switch text {
	case string(inShort), string(inFull):
		*d = dryRun(text)
	case "true":
		*d = inShort
	case "false":
		*d = ""
	default:
		return fmt.Errorf("it is short or full")
	}
	return nil
}

func (d dryRun) asked() bool { return d != "" }

// listing is what a dry run prints: a summary, and where all is asked for every command.
type listing struct {
	out, hints io.Writer
	full       bool
}

func (p *program) listing(d dryRun) listing { return listing{p.Stdout, p.Stderr, d == inFull} }

// line prints a line of the summary.
func (l listing) line(format string, a ...any) { fmt.Fprintf(l.out, format+"\n", a...) }

// each prints lines of the summary below one.
func (l listing) each(lines []string) {
	for _, text := range lines {
		fmt.Fprintln(l.out, "  "+text)
	}
}

// commands prints what stands below a line where all is asked for.
func (l listing) commands(lines ...string) {
	if l.full {
		l.each(lines)
	}
}

// end says where the rest is.
func (l listing) end() error {
	if !l.full {
		fmt.Fprintln(l.hints, "  --dry-run=full lists every command")
	}
	return nil
}
