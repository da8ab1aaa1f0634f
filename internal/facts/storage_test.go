package facts

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"headroom/internal/facts/collect"
	"headroom/internal/facts/factstest"
	"headroom/internal/lab"
)

const drbd8 = `version: 8.4.11 (api:1/proto:86-101)
srcversion: 473968AD625BA317874A57E
 0: cs:SyncSource ro:Primary/Secondary ds:UpToDate/Inconsistent C r-----
    ns:1048576 nr:0 dw:1048576 dr:2121 al:8 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:30172998
 3: cs:Unconfigured
`

// snapshot collects what all collectors say of a saved machine, however long they take.
func snapshot(t *testing.T, m *factstest.Machine) []lab.Fact {
	t.Helper()
	var facts []lab.Fact
	for _, c := range Collectors() {
		in := collect.Scope{Place: lab.Place{Kind: lab.NoPlace}, Files: m.FS()}
		if c.Commands != nil {
			in.Printed = collect.RunCommands(t.Context(), m, c.Commands(in))
		}
		facts = append(facts, c.Collect(m.FS(), in)...)
	}
	return facts
}

// asUser is a saved machine seen by a user who is not root: configuration spaces end after 64 bytes.
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

// What is no disk is not described as one, and what is mounted over, mounted twice or made up by the kernel not as a
// mount.
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

func TestOnlySomeDrivesAreAsked(t *testing.T) {
	machine := factstest.NewTree()
	machine.File("/proc/self/status", "Uid:\t0\t0\t0\t0")
	machine.File("/usr/sbin/nvme", "")
	for i := range maxAsked + 2 {
		controller := fmt.Sprintf("/sys/devices/pci0000:00/0000:01:%02x.0/nvme/nvme%d", i%32, i)
		state := "live"
		if i == 3 {
			state = "resetting"
		}
		machine.File(controller+"/state", state)
		machine.File(controller+"/transport", "pcie")
		disk := fmt.Sprintf("nvme%dn1", i)
		machine.File(controller+"/"+disk+"/size", "100")
		machine.Link("/sys/class/block/"+disk, controller+"/"+disk)
		machine.Link(controller+"/"+disk+"/device", controller)
	}
	commands := nvmeCommands(collect.Scope{Files: machine})
	if len(commands) != 2*maxAsked {
		t.Errorf("%d commands for %d drives", len(commands), maxAsked+2)
	}
	facts := collectNVMe(machine, collect.Scope{Files: machine})
	if got := factstest.Said(facts, "disk.nvme.wear", "nvme3n1"); got != "unknown: its controller is resetting" {
		t.Errorf("%q", got)
	}
	refused := 0
	for _, f := range facts {
		if f.Key == "disk.nvme.wear" && strings.Contains(f.Unknown, "only the first") {
			refused++
		}
	}
	if refused != 1 {
		t.Errorf("%d drives are left out", refused)
	}
}

