//go:build system

package cli

import (
	"os"
	"testing"
)

// forBench leaves a test to make bench. What it holds against a bound is a time, a rate or an amount of memory of this machine, which says
// as much about whatever else the machine does as about headroom.
func forBench(t *testing.T) {
	t.Helper()
	if os.Getenv("HEADROOM_BENCH") == "" {
		t.Skip("make bench measures it")
	}
}
