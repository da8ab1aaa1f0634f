package cli

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// exportSuite is one load of ten seconds, twice.
const exportSuite = `version: 1
name: exported
title: reads of an export
place: directory
repetitions: 2
size: 64m
defaults: {ioengine: libaio, direct: 1, bs: 64k, runtime: 10s, time_based: 1}
jobs:
  - {name: reads, fio: {rw: randread, iodepth: 4}}
`

// exported has the server's storage read 8000 times a second, and what goes through its network 2000 times for each
// transport.
func (l *scriptedLab) exported() {
	l.machine("nas").Fio = func(*scripted.Load) scripted.IO { return scripted.IO{Read: 8000} }
	client := l.machine("client")
	client.Fio = func(load *scripted.Load) scripted.IO {
		for _, n := range client.Mounts() {
			if strings.HasPrefix(load.Params["filename"], n.Point+"/") {
				return scripted.IO{Read: 2000 * float64(n.Transports)}
			}
		}
		return scripted.IO{Read: 100}
	}
}

// staged are the documents of the runs of stages, by what each was called.
func (l *scriptedLab) staged() map[string]summary.Run {
	l.Helper()
	all := map[string]summary.Run{}
	out := l.run("list", "--json").ends(0)
	for _, r := range documentIn[struct{ Runs []store.Row }](out).Runs {
		for _, arm := range r.Arms {
			d := l.saved(r.ID + ":" + arm)
			for _, c := range d.Cells {
				all[c.Levels["stage"]] = d
			}
		}
	}
	return all
}

func (l *scriptedLab) shares(args ...string) []string {
	return append(args, "--on", "client=scripted://client", "--on", "server=scripted://nas")
}

// unmounted fails the test when a mount is left, or a folder for one.
func (l *scriptedLab) unmounted() {
	l.Helper()
	client := l.machine("client")
	if left := client.Mounts(); len(left) > 0 {
		l.Errorf("still mounted: %+v", left)
	}
	if left := client.Names("/run"); len(left) > 0 {
		l.Errorf("left in /run: %v", left)
	}
	l.checkNothingLeft("client")
	l.checkNothingLeft("nas")
}

// The server's own storage, a mount by one address, and one by two: each is an arm, and stands beside the others.
func TestScriptedNFSStages(t *testing.T) {
	inScriptedLab(t, []string{"client", "nas"}, func(l *scriptedLab) {
		l.wired(2, "client", "nas")
		l.exported()
		suite := l.file("exported.yaml", exportSuite)
		args := l.shares("nfs", suite, "--export", "/srv", "--address", "198.18.1.2", "--address", "198.18.2.2")
		l.run(append(args, "--dry-run")...).ends(0).says("the server's own storage: ",
			"TCP single path: mount 198.18.1.2:/srv vers=4.2,proto=tcp",
			"TCP multipath: mount 198.18.1.2,198.18.2.2:/srv vers=4.2,proto=tcp,max_connect=2",
			"RDMA is left out: the client has no RDMA port")
		if n := len(l.machine("client").Loads()) + len(l.machine("nas").Loads()); n > 0 {
			t.Fatalf("%d loads", n)
		}
		o := l.run(args...).ends(0)
		o.says("exported on /srv of scripted://nas", " of scripted://client", "3 rows in 3 stages", "server ext4",
			"TCP single path", "TCP multipath", "200.0%",
			"Ways of randread 64k q4 in TCP multipath: bytes at the client: eth1 50%, eth2",
			"transport 1 (tcp) 50%, transport 2 (tcp) 50%",
			"To have TCP multipath for good, the fastest of 2 mounts in 1 of 1 load",
			"198.18.1.2:/srv /mnt/srv nfs4 vers=4.2,proto=tcp,max_connect=2,_netdev 0 0",
			"198.18.2.2:/srv /mnt/srv-path2 nfs4")
		for stage, want := range map[string]float64{"server ext4": 8000, "TCP single path": 2000,
			"TCP multipath": 4000} {
			d, ok := l.staged()[stage]
			if got := values(d, "reads", "read.iops"); !ok || !slices.Equal(got, []float64{want, want}) ||
				d.Status != lab.Complete || slices.Contains(codes(d), "path-unused") {
				t.Errorf("%s: %v, %v", stage, got, codes(d))
			}
		}
		if got := l.loaded("client"); !slices.Equal(got, []string{"reads", "reads", "reads", "reads"}) {
			t.Errorf("the file that the server has laid out is read, and the client does %v", got)
		}
		l.run("nfs", "--resume", "last").ends(0)
		for _, format := range []string{"html", "markdown"} {
			text := l.run("report", "last", "--format", format).ends(0).stdout
			if strings.Contains(text, "scripted://client") || strings.Contains(text, "198.18.") ||
				!strings.Contains(text, "Stages of run") {
				l.Errorf("%s has no stages, or names:\n%s", format, text)
			}
			if text = l.run("report", "last", "--format", format, "--serials").ends(0).stdout; !strings.Contains(text,
				"198.18.") {
				l.Errorf("%s has no names, which were asked for:\n%s", format, text)
			}
		}
		l.unmounted()
	})
}

