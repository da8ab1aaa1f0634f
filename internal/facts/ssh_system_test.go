//go:build system

package facts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// Every collector also ends over ssh; how fast depends on the machine.
func TestAllCollectorsAnswerOverSSH(t *testing.T) {
	host := host.NewSSH(sshtest.Start(t).Options(""))
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	found, err := facts.SnapshotWithin(t.Context(), 5*time.Minute, host, lab.Place{})
	if err != nil || len(found) < 50 {
		t.Fatalf("%d facts, %v", len(found), err)
	}
	for _, f := range found {
		if strings.HasPrefix(f.Key, "collector.") {
			t.Errorf("%s: %s", f.Key, f.Unknown)
		}
	}
}
