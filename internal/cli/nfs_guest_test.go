//go:build system && guests

package cli

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/qemu"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/figure"
)

// nfsGuests describe a client and a server of NFS with two networks between them, each with soft RoCE. A card says of
// itself that it is slow.
func nfsGuests(t *testing.T) (client, server string) {
	t.Helper()
	out, err := exec.Command("../../scripts/guest-nfs").Output()
	if err != nil {
		t.Fatalf("no programs of NFS for the guests: %v", err)
	}
	nfs := strings.TrimSpace(string(out))
	if _, err := exec.LookPath("rdma"); err != nil {
		t.Skip("rdma of iproute2 is not installed")
	}
	describe := func(number, programs, setup string) string {
		file := guestFile(t)
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(string(before), "memory:")
		text := head + "cpus: 1\nmemory: 640m\naccelerator: emulation\nfiles: [/etc/netconfig, /etc/protocols, " +
			"/etc/services]\nmodules: [nfsd, nfsv4, rpcrdma]\nprograms: [" + programs + "]\nnetworks:\n"
		for _, link := range []string{"1", "2"} {
			text += fmt.Sprintf("  - {link: nfs%s, address: 10.0.1%s.%s/24, mtu: 9000, rdma: true}\n", link, link,
				number)
		}
		text += "setup: |\n  mkdir -p /sbin /run /mnt\n" + setup
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	client = describe("2", nfs+"/sbin/mount.nfs", "  ln -s "+nfs+"/sbin/mount.nfs /sbin/mount.nfs\n"+
		// As on a machine that has not mounted NFS yet: the modules are there to be loaded.
		"  d=/lib/modules/$(uname -r)\n  mkdir -p $d\n  mv /modules/*.ko $d\n  cd $d\n  depmod\n  rmmod nfsd\n  "+
		"rmmod nfsv4\n  rmmod nfs\n  rmmod rpcrdma\n  ln -s /bin/modprobe /sbin/modprobe\n")
	bin := nfs + "/usr/sbin/"
	server = describe("1", bin+"exportfs, "+bin+"rpc.nfsd, "+bin+"rpc.mountd",
		`  mkdir -p /export /var/lib/nfs/v4recovery
  mount -t tmpfs -o size=200m tmpfs /export
  mount -t nfsd nfsd /proc/fs/nfsd
  touch /var/lib/nfs/etab /var/lib/nfs/rmtab
  echo '/export *(rw,fsid=0,insecure,no_root_squash,no_subtree_check,async)' > /etc/exports
  `+bin+`exportfs -ra
  `+bin+`rpc.mountd -N 3
  echo 10 > /proc/fs/nfsd/nfsv4leasetime
  echo 10 > /proc/fs/nfsd/nfsv4gracetime
  `+bin+`rpc.nfsd -N 3 -V 4 -U 4
  echo 'rdma 20049' > /proc/fs/nfsd/portlist
  echo Y > /proc/fs/nfsd/v4_end_grace
`)
	return client, server
}

const nfsTestSuite = `version: 1
name: short
place: directory
size: 8m
repetitions: 1
defaults: {ioengine: psync, direct: 1, runtime: 1s, time_based: 1, size: 8m}
jobs:
  - {name: randread, fio: {rw: randread, bs: 1m}}
  - {name: randwrite, fio: {rw: randwrite, bs: 64k}}
as_published: {note: through the cache, fio: {direct: 0, invalidate: 0}}
`

// measuredStages are the stages of one headroom nfs, in their order.
func (v fixture) measuredStages() []*store.Bundle {
	v.t.Helper()
	s := store.Open(v.store)
	b, err := s.Find("last")
	if err != nil {
		v.t.Fatal(err)
	}
	stages, err := s.Parts(b)
	if err != nil {
		v.t.Fatal(err)
	}
	return stages
}

// codesOf are the warnings of a run and of its repetitions.
func codesOf(t *testing.T, b *store.Bundle) []string {
	t.Helper()
	all, err := app.WarningsOf(b)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, w := range all {
		codes = append(codes, w.Code)
	}
	return codes
}

// nfs measures between two guests that it starts, and returns what it said and the runs.
func (v fixture) nfs(more ...string) (string, []*store.Bundle) {
	v.t.Helper()
	client, server := nfsGuests(v.t)
	if err := os.WriteFile(v.suite, []byte(nfsTestSuite), 0o644); err != nil {
		v.t.Fatal(err)
	}
	args := append([]string{"nfs", v.suite, "--on", "client=qemu:" + client, "--on", "server=qemu:" + server,
		"--export", "/export", "--path", "/", "--address", "10.0.11.1"}, more...)
	out, err := v.command(args...).CombinedOutput()
	if err != nil {
		v.t.Fatalf("%v\n%s", err, out)
	}
	return string(out), v.measuredStages()
}

// The whole experiment unattended: the server's memory, TCP and RDMA, by one path and by two, each named by what came
// of its mount.
func TestNFSFromEndToEnd(t *testing.T) {
	guestSearches(t)
	t.Parallel()
	v := newFixture(t)
	began := time.Now()
	out, bundles := v.nfs("--address", "10.0.12.1")
	t.Logf("five stages between two emulated guests, %s", time.Since(began).Round(time.Second))
	var stages []string
	for _, b := range bundles {
		stages = append(stages, b.Run.Arms[0].Levels[lab.StageLevel])
		if b.Run.Status != lab.Complete || b.Run.Pair != bundles[0].Run.Pair {
			t.Errorf("%s is %s, of %q", b.Run.ID, b.Run.Status, b.Run.Pair)
		}
		for r, err := range b.Repetitions() {
			if err != nil || r.Values["read.iops"]+r.Values["write.iops"] <= 0 {
				t.Errorf("%s: %+v, %v", stages[len(stages)-1], r.Values, err)
			}
		}
		if codes := codesOf(t, b); slices.Contains(codes, "path-unused") || slices.Contains(codes, "page-cache") {
			t.Errorf("%s: %v", stages[len(stages)-1], codes)
		}
	}
	if want := []string{"server memory", "TCP single path", "TCP multipath", "RDMA single path",
		"RDMA multipath"}; !slices.Equal(stages, want) {
		t.Errorf("stages %q, want %q\n%s", stages, want, out)
	}
	v.checkNothingLeft("after the experiment")
}

// The built-in suite itself, nothing of it smaller or shorter: 8 GiB on the server, three repetitions of six loads in
// five stages.
func TestNFSWholeSuite(t *testing.T) {
	guestSearches(t)
	t.Parallel()
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil || machine.Totalram*uint64(machine.Unit) < 16<<30 {
		t.Skip("not measured: a server with 8 GiB of files in memory takes a machine with 16 GiB")
	}
	v := newFixture(t)
	client, server := nfsGuests(t)
	for file, changes := range map[string][]string{client: {"memory: 640m", "memory: 1500m\nlimit: 20m"},
		server: {"memory: 640m", "memory: 10g\nlimit: 20m", "size=200m", "size=9g"}} {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, []byte(strings.NewReplacer(changes...).Replace(string(text))), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	began := time.Now()
	out, err := v.command("nfs", "--on", "client=qemu:"+client, "--on", "server=qemu:"+server, "--export", "/export",
		"--path", "/", "--address", "10.0.11.1", "--address", "10.0.12.1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	figure.Record(t, figure.Figure{Name: "nfs/whole-suite", Unit: "s", Center: time.Since(began).Seconds(),
		Better: figure.Lower, Text: "the whole suite nfs between two emulated guests"})
	t.Logf("%s", out)
	var stages []string
	for _, b := range v.measuredStages() {
		stages = append(stages, b.Run.Arms[0].Levels[lab.StageLevel])
		n := 0
		for r, err := range b.Repetitions() {
			if n++; err != nil || r.Values["read.iops"]+r.Values["write.iops"] <= 0 || r.Layout.Bytes != 8<<30 {
				t.Errorf("%s: %+v, %v", stages[len(stages)-1], r.Values, err)
			}
		}
		if codes := codesOf(t, b); b.Run.Status != lab.Complete || n != 18 || slices.Contains(codes, "path-unused") ||
			slices.Contains(codes, "page-cache") {
			t.Errorf("%s is %s, with %d repetitions: %v", stages[len(stages)-1], b.Run.Status, n, codes)
		}
	}
	if want := []string{"server memory", "TCP single path", "TCP multipath", "RDMA single path",
		"RDMA multipath"}; !slices.Equal(stages, want) {
		t.Errorf("stages %q, want %q\n%s", stages, want, out)
	}
	v.checkNothingLeft("after the experiment")
}

// What the client's cache answers shows in the server's traffic. That seconds are faster than the
// link is not said in a guest, whose cards have no speed of their own.
func TestNFSThroughTheCacheIsMarked(t *testing.T) {
	guestSearches(t)
	t.Parallel()
	v := newFixture(t)
	out, bundles := v.nfs("--as-published", "--transport", "tcp", "--set", "runtime=4s", "--set", "size=2m", "--set",
		"bs=64k", "--size", "2m")
	if len(bundles) != 2 || !bundles[1].Run.AsPublished {
		t.Fatalf("%d runs\n%s", len(bundles), out)
	}
	codes := codesOf(t, bundles[1])
	for _, code := range []string{"page-cache", "unsynced-writes"} {
		if !slices.Contains(codes, code) {
			t.Errorf("what the cache answers is not marked %s: %v\n%s", code, codes, out)
		}
	}
	if !strings.Contains(out, "the server only") {
		t.Errorf("nothing is said of the server:\n%s", out)
	}
}

// nfsPair are a client and a server that are there, and that ssh knows.
type nfsPair struct {
	t              *testing.T
	client, server *qemu.Guest
	// modules are those of the client before NFS was mounted for the first time.
	modules string
	// sshConfig is the file by which ssh knows both.
	sshConfig string
}

// fixture returns a new one whose commands know both guests.
func (p nfsPair) fixture() fixture {
	p.t.Helper()
	v := newFixture(p.t)
	v.env = []string{config.Variable(config.SSHConfig) + "=" + p.sshConfig}
	return v
}

// loaded are the modules of a guest, by their names.
const loaded = "cut -d ' ' -f 1 /proc/modules | sort"

// startNFSPair starts both; change, where it is not nil, makes another description of the client.
func startNFSPair(t *testing.T, change func(client string) string) nfsPair {
	t.Helper()
	clientFile, serverFile := nfsGuests(t)
	if change != nil {
		before, err := os.ReadFile(clientFile)
		if err == nil {
			err = os.WriteFile(clientFile, []byte(change(string(before))), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	server, client, sshConfig := guestsBySSH(t, "nfs-server", serverFile, "nfs-client", clientFile)
	p := nfsPair{t: t, server: server, client: client, sshConfig: sshConfig}
	if p.modules = p.run(p.client, loaded); strings.Contains(p.modules, "nfsv4") ||
		!strings.Contains(p.modules, "sunrpc") {
		t.Fatalf("the client has the modules %s", p.modules)
	}
	return p
}

// guestsBySSH starts two guests, one after the other, and returns the file by which ssh knows them by their names.
func guestsBySSH(t *testing.T, firstName, firstFile, secondName, secondFile string) (first, second *qemu.Guest,
	sshConfig string) {
	t.Helper()
	links, entries := &qemu.Links{}, ""
	open := func(name, file string) *qemu.Guest {
		folder, err := os.MkdirTemp("/dev/shm", "headroom-test-")
		if err != nil {
			t.Fatal(err)
		}
		g, err := qemu.Open(t.Context(), "qemu:"+file, file,
			qemu.Host{Folder: folder, Images: t.TempDir(), Links: links})
		if err != nil {
			t.Fatalf("%v", err)
		}
		t.Cleanup(func() {
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			if err := os.RemoveAll(folder); err != nil {
				t.Error(err)
			}
		})
		found, err := filepath.Glob(folder + "/*/ssh_config")
		if err != nil || len(found) != 1 {
			t.Fatalf("%v, %v", found, err)
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		entries += strings.Replace(string(text), "Host guest\n", "Host "+name+"\n", 1)
		return g
	}
	first, second = open(firstName, firstFile), open(secondName, secondFile)
	sshConfig = filepath.Join(t.TempDir(), "ssh_config")
	if err := os.WriteFile(sshConfig, []byte(entries), 0o600); err != nil {
		t.Fatal(err)
	}
	return first, second, sshConfig
}

func (p nfsPair) run(t host.Target, command string) string {
	p.t.Helper()
	out, err := t.Run(context.WithoutCancel(p.t.Context()), "sh", "-c", "PATH=$PATH:/usr/sbin:/sbin; "+command)
	if err != nil || out.ExitCode != 0 {
		p.t.Fatalf("%s: %d, %s%s, %v", command, out.ExitCode, out.Stdout, out.Stderr, err)
	}
	return strings.TrimSpace(string(out.Stdout))
}

// clean says that nothing of headroom's is left on either: no mount, no folder for one, no scratch file, no load.
func (p nfsPair) clean(where string) {
	p.t.Helper()
	if left := p.run(p.client, "grep headroom /proc/mounts; ls -d /run/headroom* 2>/dev/null; ps | grep '[f]io --'; "+
		"true"); left != "" {
		p.t.Errorf("%s: left on the client: %s", where, left)
	}
	if now := p.run(p.client, loaded); now != p.modules {
		p.t.Errorf("%s: the modules are\n%s\nand were\n%s", where, now, p.modules)
	}
	if left := p.run(p.server, "ls /export; ps | grep '[f]io --'; true"); left != "" {
		p.t.Errorf("%s: left on the server: %s", where, left)
	}
}

// change makes a mount through a journal, and undoes it where it became effective.
func (p nfsPair) change(level string) error {
	p.t.Helper()
	m, err := mount.ParseNFS(level)
	if err != nil {
		p.t.Fatal(err)
	}
	j, err := journal.Create(p.t.TempDir(), "TEST", p.client)
	if err != nil {
		p.t.Fatal(err)
	}
	setting, err := mount.NFSSetting(p.t.Context(), p.client, m, "/run/headroom-test")
	if err != nil {
		p.t.Fatal(err)
	}
	err = j.Change(p.t.Context(), setting, level)
	if err == nil {
		err = j.CheckInEffect(p.t.Context())
	}
	if undone := j.Undo(p.t.Context()); undone != nil || len(j.Open()) != 0 {
		p.t.Errorf("%s is not undone: %v", level, undone)
	}
	if closed := j.Close(); closed != nil {
		p.t.Error(closed)
	}
	return err
}

// What the kernel makes of a mount, and mount does not tell, is refused by its name; and nothing is left after success,
// failure, SIGKILL and restore.
func TestNFSMountsAreVerifiedAndUndone(t *testing.T) {
	t.Parallel()
	p := startNFSPair(t, nil)
	const tcp, rdma = "vers=4.2,proto=tcp", "vers=4.2,proto=rdma,port=20049"
	for _, c := range []struct{ before, level, want string }{
		{"", "10.0.11.1:/ " + tcp + ",nconnect=2,rsize=65536", ""},
		{"", "10.0.11.1,10.0.12.1:/ " + tcp + ",max_connect=2", ""},
		{"", "10.0.11.1:/ " + rdma, ""},
		{"", "10.0.11.1,10.0.12.1:/ " + rdma + ",max_connect=2", ""},
		{"", "10.0.11.1,10.0.12.1:/ " + tcp,
			"the address 10.0.12.1 of the server is not used: all calls go to 10.0.11.1"},
		{"", "10.0.11.1:/ " + rdma + ",nconnect=2",
			"nconnect=2 was asked for, and with RDMA it has no effect: there is one transport"},
		{tcp, "10.0.12.1:/ " + rdma, "NFS was asked for RDMA and goes over TCP"},
		{tcp, "10.0.11.1:/ " + tcp + ",nconnect=4", "4 transports were asked for, and there is one transport"},
		{"", "10.0.11.1:/nowhere " + tcp, "can't set 10.0.11.1:/nowhere"},
	} {
		if c.before != "" {
			p.run(p.client, "mount.nfs 10.0.11.1:/ /mnt -o "+c.before+",retry=0")
		}
		err := p.change(c.level)
		if c.before != "" {
			p.run(p.client, "umount /mnt; for m in nfsv4 nfs; do n=0; until rmmod $m || [ $n = 600 ]; do sleep 0.2; n=$((n+1)); done; done")
			p.clean("after " + c.before)
		}
		if c.before == "" {
			p.clean(c.level)
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.level, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s after %q: %v, want %s", c.level, c.before, err, c.want)
		}
	}
	p.killed()
}

// killed has the experiment interrupted in the middle of a load, and killed there and in the middle of mounting, which
// restore undoes.
func (p nfsPair) killed() {
	t := p.t
	v := p.fixture()
	text := strings.Replace(nfsTestSuite, "runtime: 1s", "runtime: 600s", 1)
	if err := os.WriteFile(v.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"nfs", v.suite, "--on", "client=ssh://nfs-client", "--export", "/export", "--path", "/",
		"--address", "10.0.11.1", "--address", "10.0.12.1", "--transport", "tcp"}
	restored := func(where string) {
		if out, err := v.command("restore").CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", where, err, out)
		}
		p.clean(where)
		v.checkNothingLeft(where)
	}
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for range 3 {
		step := 2 + random.IntN(12) // of the journal, which comes before any run
		cmd := with(v.command(args...), exitBefore+"="+strconv.Itoa(step))
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "died before") {
			t.Fatalf("step %d: %v\n%s", step, err, out)
		}
		_, where, _ := strings.Cut(string(out), "died before: ")
		restored(strings.TrimSpace(where))
	}
	cmd := p.loading(v, args)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("interrupted: %v", err)
	}
	p.clean("after an interruption")
	cmd = p.loading(v, args)
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	restored("a load")
}

// loading starts the experiment, and returns when a load works on the mount; the stage of the server comes before.
func (p nfsPair) loading(v fixture, args []string) *exec.Cmd {
	p.t.Helper()
	cmd := v.command(args...)
	var printed bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &printed
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Minute); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		load, mounts := p.run(p.client, "ps | grep '[f]io --name'; true"),
			p.run(p.client, "grep -c /run/headroom /proc/mounts; true")
		if load != "" && mounts != "0" && p.run(p.server, "ls /export") != "" {
			return cmd
		}
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	p.t.Fatalf("no load is seen on the mount\n%s", printed.String())
	return nil
}

// What an interruption and a crash leave of the experiment is gone on with: what was measured is not measured again,
// and what was not is.
func TestNFSIsResumed(t *testing.T) {
	guestSearches(t)
	t.Parallel()
	p := startNFSPair(t, nil)
	v := p.fixture()
	if err := os.WriteFile(v.suite, []byte(strings.Replace(nfsTestSuite, "runtime: 1s", "runtime: 20s", 1)),
		0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"nfs", v.suite, "--on", "client=ssh://nfs-client", "--on", "server=ssh://nfs-server", "--export",
		"/export", "--path", "/", "--address", "10.0.11.1", "--address", "10.0.12.1",
		"--transport", "tcp"}
	cmd := p.loading(v, args)
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if out, err := v.command("restore").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	p.clean("after a crash while the server's file lies there")
	first := v.measuredStages()
	if len(first) != 2 || first[0].Run.Status != lab.Interrupted || first[1].Run.Status != lab.Interrupted {
		t.Fatalf("%d runs", len(first))
	}
	resume := []string{"nfs", "--resume", first[1].Run.ID}
	cmd = p.loading(v, resume)
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("interrupted: %v", err)
	}
	p.clean("after an interruption")
	out, err := v.command(resume...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.clean("after it was resumed")
	var stages []string
	for _, b := range v.measuredStages() {
		stages = append(stages, b.Run.Arms[0].Levels[lab.StageLevel])
		cells := map[string]int{}
		for r, err := range b.Repetitions() {
			if err != nil {
				t.Fatal(err)
			}
			cells[r.Cell]++
		}
		if b.Run.Status != lab.Complete || b.Run.Pair != first[0].Run.Pair || len(cells) != 2 ||
			cells["randread"] != 1 || cells["randwrite"] != 1 {
			t.Errorf("%s is %s, of %q: %v", b.Run.ID, b.Run.Status, b.Run.Pair, cells)
		}
	}
	if want := []string{"server memory", "TCP single path", "TCP multipath"}; !slices.Equal(stages, want) {
		t.Errorf("stages %q, want %q\n%s", stages, want, out)
	}
}

// A sweep over mounts: each is made, verified, measured and undone in turn; what a crash leaves is mended wherever it
// comes, the scratch file on the server included.
func TestNFSMountsAreSwept(t *testing.T) {
	guestSearches(t)
	t.Parallel()
	p := startNFSPair(t, nil)
	sweep := func(v fixture, runtime string, levels ...string) []string {
		if err := os.WriteFile(v.suite, []byte(strings.Replace(nfsTestSuite, "runtime: 1s", "runtime: "+runtime, 1)),
			0o644); err != nil {
			t.Fatal(err)
		}
		return []string{"sweep", v.suite, "--on", "ssh://nfs-client", "--factor", `mount:nfs="` +
			strings.Join(levels, `","`) + `"`, "--blocks", "2"}
	}
	tcp, more := "10.0.11.1:/ vers=4.2,proto=tcp", "10.0.11.1:/ vers=4.2,proto=tcp,nconnect=2,rsize=65536,noac"
	rdma := "10.0.11.1,10.0.12.1:/ vers=4.2,proto=rdma,port=20049,max_connect=2"
	v := p.fixture()
	began := time.Now()
	out, err := v.command(sweep(v, "1s", tcp, more, rdma)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("a sweep over three mounts, %s\n%s", time.Since(began).Round(time.Second), out)
	p.clean("after a sweep")
	measured := map[string]int{}
	b := v.onlyRun()
	for r, err := range b.Repetitions() {
		if err != nil || r.Values["read.iops"]+r.Values["write.iops"] <= 0 {
			t.Errorf("%+v, %v", r.Values, err)
		}
		for _, did := range r.Did {
			if level, ok := strings.CutPrefix(did, "set mount:nfs="); ok {
				measured[level]++
			}
		}
	}
	if b.Run.Status != lab.Complete || measured[tcp] < 2 || measured[more] < 2 || measured[rdma] < 2 {
		t.Errorf("%s: %v", b.Run.Status, measured)
	}
	p.run(p.server, "mkdir /export/other")
	for want, level := range map[string]string{
		"with RDMA it has no effect": "10.0.11.1:/ vers=4.2,proto=rdma,port=20049,nconnect=2",
		"leads to another directory": "10.0.11.1:/other vers=4.2,proto=tcp",
	} {
		v := p.fixture()
		if out, err := v.command(sweep(v, "1s", tcp, level)...).CombinedOutput(); err == nil ||
			!strings.Contains(string(out), want) {
			t.Errorf("%v\n%s\nwant %s", err, out, want)
		}
	}
	p.run(p.server, "rmdir /export/other")
	p.clean("after refusals")
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	for range 3 {
		v := p.fixture()
		step := 2 + random.IntN(120)
		cmd := with(v.command(sweep(v, "1s", tcp, more)...), exitBefore+"="+strconv.Itoa(step))
		out, _ := cmd.CombinedOutput()
		_, where, _ := strings.Cut(string(out), "died before: ")
		if out, err := v.command("restore").CombinedOutput(); err != nil {
			t.Errorf("step %d, %s: %v\n%s", step, where, err, out)
		}
		p.clean(fmt.Sprintf("step %d, %s", step, where))
	}
	v = p.fixture()
	cmd := p.loading(v, sweep(v, "30s", tcp, more))
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = cmd.Wait()
	if out, err := v.command("restore").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	p.clean("a load")
}
