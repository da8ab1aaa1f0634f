package storage

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

const drbd8 = `version: 8.4.11 (api:1/proto:86-101)
srcversion: 473968AD625BA317874A57E
 0: cs:SyncSource ro:Primary/Secondary ds:UpToDate/Inconsistent C r-----
    ns:1048576 nr:0 dw:1048576 dr:2121 al:8 bm:0 lo:0 pe:0 ua:0 ap:0 ep:1 wo:f oos:30172998
 3: cs:Unconfigured
`

func TestOnlySomeDrivesAreAsked(t *testing.T) {
	machine := collect.NewTree()
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
	commands := NVMeCommands(collect.Scope{Files: machine})
	if len(commands) != 2*maxAsked {
		t.Errorf("%d commands for %d drives", len(commands), maxAsked+2)
	}
	facts := CollectNVMe(collect.Reader{FS: machine}, collect.Scope{Files: machine})
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
		machine := collect.NewTree()
		for name, uuid := range map[string]string{"dm-0": c[0], "dm-1": c[1]} {
			dir := "/sys/devices/virtual/block/" + name
			machine.File(dir+"/dm/uuid", uuid)
			machine.Link("/sys/class/block/"+name, dir)
		}
		machine.Link("/sys/devices/virtual/block/dm-0/slaves/dm-1", "../../dm-1")
		s := newInventory(collect.Reader{FS: machine})
		if got := s.known.devices[0].volumeKind(s.Reader).Value; got != c[2] {
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

// FuzzWear reads what the two tools print, each with the other's parser, too.
func FuzzWear(f *testing.F) {
	n := 0
	for _, m := range factstest.Machines(f) {
		for command, text := range m.Printed {
			if strings.HasPrefix(command, "nvme") || strings.HasPrefix(command, "smartctl") {
				f.Add([]byte(text))
				n++
			}
		}
	}
	if n < 2 {
		f.Fatal("a tool's output is missing from the saved machines")
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parse := range []func([]byte) (Wear, error){parseSmartLog, parseSmartctl} {
			w, err := parse(data)
			if err == nil && (w.Used < 0 || w.Written < 0 || w.Rated < 0 || math.IsNaN(w.Used)) {
				t.Errorf("%+v", w)
			}
		}
	})
}

func FuzzSpace(f *testing.F) {
	n := 0
	for _, m := range factstest.Machines(f) {
		for command, text := range m.Printed {
			if strings.HasPrefix(command, "stat ") {
				f.Add(text)
				n++
			}
		}
	}
	if n == 0 {
		f.Fatal("no saved machine shows what stat prints")
	}
	f.Add("stat: cannot read file system information")
	f.Add("4096 9223372036854775807 1 1 1 1")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSpace(collect.Printed{Stdout: text})
		if err == nil && (s.Total < 0 || s.Free < 0 || s.Available < 0) {
			t.Errorf("%q gives %+v", text, s)
		}
	})
}

// The boot partitions of eMMC lie in the folder of the disk but are no part of it.
func TestBootPartitionsAreNotMisaligned(t *testing.T) {
	const dir = "/sys/devices/platform/mmc/mmc_host/mmc0/mmc0:0001/block/mmcblk0"
	f := factstest.TextFiles(map[string]string{dir + "/size": "61071360\n",
		dir + "/queue/physical_block_size": "4096\n",
		dir + "/mmcblk0p1/start":           "8191\n", dir + "/mmcblk0p1/partition": "1\n",
		dir + "/mmcblk0boot0/size": "8192\n"})
	for _, name := range []string{"", "/mmcblk0p1", "/mmcblk0boot0"} {
		full := dir + name
		link := Class(full[strings.LastIndexByte(full, '/')+1:])
		f[collect.PathInFS(link)] = &fstest.MapFile{Data: []byte("../.." + strings.TrimPrefix(full, "/sys")),
			Mode: fs.ModeSymlink}
	}
	all := CollectAllDisks(collect.Reader{FS: f}, collect.Scope{}, nil)
	if got := factstest.Said(all, "disk.partitions.misaligned", "mmcblk0"); got != "mmcblk0p1" {
		t.Errorf("misaligned: %q", got)
	}
}

