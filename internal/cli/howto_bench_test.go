//go:build bench && system

package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The commands of docs/howto/slow-port.md find the link that was planted, and what it costs. UPDATE_GOLDEN=1 writes
// what they print into the page.
func TestHowToFindASlowPort(t *testing.T) {
	t.Chdir("../..")
	h := twoLinks(t)
	h.must("tc", "-n", h.client, "qdisc", "change", "dev", "headroom1", "root", "tbf", "rate", "10mbit", "burst",
		"64kb", "latency", "50ms")
	printed := howto{page: filepath.Join("docs", "howto", "slow-port.md"), run: func(t *testing.T, line string) string {
		cmd := h.command(argumentsOf(line)[1:]...)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, errs.String())
		}
		return regexp.MustCompile(`\b[0-9A-Z]{4}\b( \(headroom| -o)`).ReplaceAllString(string(out), "8JT9$1")
	}}.follow(t)
	if len(printed) != 3 {
		t.Fatalf("%d commands", len(printed))
	}
	for i, want := range []string{"198.18.9.2", "headroom1", "second-link"} {
		if !strings.Contains(printed[i], want) {
			t.Errorf("command %d does not say %q:\n%s", i+1, want, printed[i])
		}
	}
}
