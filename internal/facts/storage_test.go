package facts

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

// snapshot collects the facts of all collectors for a saved machine, however long they take.
func snapshot(t *testing.T, m *factstest.Machine) []lab.Fact {
	t.Helper()
	var facts []lab.Fact
	for _, c := range Collectors() {
		in := collect.Scope{Place: lab.Place{Kind: lab.NoPlace}, Files: m.FS()}
		if c.Commands != nil {
			in.Printed = collect.RunCommands(t.Context(), m, c.Commands(in))
		}
		facts = append(facts, c.Collect(collect.Reader{FS: m.FS()}, in)...)
	}
	return facts
}

// asUser returns a saved machine as seen by a user who is not root: configuration spaces end after 64 bytes.
func asUser(m *factstest.Machine) *factstest.Machine {
	m.Files["proc/self/status"] = &fstest.MapFile{Data: []byte("Name:\theadroom\nUid:\t1000\t1000\t1000\t1000\n")}
	for name, f := range m.Files {
		if strings.HasSuffix(name, "/config") {
			m.Files[name] = &fstest.MapFile{Data: f.Data[:64]}
		}
	}
	m.Printed = map[string]string{}
	return m
}

func TestStorageWithoutRoot(t *testing.T) {
	facts := snapshot(t, asUser(factstest.Saved(t, "storage")))
	for _, c := range [][2]string{
		{"pci.payload", "0000:83:00.0"}, {"pci.aspm", "0000:83:00.0"}, {"volume.dm.table", "dm-0"},
		{"volume.crypt.flags", "dm-0"},
		{"multipath.active", "dm-2"}, {"volume.drbd.role", "drbd0"}, {"disk.nvme.wear", "nvme0n1"},
		{"disk.nvme.formats", "nvme0n1"},
	} {
		if got := factstest.Said(facts, c[0], c[1]); !strings.Contains(got, "root may read it") {
			t.Errorf("%s of %s: %q", c[0], c[1], got)
		}
	}
	for _, c := range [][3]string{
		{"disk.nvme.format", "nvme0n1", "512+0"}, {"disk.nvme.temperature", "nvme0n1", "38.85"},
		{"volume.kind", "dm-4", "thin"},
		{"multipath.paths", "dm-2", "2"}, {"volume.md.level", "md127", "raid10"},
		{"pci.link.width", "0000:81:00.0", "8"},
	} {
		if got := factstest.Said(facts, c[0], c[1]); got != c[2] {
			t.Errorf("%s of %s: %q", c[0], c[1], got)
		}
	}
}

func TestStorageWithoutTools(t *testing.T) {
	m := factstest.Saved(t, "storage")
	for _, tool := range []string{"nvme", "dmsetup", "drbdsetup"} {
		delete(m.Files, "usr/sbin/"+tool)
	}
	facts := snapshot(t, m)
	for _, c := range [][3]string{
		{"disk.nvme.wear", "nvme0n1", "unknown: nvme-cli is not installed"},
		{"volume.dm.table", "dm-0", "unknown: dmsetup is not installed"},
		{"volume.drbd.disk", "drbd0", "unknown: drbd-utils is not installed"},
	} {
		if got := factstest.Said(facts, c[0], c[1]); got != c[2] {
			t.Errorf("%s of %s: %q", c[0], c[1], got)
		}
	}
}

// Only disks are described as disks. Mounts that are covered, repeated or made up by the kernel are omitted.
func TestWhatIsLeftOut(t *testing.T) {
	facts := snapshot(t, factstest.Saved(t, "storage"))
	for _, c := range [][2]string{
		{"disk.name", "loop0"}, {"disk.name", "loop1"}, {"disk.name", "zram0"}, {"disk.name", "ram0"},
		{"disk.name", "nvme4c4n1"},
		{"disk.name", "dm-0"}, {"disk.name", "md127"}, {"disk.name", "sda1"}, {"volume.name", "loop0"},
		{"mount.type", "/var/lib/images"},
		{"mount.type", "/run"}, {"mount.type", "/sys"}, {"mount.type", "/var/lib/docker/overlay2/x/merged"},
		{"pci.class", "0000:02:00.2"},
	} {
		if got := factstest.Said(facts, c[0], c[1]); got != "" {
			t.Errorf("%s of %s is there: %q", c[0], c[1], got)
		}
	}
	if got := factstest.Said(snapshot(t, factstest.Saved(t, "stacked")), "mount.type", "/data/scratch"); got != "" {
		t.Errorf("a mount that another hides is there: %q", got)
	}
}

// A suspended function is not woken, and a width of 63 lanes is not reported.
func TestSleepingFunctionsAreNotWoken(t *testing.T) {
	m := factstest.Saved(t, "storage")
	const address, dead = "0000:83:00.0", "0000:81:00.0"
	dir := "sys/bus/pci/devices/"
	real := func(address string) string {
		full, err := collect.Reader{FS: m.FS()}.Resolve("/" + dir + address)
		if err != nil {
			t.Fatal(err)
		}
		return collect.PathInFS(full)
	}
	m.Files[real(address)+"/power/runtime_status"] = &fstest.MapFile{Data: []byte("suspended\n")}
	m.Files[real(dead)+"/current_link_width"] = &fstest.MapFile{Data: []byte("63\n")}
	facts := snapshot(t, m)
	for _, key := range []string{"pci.link.speed", "pci.link.max_width", "pci.payload", "pci.aspm"} {
		if got := factstest.Said(facts, key, address); !strings.Contains(got, "would wake it") {
			t.Errorf("%s: %q", key, got)
		}
	}
	if got := factstest.Said(facts, "pci.link.width", dead); !strings.Contains(got, "does not answer") {
		t.Errorf("width: %q", got)
	}
	if got := factstest.Said(facts, "pci.id", address); strings.HasPrefix(got, "unknown") || got == "" {
		t.Errorf("pci.id: %q", got)
	}
}
