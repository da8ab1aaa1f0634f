//go:build system || guests

package bootloader

import (
	"os/exec"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func run(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", lab.ShellQuote(argv), err, out)
	}
	return string(out)
}

func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip(p + " is not installed")
		}
	}
}
