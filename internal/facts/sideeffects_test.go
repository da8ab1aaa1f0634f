package facts

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"headroom/internal/facts/collect"
	"headroom/internal/lab"
)

// looked is a file system that keeps which files somebody looked at.
type looked struct {
	fstest.MapFS
	at map[string]bool
}

func (l looked) Open(name string) (fs.File, error) { l.at[name] = true; return l.MapFS.Open(name) }

func (l looked) Stat(name string) (fs.FileInfo, error) {
	l.at[name] = true
	return l.MapFS.Stat(name)
}

func (l looked) Lstat(name string) (fs.FileInfo, error) {
	l.at[name] = true
	return l.MapFS.Lstat(name)
}

func (l looked) ReadFile(name string) ([]byte, error) {
	l.at[name] = true
	return l.MapFS.ReadFile(name)
}

func (l looked) ReadDir(name string) ([]fs.DirEntry, error) {
	l.at[name] = true
	return l.MapFS.ReadDir(name)
}

func textFiles(texts map[string]string) fstest.MapFS {
	all := fstest.MapFS{}
	for name, text := range texts {
		all[collect.PathInFS(name)] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

// Looking at an automount point mounts what belongs there.
func TestNothingIsMountedByLooking(t *testing.T) {
	const root = "28 1 8:2 / / rw - ext4 /dev/sda2 rw\n"
	const boot = "41 28 0:33 / /boot rw shared:20 - autofs systemd-1 rw,fd=66\n"
	for _, c := range []struct {
		name, mounts, release string
		look                  bool
	}{
		{"waiting", root + boot, "6.12.9", false},
		{"mounted", root + boot + "42 41 8:1 / /boot rw - vfat /dev/sda1 rw\n" +
			"50 28 0:7 / /sys/kernel/debug rw - debugfs debugfs rw\n51 50 0:12 / /sys/kernel/debug/tracing rw - " +
			"tracefs tracefs rw\n", "6.12.9", true},
		{"old", root, "3.10.0-1160.el7.x86_64", true},
	} {
		l := looked{textFiles(map[string]string{collect.MountInfoPath: c.mounts, collect.ReleasePath: c.release,
			"/boot/grub/grub.cfg": "#", "/boot/config-" + c.release: "CONFIG_HZ=250\n",
			"/sys/kernel/debug/tracing/current_tracer": "function\n"}), map[string]bool{}}
		var all []lab.Fact
		for _, read := range []func(fs.FS, collect.Scope) []lab.Fact{collectOS, collectKernel, collectConfig} {
			all = append(all, read(l, collect.Scope{})...)
		}
		for name := range l.at {
			if !c.look && (strings.HasPrefix(name, "boot/") || strings.HasPrefix(name, "sys/kernel/debug/tracing")) {
				t.Errorf("%s: somebody looked at %s", c.name, name)
			}
		}
		for key, want := range map[string]string{"kernel.config.HZ": "250", "kernel.tracer": "function",
			"os.boot_loader": "grub"} {
			if got := said(all, key, ""); (got == want) != c.look {
				t.Errorf("%s: %s is %q", c.name, key, got)
			}
		}
		if got := said(all, "kernel.config", ""); !c.look && !strings.Contains(got, "automount") {
			t.Errorf("%s: kernel.config is %q", c.name, got)
		}
	}
}

// A quota of CPU that is none has its period behind it, and memory without a limit depends on the size of a page.
func TestGroupWithoutLimits(t *testing.T) {
	const v2 = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	const v1 = "30 1 0:26 / /cg/memory rw - cgroup cgroup rw,memory\n31 1 0:27 / /cg/blkio rw - cgroup cgroup " +
		"rw,blkio\n"
	for _, c := range []struct{ mounts, groups, file, text, key, want string }{
		{v2, "0::/a\n", "/sys/fs/cgroup/a/cpu.max", "max 50000\n", "cgroup.cpu.max", "none"},
		{v2, "0::/a\n", "/sys/fs/cgroup/a/cpu.max", "150000 50000\n", "cgroup.cpu.max", "150000 50000"},
		{v1, "3:memory:/a\n2:blkio:/a\n", "/cg/memory/a/memory.limit_in_bytes", "9223372036854710272\n",
			"cgroup.memory.max", "none"},
		{v1, "3:memory:/a\n2:blkio:/a\n", "/cg/memory/a/memory.limit_in_bytes", "9223372036854771712\n",
			"cgroup.memory.max", "none"},
		{v1, "3:memory:/a\n2:blkio:/a\n", "/cg/memory/a/memory.limit_in_bytes", "1073741824\n", "cgroup.memory.max",
			"1073741824"},
	} {
		all := collectCgroup(textFiles(map[string]string{collect.MountInfoPath: c.mounts, ownGroupsPath: c.groups,
			c.file: c.text}), collect.Scope{})
		if got := said(all, c.key, ""); got != c.want {
			t.Errorf("%s of %q is %q, not %q", c.key, c.text, got, c.want)
		}
	}
}

// The boot partitions of eMMC lie in the folder of the disk but are no part of it.
func TestBootPartitionsAreNotMisaligned(t *testing.T) {
	const dir = "/sys/devices/platform/mmc/mmc_host/mmc0/mmc0:0001/block/mmcblk0"
	f := textFiles(map[string]string{dir + "/size": "61071360\n", dir + "/queue/physical_block_size": "4096\n",
		dir + "/mmcblk0p1/start": "8191\n", dir + "/mmcblk0p1/partition": "1\n", dir + "/mmcblk0boot0/size": "8192\n"})
	for _, name := range []string{"", "/mmcblk0p1", "/mmcblk0boot0"} {
		full := dir + name
		link := class(full[strings.LastIndexByte(full, '/')+1:])
		f[collect.PathInFS(link)] = &fstest.MapFile{Data: []byte("../.." + strings.TrimPrefix(full, "/sys")),
			Mode: fs.ModeSymlink}
	}
	all := collectAllDisks(f, collect.Scope{})
	if got := said(all, "disk.partitions.misaligned", "mmcblk0"); got != "mmcblk0p1" {
		t.Errorf("misaligned: %q", got)
	}
}

// A folder of PATH that is closed does not hide the program in the next one.
func TestClosedFolderOfPath(t *testing.T) {
	for _, there := range []bool{true, false} {
		f := fstest.MapFS{"proc/self/environ": {Data: []byte("PATH=/root/bin:/usr/bin\x00")},
			"root/bin/fio": {Data: []byte("?")}}
		if there {
			f["usr/bin/fio"] = &fstest.MapFile{Data: []byte("fio")}
		}
		got := hashOf(collect.Reader{FS: closed{f}}, "fio")
		if there && (got.Unknown != "" || got.Source != "/usr/bin/fio") ||
			!there && !strings.Contains(got.Unknown, "permission") {
			t.Errorf("there %v: %+v", there, got)
		}
	}
}

// closed is a machine whose folder /root only root may look into.
type closed struct{ fstest.MapFS }

func (c closed) Lstat(name string) (fs.FileInfo, error) {
	if strings.HasPrefix(name, "root/") {
		return nil, fs.ErrPermission
	}
	return c.MapFS.Lstat(name)
}

// The tools of RAID controllers are started only where there is one.
func TestRAIDToolsNeedAController(t *testing.T) {
	none := textFiles(map[string]string{"/sys/bus/pci/drivers/nvme/module": ""})
	if got := raidCommands(collect.Scope{Files: none}); len(got) != 0 {
		t.Errorf("%v", got)
	}
	one := textFiles(map[string]string{"/sys/bus/pci/drivers/megaraid_sas/0000:18:00.0/vendor": ""})
	if got := raidCommands(collect.Scope{Files: one}); len(got) != 3 {
		t.Errorf("%v", got)
	}
	if got := said(collectRAID(one, collect.Scope{}), "machine.raid.cache_policy", ""); !strings.Contains(got,
		"not carried out") {
		t.Errorf("%q", got)
	}
}

// Disks need the names of interrupts, which are read together with those of network adapters: they must not wait for
// the lock that the kernel takes before it tells about a link.
func TestDisksDoNotWaitForTheNetwork(t *testing.T) {
	l := looked{MapFS: textFiles(map[string]string{"/sys/class/net/eth0/device/vendor": "0x8086",
		"/sys/class/net/eth0/carrier": "1",
		"/sys/class/net/eth0/speed":   "1000", "/proc/interrupts": "           CPU0\n"}), at: map[string]bool{}}
	if found := readNICInterrupts(collect.Reader{FS: l}); len(found.nics) != 1 {
		t.Fatalf("%+v", found)
	}
	for name := range l.at {
		if strings.HasSuffix(name, "/carrier") || strings.HasSuffix(name, "/speed") {
			t.Errorf("%s was read", name)
		}
	}
}

// On some servers the letter of DIMM_A2 is the socket: there are more numbers than a channel has places.
func TestLettersOfSocketsAreNoChannels(t *testing.T) {
	table := func(numbers int) string {
		var b strings.Builder
		for _, letter := range "AB" {
			for n := 1; n <= numbers; n++ {
				device := make([]byte, 0x22)
				device[0], device[1], device[2] = structureDevice, byte(len(device)), byte(n)
				device[0x0d], device[0x10], device[0x12] = 0x10, 1, 0x18 // 4096 MB, DDR3
				fmt.Fprintf(&b, "%sDIMM_%c%d \x00\x00", device, letter, n)
			}
		}
		return b.String()
	}
	for numbers, want := range map[int]string{2: "2", 3: "2", 6: "unknown", 12: "unknown"} {
		all := collectDIMMs(textFiles(map[string]string{dmiTable: table(numbers)}), collect.Scope{})
		if got := said(all, "memory.channels", ""); !strings.HasPrefix(got, want) {
			t.Errorf("%d places a letter: memory.channels is %q", numbers, got)
		}
		if got := said(all, "dimm.size", "DIMM_A1"); got != "4294967296" {
			t.Errorf("dimm.size is %q", got)
		}
		if got := said(all, "dimm.channel", "DIMM_B1"); strings.HasPrefix(got, "unknown") != (want == "unknown") {
			t.Errorf("%d places a letter: dimm.channel is %q", numbers, got)
		}
	}
}
