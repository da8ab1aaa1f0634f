package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/ulikunitz/xz"
	"golang.org/x/text/encoding/unicode"
)

// TestDoctorReadsPackedText checks that compressed text, and what PowerShell writes, says the same as the text.
func TestDoctorReadsPackedText(t *testing.T) {
	const text = "net.ipv4.tcp_window_scaling = 0\nvm.zone_reclaim_mode = 1\n"
	encoded, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	var zipped, packed bytes.Buffer
	z := gzip.NewWriter(&zipped)
	x, err := xz.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = z.Write([]byte(text))
	_, _ = x.Write([]byte(encoded))
	if z.Close() != nil || x.Close() != nil {
		t.Fatal("the text was not packed")
	}
	dir := t.TempDir()
	for name, data := range map[string]string{"sysctl.txt": text, "sysctl16.txt": encoded, "sysctl.gz": zipped.String(),
		"sysctl16.txt.xz": packed.String()} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command("headroom", "doctor", file).CombinedOutput()
		if err != nil && err.(*exec.ExitError).ExitCode() != 1 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		for _, want := range []string{"tcp_window_scaling=1", "zone_reclaim"} {
			if !strings.Contains(string(out), want) {
				t.Errorf("%s: no %s in\n%s", name, want, out)
			}
		}
	}
}