// All stages are one run, of which each can be named; where two runs have a label, it names none.
func TestScriptedNFSStagesAreOneRun(t *testing.T) {
	inScriptedLab(t, []string{"client", "nas"}, func(l *scriptedLab) {
		l.wired(2, "client", "nas")
		l.exported()
		args := l.shares("nfs", l.file("exported.yaml", exportSuite), "--export", "/srv", "--address",
			"198.18.1.2", "--label", "share")
		l.run(args...).ends(0)
		l.run("list").ends(0).says("exported, nfs", "/srv and 1 more")
		l.run("stages", "share").ends(0).says("2 rows in 2 stages")
		l.run("show", "share").ends(0).says("2 rows in 2 stages", "share server: exported on /srv of ")
		l.run("show", "share", "--cells").ends(0).says("share: exported on /srv of ", "stage=server ext4")
		l.run("show", "share:tcp-single-path").ends(0).says("exported on /run/headroom-")
		l.run("compare", "share:server", "share:tcp-single-path", "--anyway").ends(0).says("-75.0%")
		l.run("stages", "share:server").ends(0).says("2 rows in 2 stages")
		l.run("sweep", "--show", "share").ends(0).says("by the means stage=server ext4 is best", "nothing is proved")
		l.run(args...).ends(0)
		l.run("stages", "share").ends(2).says(`"share" names 2 runs`)
		l.unmounted()
	})
}

// A mount that came out otherwise than it was asked for is no result; the other stages are measured.
func TestScriptedNFSMountComesOutOtherwise(t *testing.T) {
	inScriptedLab(t, []string{"client", "nas"}, func(l *scriptedLab) {
		l.wired(2, "client", "nas")
		l.exported()
		suite, client := l.file("exported.yaml", exportSuite), l.machine("client")
		args := l.shares("nfs", suite, "--export", "/srv", "--address", "198.18.1.2")
		client.OnMount = func(n *scripted.Mount) string { n.Kind = "tcp"; return "" }
		l.run(append(args, "--transport", "tcp", "--transport", "rdma")...).ends(1).says(
			"NFS was asked for RDMA and goes over TCP", "not measured: RDMA single path", "TCP single path")
		client.OnMount = func(n *scripted.Mount) string { n.Transports = 1; return "" }
		l.run(append(args, "--options", "nconnect=4")...).ends(1).says(
			"4 transports were asked for, and there is one transport", "not measured: TCP single path")
		client.OnMount = func(n *scripted.Mount) string { n.Options = []string{"vers=4.1", "proto=tcp"}; return "" }
		l.run(args...).ends(1).says("vers=4.2 was asked for, and the mount has vers=4.1")
		client.OnMount = func(*scripted.Mount) string { return "mount.nfs: access denied by server while mounting" }
		l.run(args...).ends(1).says("access denied by server")
		l.unmounted()
	})
}

