package app

import (
	"fmt"
	"io"
)

// DryRun is how much a command lists of what it would do instead of doing it. It is empty if the command does it.
type DryRun string

const (
	InShort DryRun = "short"
	InFull  DryRun = "full"
)

// EveryCommand is the end of the help of most.
const EveryCommand = "; =full lists every command"

func (d *DryRun) String() string { return string(*d) }

// Type is how help names the value.
func (d *DryRun) Type() string { return "short|full" }

// Set takes what a flag without a value takes, too.
func (d *DryRun) Set(text string) error {
	switch text {
	case string(InShort), string(InFull):
		*d = DryRun(text)
	case "true":
		*d = InShort
	case "false":
		*d = ""
	default:
		return fmt.Errorf("it is short or full")
	}
	return nil
}

// Asked reports whether the command only lists what it would do.
func (d DryRun) Asked() bool { return d != "" }

// Listing is what a dry run prints: a summary, and where all is asked for every command.
type Listing struct {
	out, hints io.Writer
	Full       bool
}

// Listing is what a dry run prints on.
func (p *App) Listing(d DryRun) Listing { return Listing{p.Stdout, p.Stderr, d == InFull} }

// Line prints a line of the summary.
func (l Listing) Line(format string, a ...any) { fmt.Fprintf(l.out, format+"\n", a...) }

// Each prints lines of the summary below one.
func (l Listing) Each(lines []string) {
	for _, text := range lines {
		fmt.Fprintln(l.out, "  "+text)
	}
}

// Commands prints what stands below a line where all is asked for.
func (l Listing) Commands(lines ...string) {
	if l.Full {
		l.Each(lines)
	}
}

// End prints how to get the rest.
func (l Listing) End() error {
	if !l.Full {
		fmt.Fprintln(l.hints, "  --dry-run=full lists every command")
	}
	return nil
}
