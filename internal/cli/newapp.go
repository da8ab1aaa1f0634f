package cli

import "headroom/internal/visible"

// newProgram is the app of one command line.
func newProgram(e Environment) *program {
	return &program{Environment: e, key: visible.NewKey(), rawStdout: e.Stdout}
}
