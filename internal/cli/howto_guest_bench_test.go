//go:build bench && system && guests

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The commands of docs/howto/io-threads.md carried out with an emulated guest. UPDATE_GOLDEN=1 writes what they print
// into the page.
func TestHowToFindEnoughIOThreads(t *testing.T) {
	guest, images := iothreadsGuest(t), t.TempDir()
	v := newFixture(t)
	t.Chdir("../..")
	page := filepath.Join("docs", "howto", "io-threads.md")
	printed := howto{page: page, run: func(t *testing.T, line string) string {
		cmd := v.command(argumentsOf(strings.ReplaceAll(line, "qemu:guest.yaml", "qemu:"+guest))[1:]...)
		cmd.Env = append(os.Environ(), "TMPDIR="+images)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, errs.String())
		}
		return regexp.MustCompile(`\b[0-9A-Z]{4}\b( \(headroom| -o)`).ReplaceAllString(strings.ReplaceAll(string(out),
			guest, "guest.yaml"), "8JT9$1")
	}}.follow(t)
	if len(printed) != 2 || !strings.Contains(printed[0], "guest:iothreads") ||
		!strings.Contains(printed[1], "4 loads in common") {
		t.Errorf("%q", printed)
	}
	v.checkNothingLeft("after the sweep")
}