// A path that carries nothing, and two addresses at one card, are doubts about the run.
func TestScriptedNFSPathCarriesNothing(t *testing.T) {
	inScriptedLab(t, []string{"client", "nas"}, func(l *scriptedLab) {
		l.wired(2, "client", "nas")
		l.exported()
		suite, client := l.file("exported.yaml", exportSuite), l.machine("client")
		args := l.shares("nfs", suite, "--export", "/srv", "--transport", "tcp")
		client.OnMount = func(n *scripted.Mount) string { n.Idle = n.Transports - 1; return "" }
		l.run(append(args, "--address", "198.18.1.2", "--options", "nconnect=3")...).ends(0)
		d := l.staged()["TCP single path, 3 connections"]
		if !slices.Contains(codes(d), "path-unused") {
			t.Errorf("%v", codes(d))
		}
		client.OnMount = func(n *scripted.Mount) string { n.Over = []string{"eth1"}; return "" }
		l.run(append(args, "--address", "198.18.1.2", "--address", "198.18.2.2")...).ends(0).says(
			"2 addresses lead to the server, and all that was counted went", "over network card eth1",
			"[randread 64k q4 in TCP multipath]")
		l.unmounted()
	})
}

// Ninety against ten is seen: of each repetition in the run, and as shares in its report, on its page and in that of
// the stages. A doubt about one stage stands at that stage.
func TestScriptedNFSPathsAreUneven(t *testing.T) {
	inScriptedLab(t, []string{"client", "nas"}, func(l *scriptedLab) {
		l.wired(2, "client", "nas")
		l.exported()
		l.machine("client").OnMount = func(n *scripted.Mount) string {
			n.Over = append(slices.Repeat([]string{"eth1"}, 9), "eth2")
			return ""
		}
		l.run(l.shares("nfs", l.file("exported.yaml", exportSuite), "--export", "/srv", "--transport", "tcp",
			"--address", "198.18.1.2", "--address", "198.18.2.2")...).ends(0).says(
			"Ways of randread 64k q4 in TCP multipath: bytes at the client: eth1 90%, eth2")
		d := l.staged()["TCP multipath"]
		cell := d.Cells[0]
		if len(cell.Paths) != 4 || math.Abs(cell.Paths[0].Share-0.9) > 0.01 || cell.Paths[0].Way != "eth1" ||
			cell.Paths[0].Of != "bytes" || cell.Paths[3].Of != "calls" {
			t.Errorf("%+v", cell.Paths)
		}
		for _, r := range l.repetitions(d.ID) {
			if len(r.Ports) != 2 || len(r.Transports) != 2 || r.Ports[0].Received.Bytes < 8*r.Ports[1].Received.Bytes ||
				r.Transports[0].Calls < 1000 {
				t.Errorf("%+v, %+v", r.Ports, r.Transports)
			}
		}
		if len(cell.Transports) != 4 || cell.Transports[3].Number != 2 || cell.Transports[3].Repetition != 2 {
			t.Errorf("%+v", cell.Transports)
		}
		for _, format := range []string{"report.html", "report.md"} {
			file := filepath.Join(l.dir, format)
			l.run("report", d.ID, "-o", file).ends(0)
			page, err := os.ReadFile(file)
			// and the other stages beside it
			for _, want := range []string{"eth1 90%, eth2 10%", "200.0%", "TCP single path"} {
				if err != nil || !strings.Contains(string(page), want) {
					t.Errorf("%s does not say %q, %v", format, want, err)
				}
			}
		}
		l.unmounted()
	})
}

// A mount that can't be undone is said, and is what headroom restore takes care of.
func TestScriptedNFSStaysMounted(t *testing.T) {
	inScriptedLab(t, []string{"client", "nas"}, func(l *scriptedLab) {
		l.exported()
		client, busy := l.machine("client"), true
		client.AtCommand("until umount", 0, func(e *scripted.Event) {
			if busy {
				e.Fail(1, "umount: target is busy.\n")
			}
		})
		l.run(l.shares("nfs", l.file("exported.yaml", exportSuite), "--export", "/srv", "--address",
			"198.18.0.2")...).ends(1).says("was not put back", "headroom restore")
		if len(client.Mounts()) != 1 {
			t.Errorf("%+v", client.Mounts())
		}
		busy = false
		l.run("restore").ends(0)
		l.unmounted()
	})
}

