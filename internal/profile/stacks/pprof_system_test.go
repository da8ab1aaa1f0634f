//go:build system

package stacks

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// `go tool pprof` reads the file, and sorts functions by the time per thousand I/Os.
func TestGoToolPprof(t *testing.T) {
	var b bytes.Buffer
	if err := Pprof(&b, []Set{set()}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "run.pb.gz")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	top := func(more ...string) string {
		out, err := exec.CommandContext(t.Context(), "go",
			append(append([]string{"tool", "pprof"}, more...), "-top", name)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	text := top()
	read, irq := strings.Index(text, "vfs_read"), strings.Index(text, "nvme_irq")
	if !strings.Contains(text, "Type: "+PerThousand) || !strings.Contains(text, "1000us 66.67%") ||
		read < 0 || irq < read {
		t.Error(text)
	}
	if text := top("-tagfocus", "arm=lazy"); strings.Contains(text, "vfs_read") {
		t.Error(text)
	}
}
