package lab

import (
	"errors"
	"strings"
)

// Kind of an error. It decides the exit code and nothing else; package cli has the only table.
type Kind int

// The kinds. Failure is the zero value: an error that was not classified is a failure.
const (
	Failure   Kind = iota // something that should have worked did not
	Usage                 // the command line or an input file is wrong
	Gate                  // a condition that the user set was not met
	Refused               // it would have been unsafe
	Undecided             // a decision was asked for and could not be made
	Cancelled             // the user stopped it
)

// Error describes what failed, where, and what to try. It prints on several lines: the fault, then the failed command
// if there is one, its output, and the hints.
type Error struct {
	Kind Kind
	// What failed, in lower case without a full stop: "/dev/sdb is not empty: it holds an ext4 file system".
	What string
	// Target where it failed; empty for this machine.
	Target string
	// Command that failed, one element an argument.
	Command []string
	// Output of the command. Only the two ends of a long output are printed.
	Output string
	// Hints are suggestions what to try, one sentence each.
	Hints []string
	// Err is the cause.
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.What)
	if e.Target != "" {
		b.WriteString(" on " + e.Target)
	}
	if e.Err != nil {
		if b.Len() > 0 {
			b.WriteString(": ")
		}
		b.WriteString(e.Err.Error())
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Details returns the lines to print below the error: the command, quoted so that it can be pasted, its output, the
// hints.
func (e *Error) Details() []string {
	var lines []string
	if len(e.Command) > 0 {
		lines = append(lines, "command: "+ShellQuote(e.Command))
	}
	if out := strings.TrimSpace(Shorten(e.Output, endOfOutput, endOfOutput)); out != "" {
		lines = append(lines, "output:  "+strings.ReplaceAll(out, "\n", "\n         "))
	}
	for _, h := range e.Hints {
		lines = append(lines, "hint:    "+h)
	}
	return lines
}

// KindOf returns the kind of the first Error in the chain of err, or Failure.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return Failure
}

// ShellQuote renders an argument vector as a line that a POSIX shell reads back to the same arguments. It is for
// people to read and paste; headroom itself never gives a line to a shell.
func ShellQuote(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = quote(a)
	}
	return strings.Join(quoted, " ")
}

func quote(a string) string {
	plain := a != ""
	for _, r := range a {
		if !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:=,%@+", r)) {
			plain = false
			break
		}
	}
	if plain {
		return a
	}
	return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
}
