//go:build system

package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
	"github.com/headroom/headroom/internal/testing/targettest"
)

// Each scheme changes a real setting of this kernel, on things that the test has made itself wherever there are such,
// and what is there after the undoing is what was there before.

func needs(t *testing.T, programs ...string) {
	t.Helper()
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not installed", p)
		}
	}
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// loopDisk is a loop device of the test's own; the name is the kernel's.
func loopDisk(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("loop devices need root")
	}
	return loopDiskIn(t, t.TempDir())
}

// loopDiskIn attaches a loop device to a new file in a folder.
func loopDiskIn(t *testing.T, folder string) string {
	t.Helper()
	needs(t, "losetup")
	file := filepath.Join(folder, "disk")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(file, 32<<20); err != nil {
		t.Fatal(err)
	}
	device := command(t, "losetup", "--find", "--show", file)
	t.Cleanup(func() { command(t, "losetup", "-d", device) })
	return filepath.Base(device)
}

// closing closes a journal: what it has locked is locked for every run on this machine.
func closing(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// tried changes a factor to a level, sees that it is in effect, undoes it, and holds all files given against what they
// were.
func tried(t *testing.T, w scheme.Scope, factorName, level string, watched ...string) {
	t.Helper()
	before := contents(t, watched...)
	s, err := factor.Bind(t.Context(), w, factorName)
	if err != nil {
		t.Fatalf("%s: %v", factorName, err)
	}
	found, err := s.Read(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", factorName, err)
	}
	scheme, _, _ := factor.Find(factorName)
	if factor.Equal(scheme.Name, found, level) {
		t.Fatalf("%s is %s already, so nothing would be tried", factorName, level)
	}
	j, err := Create(filepath.Join(t.TempDir(), "changes"), own("RUN1"), w.Target)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Change(t.Context(), s, level); err != nil {
		t.Errorf("%s=%s: %v", factorName, level, err)
	}
	if err := j.CheckInEffect(t.Context()); err != nil {
		t.Errorf("%s=%s: %v", factorName, level, err)
	}
	if now, err := s.Read(t.Context()); err != nil || !factor.Equal(scheme.Name, now, level) {
		t.Errorf("%s is %q and not %q, %v", factorName, now, level, err)
	}
	if err := j.Undo(t.Context()); err != nil {
		t.Errorf("%s: %v", factorName, err)
	}
	if now, err := s.Read(t.Context()); err != nil || now != found {
		t.Errorf("%s is %q and was %q, %v", factorName, now, found, err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	for path, was := range before {
		if now := contents(t, path)[path]; now != was {
			t.Errorf("%s: %s is %q and was %q", factorName, path, now, was)
		}
	}
	t.Logf("%s: %q, %q, and back", factorName, found, level)
}

// contents reads files, and all files below folders.
func contents(t *testing.T, paths ...string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			if data, err := os.ReadFile(path); err == nil {
				all[path] = string(data)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(paths) > 0 && len(all) == 0 {
		t.Fatalf("nothing to be read in %q", paths)
	}
	return all
}

func here(t *testing.T) scheme.Scope {
	t.Helper()
	return scheme.Scope{Target: host.NewLocal(filepath.Join(t.TempDir(), "jobs"))}
}

// on is the scope of a place that is found as commands find it.
func on(t *testing.T, place string) scheme.Scope {
	t.Helper()
	w := here(t)
	var err error
	if w.Place, err = storage.ResolvePlace(t.Context(), w.Target, place); err != nil {
		t.Fatal(err)
	}
	return w
}

// usualSysctls gives what these tests change other levels than theirs, for as long as a test runs: what a test changed
// that was killed before it put it back may still be in effect. Another run of the tests waits until then.
func usualSysctls(t *testing.T) {
	t.Helper()
	targettest.Exclusive(t, "sysctls")
	w := here(t)
	j, err := Create(filepath.Join(t.TempDir(), "changes"), own("RUN1-given"), w.Target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(j.Undo(context.Background()), j.Close()); err != nil {
			t.Error(err)
		}
	})
	for _, c := range [][2]string{{"sysctl:vm.dirty_background_ratio", "10"},
		{"sysctl:vm.dirty_expire_centisecs", "3000"}, {"sysctl:net.ipv4.udp_mem", "4096 131072 6291457"}} {
		s, err := factor.Bind(t.Context(), w, c[0])
		if err == nil {
			err = j.Change(t.Context(), s, c[1])
		}
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
	}
}

func TestSysctl(t *testing.T) {
	usualSysctls(t)
	w := here(t)
	const vm = "/proc/sys/vm/"
	pair := []string{vm + "dirty_background_ratio", vm + "dirty_background_bytes"}
	tried(t, w, "sysctl:vm.dirty_background_ratio", "3", pair...)
	// The old value of one of a pair is 0, which the kernel does not take: it comes back with the other's.
	tried(t, w, "sysctl:vm.dirty_background_bytes", "0x4000000", pair...)
	tried(t, w, "sysctl:net.ipv4.udp_mem", "4096 131072 6291456", "/proc/sys/net/ipv4/udp_mem")
	tried(t, w, "sysfs:/proc/sys/vm/dirty_expire_centisecs", "2900", vm+"dirty_expire_centisecs")
}

func TestQueue(t *testing.T) {
	disk := loopDisk(t)
	queue := "/sys/block/" + disk + "/queue"
	w := on(t, "/dev/"+disk)
	s, err := factor.Bind(t.Context(), w, "queue:scheduler")
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Read(t.Context())
	if err != nil || !slices.Contains(s.Possible, found) {
		t.Fatalf("%q of %q, %v", found, s.Possible, err)
	}
	i := slices.IndexFunc(s.Possible, func(p string) bool { return p != found })
	if i < 0 {
		t.Skipf("this kernel has the scheduler %s alone", found)
	}
	other := s.Possible[i]
	tried(t, w, "queue:scheduler", other, queue)
	tried(t, w, "queue:read_ahead_kb", "64", queue)
	tried(t, w, "queue:nomerges", "2", queue)
	// What the kernel sets again with the scheduler is put back, also where it was set by hand before.
	for _, set := range []string{"nr_requests", "iosched/read_expire"} {
		path := filepath.Join(queue, set)
		if _, err := os.Stat(path); err == nil {
			if err := os.WriteFile(path, []byte("77"), 0o644); err != nil {
				t.Fatal(err)
			}
			tried(t, w, "queue:scheduler", other, queue)
		}
	}
	tried(t, w, "sysfs:"+queue+"/scheduler", other, queue)
	needs(t, "busybox")
	bin := t.TempDir()
	for _, tool := range []string{"sh", "dd", "realpath", "id", "mkdir", "ln", "readlink", "rm", "rmdir"} {
		if err := os.Symlink(command(t, "which", "busybox"), filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	tried(t, w, "queue:scheduler", other, queue)
}

func TestQueueOfDisksThatDiffer(t *testing.T) {
	w := here(t)
	w.Place = lab.Place{Kind: lab.Device, Members: []string{"/dev/" + loopDisk(t), "/dev/" + loopDisk(t)}}
	file := func(i int) string {
		return "/sys/block/" + filepath.Base(w.Place.Members[i]) + "/queue/read_ahead_kb"
	}
	if err := os.WriteFile(file(0), []byte("512"), 0o644); err != nil {
		t.Fatal(err)
	}
	tried(t, w, "queue:read_ahead_kb", "64", file(0), file(1))
}

// queue: changes the device under test and no other of its stack: here a loop device over a file, on an ext4 on another
// loop device. queue@ changes the one that is named.
func TestQueueOfOneDeviceOfAStack(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts need root")
	}
	needs(t, "mkfs.ext4", "mount")
	memory, err := os.MkdirTemp("/dev/shm", "headroom-queue") // a loop device over memory is a disk
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(memory); err != nil {
			t.Error(err)
		}
	})
	bottom := loopDiskIn(t, memory)
	command(t, "mkfs.ext4", "-q", "/dev/"+bottom)
	dir := t.TempDir()
	mountOn(t, "/dev/"+bottom, dir, "defaults")
	if err := os.Mkdir(filepath.Join(dir, "images"), 0o700); err != nil {
		t.Fatal(err)
	}
	top := loopDiskIn(t, filepath.Join(dir, "images"))
	for _, c := range []struct{ place, factor, changed, other string }{
		{"/dev/" + top, "queue:read_ahead_kb", top, bottom},
		{"/dev/" + top, "queue@disks:read_ahead_kb", bottom, top},
		{"/dev/" + top, "queue@" + bottom + ":read_ahead_kb", bottom, top},
		{"/dev/" + top, "queue@/dev/" + bottom + ":read_ahead_kb", bottom, top},
		{dir, "queue:read_ahead_kb", bottom, top},
	} {
		w := on(t, c.place)
		s, err := factor.Bind(t.Context(), w, c.factor)
		if err != nil {
			t.Fatal(err)
		}
		before := contents(t, readAhead(c.other))[readAhead(c.other)]
		tried(t, w, c.factor, "64", readAhead(c.changed))
		j, err := Create(filepath.Join(t.TempDir(), "changes"), own("RUN1"), w.Target)
		if err == nil {
			err = j.Change(t.Context(), s, "68")
		}
		if err != nil {
			t.Fatal(err)
		}
		after := contents(t, readAhead(c.changed), readAhead(c.other))
		if got, other := after[readAhead(c.changed)], after[readAhead(c.other)]; got != "68\n" || other != before {
			t.Errorf("%s of %s: %s has %q, and %s %q, was %q", c.factor, c.place, c.changed, got, c.other, other,
				before)
		}
		if err := errors.Join(j.Undo(t.Context()), j.Close()); err != nil {
			t.Error(err)
		}
	}
	// Without a place there is no device, and never the root disk.
	for _, none := range []lab.Place{{}, {Kind: lab.NoPlace}} {
		w := here(t)
		w.Place = none
		if _, err := factor.Bind(t.Context(), w, "queue:read_ahead_kb"); lab.KindOf(err) != lab.Refused {
			t.Errorf("without a place: %v", err)
		}
	}
	// A device above the place is none of its devices.
	for name, place := range map[string]string{"queue@" + top + ":read_ahead_kb": dir,
		"queue@nosuch:read_ahead_kb": "/dev/" + top, "queue@disks:no_such_setting": "/dev/" + top} {
		if _, err := factor.Bind(t.Context(), on(t, place), name); lab.KindOf(err) != lab.Refused {
			t.Errorf("%s on %s: %v", name, place, err)
		}
	}
	// A device is kept whichever way it is reached, and no other one with it.
	w := on(t, "/dev/"+top)
	j, err := Create(filepath.Join(t.TempDir(), "changes"), own("RUN1"), w.Target)
	if err == nil {
		err = j.Keep(t.Context(), []string{"queue@" + bottom + ":read_ahead_kb"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, kept := range map[string]bool{"queue@disks:read_ahead_kb": true, "queue:read_ahead_kb": false} {
		s, err := factor.Bind(t.Context(), w, name)
		if err == nil {
			err = j.Change(t.Context(), s, "72")
		}
		if kept != (err != nil) || kept && lab.KindOf(err) != lab.Refused {
			t.Errorf("%s beside a kept one: %v", name, err)
		}
	}
	if err := errors.Join(j.Undo(t.Context()), j.Close()); err != nil {
		t.Error(err)
	}
}

func TestWhatIsKeptIsRefusedByAnyName(t *testing.T) {
	disk := loopDisk(t)
	w := on(t, "/dev/"+disk)
	for _, c := range []struct{ keep, change, level string }{
		{"queue:read_ahead_kb", "queue:read_ahead_kb", "64"},
		{"queue:read_ahead_kb=128", "sysfs:/sys/block/" + disk + "/queue/read_ahead_kb", "64"},
		{"queue:*", "sysfs:/sys/class/block/" + disk + "/queue/read_ahead_kb", "64"},
		{"sysfs:/sys/block/" + disk + "/queue/read_ahead_kb", "queue:read_ahead_kb", "64"},
		{"sysfs:/sys/class/block/" + disk + "/queue/read_ahead_kb", "queue:read_ahead_kb", "64"},
		{"sysctl:vm.swappiness", "sysfs:/proc/sys/vm/swappiness", "61"},
		{"sysctl:vm.*", "sysctl:vm.swappiness", "61"},
		{"sysfs:/proc/sys/vm/swappiness", "sysctl:vm.swappiness", "61"},
		{"module:printk.time", "sysfs:/sys/module/printk/parameters/time", "N"},
	} {
		j, err := Create(filepath.Join(t.TempDir(), "changes"), own("RUN1"), w.Target)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Keep(t.Context(), []string{c.keep, "cmdline:numa=off"}); err != nil {
			t.Fatal(err)
		}
		s, err := factor.Bind(t.Context(), w, c.change)
		if err != nil {
			t.Fatal(err)
		}
		before, _ := s.Read(t.Context())
		if err := j.Change(t.Context(), s, c.level); lab.KindOf(err) != lab.Refused {
			t.Errorf("keep %s, change %s: %v", c.keep, c.change, err)
		}
		if after, err := s.Read(t.Context()); err != nil || after != before {
			t.Errorf("%s was %q and is %q, %v", c.change, before, after, err)
		}
		if err := errors.Join(j.Undo(t.Context()), j.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestMount(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounts need root")
	}
	needs(t, "mkfs.ext4", "mount")
	device := "/dev/" + loopDisk(t)
	command(t, "mkfs.ext4", "-q", device)
	dir := filepath.Join(t.TempDir(), "a b")
	if err := os.MkdirAll(filepath.Join(dir, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	command(t, "mount", "-o", "nosuid,nodev,relatime,commit=17", device, dir)
	t.Cleanup(func() { command(t, "umount", dir) })
	options := func() string {
		for line := range strings.Lines(contents(t, collect.MountInfoPath)[collect.MountInfoPath]) {
			if strings.Contains(line, " "+device+" ") {
				return line
			}
		}
		t.Fatalf("%s is not mounted", device)
		return ""
	}
	before := options()
	w := here(t)
	if err := os.MkdirAll(filepath.Join(dir, "x", "y"), 0o755); err != nil {
		t.Fatal(err)
	}
	w.Place = lab.Place{Kind: lab.Directory, Path: filepath.Join(dir, "x", "y")}
	for _, c := range [][2]string{{"atime", "noatime"}, {"atime", "strictatime"}, {"diratime", "0"}, {"lazytime", "1"},
		{"commit", "30"}, {"barrier", "0"},
		{"sync", "1"}, {"discard", "1"}} {
		tried(t, w, "mount:"+c[0], c[1])
		if now := options(); now != before {
			t.Errorf("mount:%s left %s and it was %s", c[0], now, before)
		}
	}
	if _, err := factor.Bind(t.Context(), w, "mount:huge"); lab.KindOf(err) != lab.Refused {
		t.Errorf("ext4 has no huge pages: %v", err)
	}
}

const inNamespace = "HEADROOM_TEST_IN_NAMESPACE"

// A network namespace of its own has adapters that nobody uses. /sys shows the adapters of the namespace that it was
// mounted in.
func TestNIC(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("a network of its own needs root")
	}
	needs(t, "unshare", "ip", "ethtool", "mount")
	if os.Getenv(inNamespace) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("unshare", "--net", "--mount", "sh", "-c", `mount -t sysfs sysfs /sys && exec "$@"`, "sh",
			self, "-test.run", "^TestNIC$", "-test.v")
		cmd.Env = append(os.Environ(), inNamespace+"=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s", out)
		if err != nil || !strings.Contains(string(out), "and back") {
			t.Errorf("in the namespace: %v", err)
		}
		return
	}
	command(t, "ip", "link", "add", "hr0", "numtxqueues", "2", "numrxqueues", "2", "type", "veth", "peer", "name",
		"hr1")
	state := func() string {
		return command(t, "ethtool", "-k", "hr0") + command(t, "ethtool", "-l", "hr0") +
			command(t, "ip", "link", "show", "hr0")
	}
	before := state()
	w := here(t)
	for _, c := range [][2]string{{"mtu", "9000"}, {"tso", "off"}, {"gso", "off"}, {"gro", "on"},
		{"tx", "off"}, {"sg", "off"}} {
		tried(t, w, "nic:hr0/"+c[0], c[1])
		if now := state(); now != before {
			t.Errorf("nic:hr0/%s left\n%s\nand it was\n%s", c[0], now, before)
		}
	}
	tried(t, w, "sysfs:/sys/class/net/hr0/mtu", "2000")
	s, err := factor.Bind(t.Context(), w, "nic:hr0/mtu")
	if err != nil {
		t.Fatal(err)
	}
	j, err := Create(filepath.Join(t.TempDir(), "changes"), own("RUN1"), w.Target)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, j)
	if err := j.Change(t.Context(), s, "1000"); lab.KindOf(err) != lab.Refused {
		t.Errorf("an MTU that takes IPv6 away: %v", err)
	}
	if _, err := factor.Bind(t.Context(), w, "nic:hr0/ring-rx"); err == nil {
		t.Error("a veth has rings")
	}
	if err := j.Keep(t.Context(), []string{"nic:hr0/tso"}); err != nil {
		t.Fatal(err)
	}
	sg, err := factor.Bind(t.Context(), w, "nic:hr0/sg")
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Change(t.Context(), sg, "off"); lab.KindOf(err) != lab.Refused ||
		!strings.Contains(err.Error(), "tso") {
		t.Errorf("what is kept went with another: %v", err)
	}
	if now := state(); now != before {
		t.Errorf("left\n%s\nand it was\n%s", now, before)
	}
}

func TestModule(t *testing.T) {
	targettest.Exclusive(t, "printk")
	w := here(t)
	const file = "/sys/module/printk/parameters/time"
	level := "0"
	if strings.HasPrefix(contents(t, file)[file], "N") {
		level = "1"
	}
	tried(t, w, "module:printk.time", level, file)
	closed, err := filepath.Glob("/sys/module/*/parameters/*")
	if err != nil || len(closed) == 0 {
		t.Fatal("no module has a parameter", err)
	}
	closed = slices.DeleteFunc(closed, func(p string) bool {
		info, err := os.Stat(p)
		return err != nil || info.Mode()&0o222 != 0
	})
	if len(closed) == 0 {
		t.Fatal("all parameters can be written")
	}
	part := strings.Split(closed[0], "/")
	if _, err := factor.Bind(t.Context(), w, "module:"+part[3]+"."+part[5]); lab.KindOf(err) != lab.Refused ||
		!strings.Contains(err.Error(), "needs a reload") {
		t.Errorf("%s: %v", closed[0], err)
	}
}

func TestCPUs(t *testing.T) {
	targettest.Exclusive(t, "cpus")
	w := here(t)
	if _, err := factor.Bind(t.Context(), w, "cpu:governor"); err != nil && lab.KindOf(err) != lab.Refused {
		t.Errorf("%v", err)
	}
	s, err := factor.Bind(t.Context(), w, "cpu:online")
	if lab.KindOf(err) == lab.Refused {
		t.Skipf("%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	found, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cpus, err := linux.ParseCPUs(found)
	if err != nil || len(cpus) < 2 {
		t.Skipf("one CPU is online: %s", found)
	}
	tried(t, w, "cpu:online", linux.FormatCPUs(cpus[:len(cpus)-1]),
		append(spot.Glob(t.Context(), w.Target, "/proc/irq/*/smp_affinity_list"), "/sys/devices/system/cpu/online")...)
	j, err := Create(filepath.Join(t.TempDir(), "changes"), own("RUN1"), w.Target)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, j)
	for level, kind := range map[string]lab.Kind{"0-8000": lab.Usage, "7999": lab.Usage} {
		if err := j.Change(t.Context(), s, level); lab.KindOf(err) != kind {
			t.Errorf("%s: %v", level, err)
		}
	}
}

func TestIRQ(t *testing.T) {
	targettest.Exclusive(t, "cpus") // without one of them, interrupts go to others
	w := here(t)
	online, err := linux.ParseCPUs(contents(t, "/sys/devices/system/cpu/online")["/sys/devices/system/cpu/online"])
	if err != nil || len(online) < 2 {
		t.Skip("one CPU is online, so an interrupt has no choice")
	}
	for _, path := range spot.Glob(t.Context(), w.Target, "/proc/irq/[0-9]*/smp_affinity_list") {
		number := filepath.Base(filepath.Dir(path))
		found := strings.TrimSpace(contents(t, path)[path])
		level := fmt.Sprint(online[len(online)-1])
		if found == level {
			level = fmt.Sprint(online[0])
		}
		// An interrupt that the kernel manages, or nobody has asked for, can't be moved.
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			continue
		}
		_, err = f.WriteString(found)
		_ = f.Close()
		if err != nil || strings.TrimSpace(contents(t,
			filepath.Dir(path)+"/effective_affinity_list")[filepath.Dir(path)+"/effective_affinity_list"]) == "" {
			continue
		}
		tried(t, w, "irq:"+number, level, path)
		return
	}
	t.Skip("no interrupt of this machine can be moved")
}

func TestExec(t *testing.T) {
	w := here(t)
	file := filepath.Join(t.TempDir(), "profile")
	if err := os.WriteFile(file, []byte("balanced"), 0o644); err != nil {
		t.Fatal(err)
	}
	log := file + ".log"
	w.Commands = map[string]spot.Commands{
		"profile": {Apply: []string{"sh", "-c", `printf %s "$1" >"$2"; echo apply "$1" >>"$2.log"`, "sh", "{level}",
			file}, Verify: []string{"cat", file},
			Undo: []string{"sh", "-c", `printf %s "$1" >"$2"; echo undo "$1" >>"$2.log"`, "sh", "{old}", file}},
		"for-good": {Apply: []string{"true"}, Verify: []string{"cat", file}},
		"broken":   {Apply: []string{"true"}, Verify: []string{"false"}, Undo: []string{"true"}},
	}
	tried(t, w, "exec:profile", "through put; $(reboot)")
	if got := contents(t, log)[log]; got != "apply through put; $(reboot)\nundo balanced\n" {
		t.Errorf("%q", got)
	}
	if _, err := factor.Bind(t.Context(), w, "exec:for-good"); lab.KindOf(err) != lab.Refused {
		t.Errorf("what has no undo: %v", err)
	}
	for _, name := range []string{"exec:broken", "exec:not-there"} {
		if _, err := factor.Bind(t.Context(), w, name); err == nil {
			t.Errorf("%s was bound", name)
		}
	}
}

func TestTheKernelsReasonIsTold(t *testing.T) {
	disk := loopDisk(t)
	w := on(t, "/dev/"+disk)
	j, err := Create(filepath.Join(t.TempDir(), "changes"), own("RUN1"), w.Target)
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, j)
	for _, c := range []struct{ name, level, reason string }{
		{"sysctl:vm.dirty_background_ratio", "101", "Invalid argument"},
		{"sysctl:kernel.osrelease", "7", "Permission denied"},
		{"queue:scheduler", "nosuch", "Invalid argument"},
		{"queue:nr_zones", "7", "Permission denied"},
	} {
		s, err := factor.Bind(t.Context(), w, c.name)
		if err != nil {
			t.Fatal(err)
		}
		err = j.Change(t.Context(), s, c.level)
		e, ok := errors.AsType[*lab.Error](err)
		if !ok || !strings.Contains(e.Output, c.reason) || len(e.Hints) == 0 {
			t.Errorf("%s=%s: %v, %+v", c.name, c.level, err, e)
		}
		if len(j.Open()) != 0 {
			t.Errorf("%s is left open", c.name)
		}
	}
	for _, name := range []string{"sysctl:vm.no_such_setting", "queue:no_such_setting", "sysfs:/sys/no/such",
		"module:nosuch.x", "nic:nosuch0/mtu", "irq:99999", "irq:nosuch"} {
		if _, err := factor.Bind(t.Context(), w, name); err == nil {
			t.Errorf("%s was bound", name)
		}
	}
	for _, name := range []string{"sysctl:vm.drop_caches", "sysctl:kernel.modules_disabled", "sysfs:/sys/power/state",
		"sysfs:/sys/block/" + disk + "/uevent"} {
		if _, err := factor.Bind(t.Context(), w, name); lab.KindOf(err) != lab.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Not root: the error says so, nothing is left.
func TestAPlainUserIsToldWhatItTakes(t *testing.T) {
	const nobody = 65534
	if os.Getuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "headroom-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(program, data, 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		crashPlan+`={"Dir":"`+dir+`","Factors":["sysctl:vm.dirty_background_ratio"],"Levels":["3"]}`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "can't set /proc/sys/vm/dirty_background_ratio") {
		t.Errorf("%v\n%s", err, out)
	}
	// The process ended without Undo. Its locks would refuse the setting to the next run of the tests.
	locks, err := filepath.Glob(fmt.Sprintf("/dev/shm/headroom-settings-%d/*", nobody))
	if err != nil || len(locks) == 0 {
		t.Fatalf("locks %q, %v", locks, err)
	}
	for _, lock := range locks {
		if holder, err := os.Readlink(lock); err == nil && strings.Contains(holder, dir) {
			if err := os.Remove(lock); err != nil {
				t.Error(err)
			}
		}
	}
}
