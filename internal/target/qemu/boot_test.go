package qemu

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A guest's console arrives character by character. A panic that is half written is not yet told.
func TestPanicIsReadWhole(t *testing.T) {
	dir := t.TempDir()
	console := filepath.Join(dir, consoleFile)
	write := func(text string) {
		if err := os.WriteFile(console, []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
	write("[    1.0] Kernel panic - not syncing: VFS: Una")
	log, err := os.Create(filepath.Join(dir, logFile))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p, err := startProcess([]string{"sleep", "60"}, dir, log, nil)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() {
		write("[    1.0] Kernel panic - not syncing: VFS: Unable to mount root fs\n[    1.0] Call Trace:\n")
		p.stop(stopGrace) // as the guest ends QEMU when it has said all
	})
	g := &Guest{dir: dir, process: p}
	if err := g.await(t.Context(), start{}); err == nil || err.Error() != "its kernel panicked: VFS: Unable to mount root fs" {
		t.Errorf("the panic is told as %v", err)
	}
	if said := g.lastWords(nil); !strings.HasSuffix(said, "Call Trace:") {
		t.Errorf("its last words are %q", said)
	}
}