// A mount that is there already is measured, and left as it is; a guest whose disk is on it is measured beside it.
func TestScriptedNFSMounted(t *testing.T) {
	inScriptedLab(t, []string{"client", "nas", "vm"}, func(l *scriptedLab) {
		l.exported()
		suite, client, vm := l.file("exported.yaml", exportSuite), l.machine("client"), l.machine("vm")
		client.Folder("/mnt/data")
		if why := client.Mounted("198.18.0.2:/srv", "/mnt/data", "vers=4.2,proto=tcp"); why != "" {
			t.Fatal(why)
		}
		l.run("nfs", suite, "--on", "client=scripted://client", "--mounted", "/mnt/data").ends(0).says(
			"the server's own storage is not measured", "TCP single path")
		if got := values(l.staged()["TCP single path"], "reads", "read.iops"); !slices.Equal(got,
			[]float64{2000, 2000}) {
			t.Errorf("%v", got)
		}
		args := []string{"nfs", suite, "--on", "client=scripted://client", "--mounted", "/mnt/data", "--guest",
			"scripted://vm", "--guest-place", "/srv"}
		client.SetOutput(`sh -c 'exec ls -l /proc/[0-9]*/fd 2>/dev/null'`, scripted.Output{})
		l.run(args...).ends(4).says("no virtual machine has a file of /mnt/data open")
		open := func(uuid string) {
			client.SetOutput(`sh -c 'exec ls -l /proc/[0-9]*/fd 2>/dev/null'`,
				scripted.Output{Stdout: "/proc/77/fd:\ntotal 0\nlrwx------ 1 root root 64 Jan  1 12:00 9 -> " +
					"/mnt/data/vm.raw\n"})
			client.Set("/proc/77/cmdline",
				strings.ReplaceAll("/usr/bin/kvm\x00-name\x00vm1\x00-uuid\x00UUID\x00-m\x0064", "UUID", uuid))
		}
		vm.Set("/sys/class/dmi/id/product_uuid", "7f1d6a4e-0000-4000-8000-0000000000aa")
		open("11111111-2222-4333-8444-555555555555")
		l.run(args...).ends(4).says("scripted://vm is not among the virtual machines that have files of /mnt/data open")
		open("7f1d6a4e-0000-4000-8000-0000000000aa")
		l.run(args...).ends(0).says("TCP single path, in a guest")
		if n := len(vm.Loads()); n != 3 {
			t.Errorf("%d loads in the guest", n)
		}
		if got := codes(l.staged()["TCP single path, in a guest"]); len(got) < 2 {
			t.Errorf("what the guest reads does not come over the mount, and the warnings are %v", got)
		}
		if len(client.Mounts()) != 1 || len(client.Names("/mnt/data")) != 0 {
			t.Errorf("%+v, %v", client.Mounts(), client.Names("/mnt/data"))
		}
	})
}

