package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// exitMeaning is an exit code and what it says.
type exitMeaning struct {
	kind    lab.Kind
	Code    int
	Meaning string
}

// ExitCodes is the one table of them. A code that is not in it means that the program was killed.
func ExitCodes() []exitMeaning {
	return []exitMeaning{
		{lab.Failure, 1, "failed"},
		{lab.Usage, 2, "the command line or an input file is wrong"},
		{lab.Gate, 3, "a gate was not met"},
		{lab.Refused, 4, "refused, because it would not be safe"},
		{lab.Undecided, 5, "undecided where a decision was asked for"},
		{lab.Cancelled, 130, "interrupted; what was finished is kept"},
	}
}

// ExitCode returns the exit code of a command that ended with an error, or with none.
func ExitCode(err error) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	if IsBrokenPipe(err) {
		return exitBrokenPipe
	}
	kind := lab.KindOf(err)
	if errors.Is(err, context.Canceled) {
		kind = lab.Cancelled
	}
	for _, e := range ExitCodes() {
		if e.kind == kind {
			return e.Code
		}
	}
	return 1
}

// PrintError prints an error and its details, as it does for each of several errors that were joined: what was tried
// again and failed again is reported once.
func (p *App) PrintError(err error) { errorPrinter{p.Stderr, p.OpenStore}.print(err) }

// errorPrinter prints errors, with hints that depend on the store.
type errorPrinter struct {
	out   io.Writer
	store func() (*store.Store, error)
}

func (p errorPrinter) print(err error) {
	said := map[string]bool{}
	for _, e := range separate(err) {
		if !said[e.Error()] {
			said[e.Error()] = true
			p.printOne(e)
		}
	}
}

// separate are the errors that were joined to one.
func separate(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, separate(e)...)
	}
	return all
}

func (p errorPrinter) printOne(err error) {
	// a name in it may have lines; they are none of ours
	fmt.Fprintln(p.out, "headroom: "+strings.ReplaceAll(err.Error(), "\n", "\n  "))
	var details []string
	if e, ok := errors.AsType[*lab.Error](err); ok {
		details = e.Details()
	}
	details = append(details, (&lab.Error{Hints: p.storeHints(err)}).Details()...)
	for _, line := range details {
		fmt.Fprintln(p.out, "  "+strings.ReplaceAll(line, "\n", "\n  "))
	}
}

// exitBrokenPipe is what shells report of a program that wrote to a pipe without a reader: 128 and the number of
// SIGPIPE.
const exitBrokenPipe = 128 + int(syscall.SIGPIPE)

// IsBrokenPipe reports whether the only fault is that the reader of standard output has gone, as in headroom export
// last | head.
func IsBrokenPipe(err error) bool {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(one error) bool { return !IsBrokenPipe(one) })
	case *fs.PathError:
		return e.Path == "/dev/stdout" && errors.Is(e.Err, syscall.EPIPE)
	case interface{ Unwrap() error }:
		return IsBrokenPipe(e.Unwrap())
	}
	return false
}

// What git bisect run reads in an exit status: 0 is good, 1 to 124 bad, 125 to be skipped, and from 128 on it stops.
const (
	StatusBad  = 1
	StatusSkip = 125
	statusStop = 129
)

// ExitError ends the command with a particular exit code; without an error nothing more is printed.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// StopBisect has an error end git bisect run, whatever its kind: it would take any other code for an answer.
func StopBisect(err error) error {
	if _, ok := errors.AsType[*ExitError](err); ok || err == nil || ExitCode(err) >= 128 {
		return err
	}
	return &ExitError{statusStop, err}
}