func TestFree(t *testing.T) {
	m := factstest.Saved(t, "stacked")
	space, err := Free(t.Context(), m, "/data/scratch")
	if want := (Space{523776000 * 4096, 400000000 * 4096, 400000000 * 4096, 209715200, 209700000}); err != nil ||
		space != want {
		t.Errorf("%+v, %v", space, err)
	}
	if _, err := Free(t.Context(), m, "/elsewhere"); err == nil || !strings.Contains(err.Error(), "how much room") {
		t.Errorf("no proper error: %v", err)
	}
}

// A local disk in a folder of a server can't be asked for its size without asking the server first.
func TestMountsBelowAServerAreNotAsked(t *testing.T) {
	mounts := dataMounts(collect.ParseMounts([]byte(`20 1 0:20 / / rw - nfs4 files:/root rw
21 20 8:1 / /scratch rw - ext4 /dev/sda1 rw
22 20 0:30 / /net rw - nfs4 files:/net rw
23 22 8:2 / /net/disk rw - ext4 /dev/sda2 rw
24 23 8:3 / /net/disk/more rw - xfs /dev/sda3 rw
25 20 0:31 / /auto rw - autofs systemd-1 rw
26 25 8:4 / /auto rw - vfat /dev/sda4 rw
`)))
	got := strings.Join(spacesCommand(mounts)[4:], " ")
	if want := "/scratch /auto"; got != want {
		t.Errorf("asked are %s, want %s", got, want)
	}
	for _, m := range mounts {
		if want := strings.HasPrefix(m.Point, "/net/"); (m.Under == "nfs4") != want {
			t.Errorf("%s lies under %q", m.Point, m.Under)
		}
	}
}

func TestQueues(t *testing.T) {
	for _, c := range []struct{ machine, device, want string }{
		{"stacked", "/dev/dm-1", "dm-1*, dm-0, md0, sdc!, sdd!"},
		{"stacked", "/dev/loop3", "loop3*, dm-1, dm-0, md0, sdc!, sdd!"},
		{"stacked", "/dev/sda2", "sda*!"}, // a partition uses its disk's
		{"epyc", "/dev/nvme0n1p1", "nvme0n1*!"},
	} {
		s := NewStack(collect.Reader{FS: factstest.Saved(t, c.machine).FS()})
		var got []string
		for _, q := range s.Queues(lab.Place{Kind: lab.Device, Path: c.device, Resolved: c.device}) {
			text := q.Device
			if q.UnderTest {
				text += "*"
			}
			if q.Disk {
				text += "!"
			}
			got = append(got, text)
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s of %s: %s, not %s", c.device, c.machine, text, c.want)
		}
	}
	s := NewStack(collect.Reader{FS: factstest.Saved(t, "stacked").FS()})
	// Without a place, or for loads of a network, there is no device: never the one of the root file system.
	for _, none := range []lab.Place{{}, {Kind: lab.NoPlace}, {Kind: lab.NoPlace, Path: "/"}} {
		if queues := s.Queues(none); len(queues) > 0 {
			t.Errorf("%+v has the queues %+v", none, queues)
		}
	}
	for typed, want := range map[string]string{"md0": "md0", "/dev/md0": "md0", "dm-1": "dm-1", "vg-data": "dm-1",
		"/dev/mapper/vg-data": "dm-1", "nosuch": "", "": ""} {
		if got, ok := s.Named(typed); got != want && ok || ok != (want != "") {
			t.Errorf("%q is %q, %v", typed, got, ok)
		}
	}
}

// A UUID of device mapper can be any text.
func TestMakerOfADevice(t *testing.T) {
	for id, want := range map[string]string{"LVM-abc-tpool": "lvm", "CRYPT-LUKS2-0a-md0_crypt": "crypt",
		"part1-mpath-36": "part1", "": "dm", "plain": "dm", "-a": "dm", " -a": "dm"} {
		r := factstest.Files(map[string]string{Class("dm-2") + "/dm/uuid": id + "\n"})
		if got := DmType(r, "dm-2"); got != want {
			t.Errorf("%q: %q, want %q", id, got, want)
		}
	}
}