func TestScriptedNFSRefusals(t *testing.T) {
	inScriptedLab(t, []string{"client", "nas"}, func(l *scriptedLab) {
		l.machine("nas").Folder("/other")
		ends := "--on client=scripted://client --on server=scripted://nas "
		for _, c := range []struct {
			args, words string
			code        int
		}{
			{"--on scripted://client", "does not say which end it is", 2},
			{"--on client=scripted://client --on client=scripted://nas", "names two targets as the client", 2},
			{"--on client=scripted://client --on server=scripted://client", "client and server are both", 2},
			{ends + "--export srv", "named from its root on", 2},
			{ends, "mount what?", 2},
			{ends + "--export /srv", "the server's address is not known", 2},
			{ends + "--export /srv --address here", "is no address", 2},
			{ends + "--export /srv --address 10.0.0.1 --address 10.0.0.1", "stands twice", 2},
			{ends + "--export /srv --address 10.0.0.1 --transport udp", "neither tcp nor rdma", 2},
			{ends + "--export /srv --address 10.0.0.1 --guest ssh://vm", "--guest is about a mount that stays", 2},
			{ends + "--mounted /mnt --address 10.0.0.1", "--mounted measures an existing mount", 2},
			{ends + "--mounted /mnt", "which directory is it on the server?", 2},
			{ends + "--mounted /mnt --export /srv --guest ssh://vm", "belong together", 2},
			{ends + "--mounted /mnt --export /srv --guest ssh://vm --guest-place srv", "is no whole path", 2},
			{ends + "--mounted /mnt --export /srv --guest scripted://nas --guest-place /srv",
				"is named as the guest and as another machine", 2},
			{"network " + ends + "--export /srv --address 10.0.0.1", "measures no storage", 2},
			{ends + "--export /srv --address 198.18.0.2 --event-on nowhere --event '2s: true'", "", 2},
			{"--resume nothing", "nothing", 2},
		} {
			o := l.run(append([]string{"nfs"}, strings.Fields(c.args)...)...)
			if o.code != c.code {
				t.Errorf("%s: exit code %d\n%s", c.args, o.code, o.stderr)
			}
			o.says(c.words)
		}
		l.unmounted()
		suite := l.file("exported.yaml", exportSuite)
		l.run(l.shares("nfs", suite, "--export", "/srv", "--path", "/other", "--address", "198.18.0.2")...).ends(
			1).says("is not seen in the mount", "/other is another one")
		l.unmounted()
	})
}

// Mounts with other options are levels of a sweep; each is made for it and undone, and the scratch file is removed from
// the server.
func TestScriptedSweepOfMounts(t *testing.T) {
	inScriptedLab(t, []string{"client", "nas"}, func(l *scriptedLab) {
		l.exported()
		suite, client := l.file("exported.yaml", exportSuite), l.machine("client")
		const factor = `mount:nfs="198.18.0.2:/srv vers=4.2,proto=tcp","198.18.0.2:/srv vers=4.2,proto=tcp,nconnect=2"`
		client.AtLoad("--name=reads", 3, func(e *scripted.Event) { e.After(3*time.Second, l.interrupt) })
		args := []string{"sweep", suite, "--on", "scripted://client", "--factor", factor, "--blocks", "2", "--seed",
			"1"}
		l.run(args...).ends(130).says("headroom sweep --resume")
		l.unmounted()
		l.run("sweep", "--resume", "last").ends(0)
		iops := map[string]float64{}
		for _, c := range l.saved("last").Cells {
			iops[c.Levels["mount:nfs"]] = c.Metrics["read.iops"].Center
		}
		if len(iops) != 2 || !slices.Equal(slices.Sorted(maps.Values(iops)), []float64{2000, 4000}) {
			t.Errorf("%v", iops)
		}
		l.unmounted()
		l.run(append(args, "--dry-run")...).ends(2).says("a dry run mounts nothing")
		l.run("sweep", suite, "/srv", "--on", "scripted://client", "--factor",
			factor).ends(2).says("mount:nfs makes a separate folder")
		l.run("ablate", suite, "--on", "scripted://client", "--setting", "mount:nfs=198.18.0.2:/srv vers=4.2").ends(
			2).says("mount:nfs is for sweeps")
		l.machine("nas").Folder("/other")
		l.run("sweep", suite, "--on", "scripted://client", "--factor",
			`mount:nfs="198.18.0.2:/srv vers=4.2","198.18.0.2:/other vers=4.2"`).ends(4).says(
			"leads to another directory than the first level")
		l.unmounted()
	})
}

