package factstest

import (
	"context"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Run returns the output of a command on this machine.
func Run(t testing.TB, local *host.Local, argv ...string) string {
	t.Helper()
	out, err := local.Run(t.Context(), argv...)
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("%s: %v %s", lab.ShellQuote(argv), err, out.Stderr)
	}
	return strings.TrimSpace(string(out.Stdout))
}

// Cleanup runs after the test's own context is cancelled.
func Cleanup(t testing.TB, local *host.Local, argv ...string) {
	t.Helper()
	out, err := local.Run(context.WithoutCancel(t.Context()), argv...)
	if err != nil || out.ExitCode != 0 {
		t.Errorf("%s: %v %s", lab.ShellQuote(argv), err, out.Stderr)
	}
}
