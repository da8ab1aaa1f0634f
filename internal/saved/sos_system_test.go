//go:build system

package saved

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// TestSosReport makes a report of this machine with sos, and finds in it what the machine itself says. Of its adapters
// and disks the report has parts.
func TestSosReport(t *testing.T) {
	local := host.NewLocal(t.TempDir())
	if _, err := local.Run(t.Context(), "sos", "help"); err != nil {
		t.Skip("sos is not installed")
	}
	if os.Geteuid() != 0 {
		t.Skip("sos needs root")
	}
	snapshot := func() facts.Document {
		live, err := facts.SnapshotWithin(t.Context(), 30*time.Second, local, lab.Place{Kind: lab.NoPlace})
		if err != nil {
			t.Fatal(err)
		}
		return facts.Document{Facts: live}
	}
	before := snapshot()
	dir := t.TempDir()
	out, err := local.Run(t.Context(), "sos", "report", "--batch", "--tmp-dir", dir, "-o",
		"kernel,processor,memory,networking,filesys,pci,numa")
	if err != nil || out.ExitCode != 0 {
		t.Fatalf("%v %s", err, out.Stderr)
	}
	reports, err := filepath.Glob(filepath.Join(dir, "sosreport-*.tar.?z"))
	if err != nil || len(reports) != 1 {
		t.Fatalf("%q %v", reports, err)
	}
	m, err := Open(reports[0])
	if err != nil {
		t.Fatal(err)
	}
	d := factsOf(t, m)
	after := snapshot()
	for _, key := range []string{"kernel.release", "kernel.cmdline", "cpu.model", "cpu.threads", "memory.total",
		"net.window_scaling", "memory.swappiness", "vm.hypervisor"} {
		want, got := value(before, key, ""), value(d, key, "")
		if want == value(after, key, "") && want != got { // other tests change settings meanwhile
			t.Errorf("%s is %q in the report, %q on the machine", key, got, want)
		}
	}
	// What the report has of an adapter is what the machine says, or unknown.
	for _, f := range d.Facts {
		if !slices.Contains([]string{"nic.kind", "nic.pci.address", "nic.driver"}, f.Key) || f.Unknown != "" {
			continue
		}
		want := value(before, f.Key, f.About)
		if want != "" && want == value(after, f.Key, f.About) && want != f.Value {
			t.Errorf("%s of %s is %q in the report, %q on the machine", f.Key, f.About, f.Value, want)
		}
	}
}