// TestScriptedSweepOfMountsEndsBetween has the server refuse one level of a sweep, so that it ends while nothing is
// mounted. The scratch file on the server is removed through a mount of the first level.
func TestScriptedSweepOfMountsEndsBetween(t *testing.T) {
	inScriptedLab(t, []string{"client", "nas"}, func(l *scriptedLab) {
		l.exported()
		client, refused := l.machine("client"), false
		client.AtLoad("--name=reads", 2, func(*scripted.Event) { refused = true })
		client.OnMount = func(n *scripted.Mount) string {
			if refused && slices.Contains(n.Options, "nconnect=2") {
				return "mount.nfs: Connection refused"
			}
			return ""
		}
		l.run("sweep", l.file("exported.yaml", exportSuite), "--on", "scripted://client", "--factor",
			`mount:nfs="198.18.0.2:/srv vers=4.2,proto=tcp","198.18.0.2:/srv vers=4.2,proto=tcp,nconnect=2"`,
			"--blocks", "3", "--seed", "1").ends(1).says("Connection refused")
		l.unmounted()
	})
}

// TestScriptedNFSMountedAgain kills experiments during loads over mounts that they made. Then the client restarts and
// has lost the mounts. The scratch file is on the server, so restore mounts the export again to remove it.
func TestScriptedNFSMountedAgain(t *testing.T) {
	for name, args := range map[string][]string{
		"nfs": {"nfs", "", "--export", "/srv", "--address", "198.18.0.2", "--on", "client=scripted://client"},
		"sweep": {"sweep", "", "--on", "scripted://client", "--factor",
			`mount:nfs="198.18.0.2:/srv vers=4.2,proto=tcp","198.18.0.2:/srv vers=4.2,proto=tcp,nconnect=2"`},
	} {
		t.Run(name, func(t *testing.T) {
			inScriptedLab(t, []string{"client", "nas"}, func(l *scriptedLab) {
				l.exported()
				client, nas := l.machine("client"), l.machine("nas")
				d := &crashes{scriptedLab: l, machine: client}
				var files func()
				client.AtLoad("--name=reads", 1, func(e *scripted.Event) {
					e.After(time.Second, func() {
						d.record("load")
						files = nas.Snapshot()
					})
				})
				args[1] = l.file("exported.yaml", exportSuite)
				l.run(args...).ends(0)
				l.unmounted()
				left := d.list()[0]
				left.restore()
				files()
				if n := len(nas.Names("/srv")); n != 1 {
					t.Fatalf("%d files on the server while a load runs", n)
				}
				client.PowerCycle()
				if n := len(client.Mounts()); n != 0 {
					t.Fatalf("%d mounts after a boot", n)
				}
				d.afterCrash(left, "restore").ends(0).says("removed ")
				l.unmounted()
				if names := nas.Names("/srv"); len(names) > 0 {
					t.Errorf("left on the server: %v", names)
				}
			})
		})
	}
}

// What an event lacks is reported before the first load, and not only once its mount is there; a stage that
// is refused leaves the others' report whole.
func TestScriptedNFSEventIsRefusedBeforeTheFirstLoad(t *testing.T) {
	inScriptedLab(t, []string{"client", "nas"}, func(l *scriptedLab) {
		l.wired(2, "client", "nas")
		l.exported()
		client := l.machine("client")
		args := l.shares("nfs", l.file("exported.yaml", exportSuite), "--export", "/srv", "--transport", "tcp",
			"--address", "198.18.1.2", "--address", "198.18.2.2", "--set", "runtime=60s")
		version := `PATH="$PATH:/usr/sbin:/sbin"; exec "$@"`
		client.Answer = func(argv []string) (scripted.Output, bool) {
			line := strings.Join(argv, " ")
			return scripted.Output{Stdout: "BusyBox v1.36\n"}, strings.Contains(line, version) &&
				strings.HasSuffix(line, " -V")
		}
		l.run(append(args, "--event", "20s: lose-trunk 198.18.2.2")...).ends(4).says("there is no ip of iproute2",
			"apt install iproute2")
		if n := len(client.Loads()) + len(l.machine("nas").Loads()); n > 0 {
			t.Errorf("%d loads were started", n)
		}
		l.run("show", "last").ends(2)
		l.unmounted()
	})
}
