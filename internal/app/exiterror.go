package app

import (
	"errors"
)

// What git bisect run reads in an exit status: 0 is good, 1 to 124 bad, 125 to be skipped, and from 128 on it stops.
const (
	StatusBad  = 1
	StatusSkip = 125
	statusStop = 129
)

// ExitError ends the command with an exit code of its own; without an error nothing is left to be said.
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
