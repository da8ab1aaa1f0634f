//go:build system

package cli

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/ingesttest"
)

// Ten thousand documents are imported into one run.
func TestImportOfTenThousandDocuments(t *testing.T) {
	dir, folder := t.TempDir(), filepath.Join(t.TempDir(), "store")
	if err := ingesttest.NewDocuments(1).WriteFiles(dir, 10_000); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("headroom", "import", dir, "--store", folder).Output()
	if err != nil || !strings.Contains(string(out), "10000 repetitions") {
		t.Fatalf("imported %q: %v", out, err)
	}
	rows, err := store.Open(folder).List()
	if err != nil || len(rows) != 1 {
		t.Errorf("%d runs in the store, %v", len(rows), err)
	}
}