func TestGrain(t *testing.T) {
	for _, c := range []struct{ physical, minimum, optimal, want int64 }{
		{512, 512, 0, 512}, {4096, 4096, 0, 4096}, {512, 4096, 0, 4096}, {4096, 65536, 393216, 393216},
		{512, 512, 1 << 20, 1 << 20},
		{4096, 4096, 16773120, 4096}, {512, 512, 33553920, 512}, {4096, 4096, 1000, 4096}, {0, 0, 0, 512},
	} {
		if got := alignmentUnit(c.physical, c.minimum, c.optimal); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

func TestLVMKind(t *testing.T) {
	const id = "LVM-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZab"
	for _, c := range [][3]string{
		{id, "", "lvm"}, {id, id, "lvm"}, {id + "-tpool", id + "-tdata", "thin-pool"}, {id, id + "-tpool", "thin"},
		{id, id + "-cow", "snapshot"}, {id, id + "-real", "snapshot"}, {id, id + "-cdata", "cache"},
		{id + "-cow", "", "snapshot data"},
		{"CRYPT-VERITY-0a1b-root", "", "verity"}, {"CRYPT-LUKS2-0a1b-home", "", "crypt"},
		{"mpath-3600", "", "multipath"},
		{"part1-mpath-3600", "mpath-3600", "partition"}, {"", "", "dm"}, {"DMRAID-x", "", "dmraid"},
	} {
		machine := factstest.NewTree()
		for name, uuid := range map[string]string{"dm-0": c[0], "dm-1": c[1]} {
			dir := "/sys/devices/virtual/block/" + name
			machine.File(dir+"/dm/uuid", uuid)
			machine.Link("/sys/class/block/"+name, dir)
		}
		machine.Link("/sys/devices/virtual/block/dm-0/slaves/dm-1", "../../dm-1")
		s := newInventory(machine)
		if got := s.volumeKind(s.known.devices[0]).Value; got != c[2] {
			t.Errorf("%s on %s: %s, not %s", c[0], c[1], got, c[2])
		}
	}
}

func TestMultipathStates(t *testing.T) {
	for _, c := range []struct {
		table, status  string
		groups, active int
		policies       string
	}{
		{"1 queue_if_no_path 0 1 1 queue-length 0 2 1 8:16 1 8:32 1", "2 0 0 0 1 1 A 0 2 1 8:16 A 0 3 8:32 A 0 1",
			1, 2, "queue-length"},
		{"0 1 alua 2 1 service-time 0 1 2 8:16 1 1 round-robin 0 1 1 8:32 1000",
			"2 0 0 0 2 2 E 0 1 2 8:16 A 0 0 1 A 0 1 1 8:32 F 9 0", 2, 0,
			"service-time, round-robin"},
		// Nobody has read or written yet: the paths of the group that comes first are as good as in use.
		{"0 0 1 1 queue-length 0 2 1 8:0 128 8:16 128", "2 0 0 0 1 1 E 0 2 1 8:0 A 0 0 8:16 A 0 0",
			1, 2, "queue-length"},
		{"0 0 2 2 queue-length 0 1 1 8:0 1 queue-length 0 2 1 8:16 1 8:32 1",
			"2 0 0 0 2 2 E 0 1 1 8:0 A 0 0 E 0 2 1 8:16 A 0 0 8:32 F 1 0", 2, 1, "queue-length"},
		{"0 0 0 0", "2 0 0 0 0 0", 0, 0, ""},
	} {
		table, ok := parseMultipathTable(strings.Fields(c.table))
		if !ok || table.groups != c.groups || strings.Join(table.policies, ", ") != c.policies {
			t.Errorf("%s: %+v, %v", c.table, table, ok)
		}
		status, ok := parseMultipathStatus(strings.Fields(c.status))
		if !ok || status.active != c.active {
			t.Errorf("%s: %+v, %v", c.status, status, ok)
		}
	}
	for _, cut := range []string{"", "1", "0 0 2 1 rr 0 1 1 8:16", "0 0 -1 1", "x 0 1 1 rr 0 1 1 8:16 1"} {
		if m, ok := parseMultipathTable(strings.Fields(cut)); ok {
			t.Errorf("%q is understood: %+v", cut, m)
		}
	}
}

func TestDRBD8(t *testing.T) {
	got := parseDRBD8(drbd8)
	want := map[int]replica{0: {"Primary", "UpToDate", "SyncSource", "C"}, 3: {replication: "Unconfigured"}}
	if len(got) != 2 || got[0] != want[0] || got[3] != want[3] {
		t.Errorf("%+v", got)
	}
	if got := parseDRBD8("version: 9.2.12 (api:2/proto:118-122)\nTransports (api:21): tcp (9.2.12)\n"); len(got) != 0 {
		t.Errorf("%+v out of a version 9", got)
	}
}

func TestCrypt(t *testing.T) {
	for _, c := range []struct {
		params, cipher, flags string
		size                  int64
	}{
		{"aes-xts-plain64 0000 0 8:2 4096", "aes-xts-plain64", "", 512},
		{"capi:xts(aes)-plain64 :64:logon:k 0 8:2 4096 2 same_cpu_crypt sector_size:4096", "capi:xts(aes)-plain64",
			"same_cpu_crypt", 4096},
		{"aes-xts-plain64 0000 0 8:2 4096 0", "aes-xts-plain64", "", 512},
	} {
		got, ok := parseCrypt(strings.Fields(c.params))
		if !ok || got.cipher != c.cipher || strings.Join(got.flags, ", ") != c.flags || got.sectorSize != c.size {
			t.Errorf("%s: %+v, %v", c.params, got, ok)
		}
	}
	for _, bad := range []string{"", "aes 00 0 8:2", "aes 00 0 8:2 0 9 x", "aes 00 0 8:2 0 1 sector_size:x"} {
		if got, ok := parseCrypt(strings.Fields(bad)); ok {
			t.Errorf("%q is understood: %+v", bad, got)
		}
	}
}

func TestStripes(t *testing.T) {
	for text, want := range map[string]int{
		"a: 0 1 linear 8:0 0": 1, "a: 0 1 striped 4 128 8:0 0 8:16 0": 4,
		"a: 0 1 striped 4 128\na: 1 1 linear 8:0 0": 1,
		"a: 0 1 raid raid1 3":                       0, "a: 0 1 striped": 0,
	} {
		if got := stripes(parseTargets(text)["a"]); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestBetterFormat(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"flbas":0,"nlbaf":1,"lbafs":[{"ms":0,"ds":9,"rp":2},{"ms":0,"ds":12,"rp":0}]}`, "4096+0"},
		{`{"flbas":0,"nlbaf":1,"lbafs":[{"ms":0,"ds":9,"rp":0},{"ms":0,"ds":12,"rp":0}]}`, ""},
		{`{"flbas":0,"nlbaf":1,"lbafs":[{"ms":0,"ds":9,"rp":2},{"ms":8,"ds":12,"rp":0}]}`, ""},
		{`{"flbas":1,"nlbaf":2,"lbafs":[{"ms":0,"ds":0,"rp":0},{"ms":0,"ds":9,"rp":1},{"ms":0,"ds":12,"rp":0}]}`,
			"4096+0"},
	} {
		formats, current, err := parseFormats([]byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if f, ok := betterFormat(formats, current); ok {
			got = f.String()
		}
		if got != c.want {
			t.Errorf("%s: %q", c.text, got)
		}
	}
	for _, bad := range []string{"", "{}", `{"flbas":3,"lbafs":[{"ds":9}]}`, `{"flbas":0,"lbafs":[{"ds":99}]}`} {
		if f, _, err := parseFormats([]byte(bad)); err == nil {
			t.Errorf("%q is understood: %+v", bad, f)
		}
	}
}

// A function that sleeps is left asleep, and a width of 63 lanes is no width.
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
