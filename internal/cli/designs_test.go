package cli

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/designtest"
	"github.com/headroom/headroom/internal/testing/scripted"
)

// Every kind of experiment passes the same tests.
func TestDesigns(t *testing.T) {
	for _, d := range designs() {
		t.Run(strings.ReplaceAll(strings.TrimSpace(string(d.Design)+" "+d.Name), " ", "-"), func(t *testing.T) {
			designtest.Test(t, Run, d)
		})
	}
}

// A design that is not in the table would not be tested.
func TestEveryDesignIsTested(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../lab/design.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, name := range spec.Names {
			literal, ok := spec.Values[i].(*ast.BasicLit)
			if !ok || !strings.HasPrefix(name.Name, "Design") {
				continue
			}
			named++
			value, _ := strconv.Unquote(literal.Value)
			if !slices.ContainsFunc(designs(), func(d designtest.Design) bool { return string(d.Design) == value }) {
				t.Errorf("designs() has no entry for lab.%s", name.Name)
			}
		}
		return true
	})
	if named == 0 {
		t.Error("no design was found")
	}
}

const (
	designWrites = `version: 1
name: both
title: reads and writes
place: directory
repetitions: 2
size: 16m
defaults: {ioengine: libaio, direct: 1, bs: 4k, iodepth: 4, runtime: 2s, time_based: 1}
jobs:
  - {name: reads, fio: {rw: randread}}
  - {name: writes, fio: {rw: randwrite}}
`
	designReads = `version: 1
name: reading
title: one load that only reads
repetitions: 2
size: 16m
defaults: {ioengine: libaio, direct: 1, bs: 64k, iodepth: 4, runtime: 2s, time_based: 1}
jobs:
  - {name: reads, fio: {rw: randread}}
`
	designSends = `version: 1
name: sending
title: to the server
repetitions: 2
jobs:
  - {name: send, iperf3: {time: 2s}}
`
)

// designs is the table of all that measures.
func designs() []designtest.Design {
	words := strings.Fields
	one, ends := []string{"db1"}, []string{"client", "server"}
	const (
		onOne   = " --on scripted://db1 --seed 3"
		between = " --on client=scripted://client --on server=scripted://server"
		scratch = "db1:rm -fv -- /srv/"
	)
	settings := map[string]designtest.Shown{"queue:read_ahead_kb": designtest.File("db1", readAhead),
		"sysctl:vm.swappiness": designtest.File("db1", swappiness)}
	return []designtest.Design{
		{Design: lab.DesignRun, Machines: one, Suite: designWrites, Args: words("run {suite} /srv" + onOne),
			Show: words("show last"), Undo: []string{scratch}, Budget: 6 * time.Second},
		{Design: lab.DesignRun, Name: "on several targets", Machines: []string{"a", "b"}, Suite: designWrites,
			Args: words("run {suite} /srv --on a=scripted://a --on b=scripted://b"), Show: words("show last"),
			Budget: 6 * time.Second},
		{Design: lab.DesignRun, Name: "profiled", Machines: one, Suite: designWrites,
			Args: words("run {suite} /srv --profile=1" + onOne), Show: words("show last"), Undo: []string{scratch}},
		{Design: lab.DesignProfile, Machines: one, Suite: designWrites,
			Args: words("profile {suite} /srv --loads 1" + onOne), Show: words("profile --resume last"),
			Undo: []string{scratch}},
		{Design: lab.DesignSoak, Machines: one, Suite: designWrites,
			Args: words("soak {suite} /srv --job writes --for 8s --round 2s --on scripted://db1"),
			Show: words("soak --resume last"),
			Undo: []string{scratch}},
		{Design: lab.DesignLive, Machines: one, Prepare: designFolders, Suite: designReads, Adaptive: true,
			Args: words("compare --live {suite} /srv/a /srv/b scripted://db1 --seed 3 --confirm 0 --alpha 0.3"),
			Show: words("compare last:base last:new"), Undo: []string{scratch + "a"}, Budget: 12 * time.Second},
		{Design: lab.DesignLive, Name: "profiled", Machines: one, Prepare: designFolders, Suite: designReads,
			Adaptive: true,
			Args: words("compare --live {suite} /srv/a /srv/b scripted://db1 --seed 3 --confirm 0 --alpha 0.3 " +
				"--profile=2"),
			Show: words("compare last:base last:new"), Undo: []string{scratch + "a"}},
		{Design: lab.DesignLayers, Machines: one, Prepare: designFolders, Suite: designReads,
			Args: words("compare --layers {suite} scripted://db1 /srv/a /srv/b --seed 3 --pairs 2"),
			Show: words("compare --layers --resume last"), Undo: []string{scratch + "b"}, Budget: 5 * time.Second},
		{Design: lab.DesignLadder, Machines: one, Suite: designReads,
			Args: words("ladder /dev/nvme0n1 --suite {suite} --passes 2" + onOne), Show: words("ladder --resume last"),
			Budget: 8 * time.Second},
		{Design: lab.DesignNetworkLadder, Machines: ends, Prepare: designPorts,
			Args: words("ladder --address 198.18.1.2 --passes 2 --set time=2s --direction send --seed 3" + between),
			Show: words("ladder --resume last"), Budget: 14 * time.Second},
		{Design: lab.DesignNet, Machines: ends, Suite: designSends, Args: words("net {suite} --pairs 2" + between),
			Show: words("show last"), Budget: 3 * time.Second},
		{Design: lab.DesignInterference, Machines: ends, Prepare: designPorts,
			Args: words("net interference --group a=198.18.1.2 --group data=/srv --passes 2 --set time=2s " +
				"--set-fio runtime=2s --size 16m --seed 3" + between),
			Show: words("net interference --resume last"), Budget: 12 * time.Second},
		{Design: lab.DesignNFS, Machines: ends, Prepare: designMounts, Suite: designReads,
			Args: words("nfs {suite} --export /srv --address 198.18.1.2 --address 198.18.2.2" + between),
			Show: words("nfs --resume last"), Undo: []string{"client:umount"}, Budget: 9 * time.Second},
		{Design: lab.DesignNFS, Name: "in a guest", Machines: []string{"client", "server", "vm"}, Prepare: designGuest,
			Suite: designReads, Args: words("nfs {suite} --on client=scripted://client --mounted /mnt/data " +
				"--guest scripted://vm --guest-place /srv"), Show: words("nfs --resume last"),
			Undo: []string{"vm:rm -fv -- /srv/"}, Budget: 7 * time.Second},
		{Design: lab.DesignSweep, Machines: one, Prepare: designSettings, Suite: designReads,
			Args: words("sweep {suite} /srv --factor queue:read_ahead_kb=16,256 --blocks 2" + onOne),
			Show: words("sweep --show last"), Undo: []string{"db1:128 " + readAhead}, Shows: settings,
			Budget: 6 * time.Second},
		{Design: lab.DesignSweep, Name: "of mounts", Machines: ends, Prepare: designMounts, Suite: designReads,
			NoDryRun: true, Args: append(words("sweep {suite} --on scripted://client --blocks 2 --seed 3 --factor"),
				`mount:nfs="198.18.1.2:/srv vers=4.2,proto=tcp","198.18.1.2:/srv vers=4.2,proto=tcp,nconnect=2"`),
			Show: words("sweep --show last"), Undo: []string{"client:umount"}, Budget: 6 * time.Second,
			Shows: map[string]designtest.Shown{"mount:nfs": designtest.Mounts("client")}},
		{Design: lab.DesignSweep, Name: "of a network", Machines: ends, Suite: designSends,
			Args: words("sweep {suite} --factor client:sysctl:vm.swappiness=1,100 --blocks 2 --seed 3" + between),
			Show: words("sweep --show last"), Undo: []string{"client:60 " + swappiness}, Budget: 6 * time.Second,
			Shows: map[string]designtest.Shown{"client:sysctl:vm.swappiness": designtest.File("client", swappiness)}},
		{Design: lab.DesignSweep, Name: "of a real host", Machines: one, Prepare: designBoots, Suite: designReads,
			Args: words("sweep {suite} /srv --factor cmdline:mitigations=auto,off --blocks 2 --reboot scripted://db1" +
				onOne), Show: words("sweep --show last"), Consent: words("--reboot scripted://db1"),
			Shows: map[string]designtest.Shown{"cmdline:mitigations": designtest.Argument("db1", "mitigations")}},
		{Design: lab.DesignAblation, Name: "of a real host", Machines: one, Prepare: designBoots, Suite: designReads,
			Args: words("ablate {suite} /srv --setting cmdline:mitigations=off --setting sysctl:vm.swappiness=1 " +
				"--alone --blocks 2 --reboot scripted://db1" + onOne), Show: words("ablate --show last"),
			Consent: words("--reboot scripted://db1"), Undo: []string{"db1:60 " + swappiness},
			Shows: map[string]designtest.Shown{"cmdline:mitigations": designtest.Argument("db1", "mitigations"),
				"sysctl:vm.swappiness": settings["sysctl:vm.swappiness"]}},
		{Design: lab.DesignAblation, Machines: one, Prepare: designSettings, Suite: designReads,
			Args: words("ablate {suite} /srv --setting queue:read_ahead_kb=16 --setting sysctl:vm.swappiness=1 " +
				"--alone --blocks 2" + onOne), Show: words("ablate --show last"),
			Undo: []string{"db1:128 " + readAhead, "db1:60 " + swappiness}, Shows: settings, Budget: 12 * time.Second},
		{Design: lab.DesignAblation, Name: "profiled", Machines: one, Prepare: designSettings, Suite: designReads,
			Args: words("ablate {suite} /srv --setting queue:read_ahead_kb=16 --blocks 2 --profile=1" + onOne),
			Show: words("ablate --show last"), Undo: []string{"db1:128 " + readAhead}, Shows: settings},
		{Design: lab.DesignBisection, Machines: one, Prepare: designSettings, Suite: designReads, Adaptive: true,
			FailuresAnswer: true,
			Args: words("bisect settings {suite} /srv --setting queue:read_ahead_kb=128,16 " +
				"--setting sysctl:vm.swappiness=60,1" + onOne), Show: words("bisect --show last"),
			Undo: []string{"db1:128 " + readAhead}, Shows: settings, Budget: 12 * time.Second},
		{Design: lab.DesignBisection, Name: "profiled", Machines: one, Prepare: designSettings, Suite: designReads,
			Adaptive: true, FailuresAnswer: true,
			Args: words("bisect settings {suite} /srv --setting queue:read_ahead_kb=128,16 " +
				"--setting sysctl:vm.swappiness=60,1 --profile=1" + onOne), Show: words("bisect --show last"),
			Undo: []string{"db1:128 " + readAhead}, Shows: settings},
	}
}

// designFolders has two places, of which the second is slower.
func designFolders(l *designtest.Lab) {
	m := l.Machine("db1")
	twoFolders(m)
	m.Fio = besides("/srv/b", 0.7, 1)
}

// designPorts gives each machine two ports besides eth0, each in a subnet of its own.
func designPorts(l *designtest.Lab) {
	for i, m := range l.Machines {
		for n := 1; n <= 2; n++ {
			m.AddPort(fmt.Sprintf("eth%d", n), fmt.Sprintf("198.18.%d.%d", n, i+1))
		}
	}
}

// designBoots has db1 be a host that can be started again with other arguments.
func designBoots(l *designtest.Lab) { l.Machine("db1").Kexecs() }

// designMounts can mount what is exported.
func designMounts(l *designtest.Lab) {
	designPorts(l)
	l.Machine("client").Folder("/run")
	l.Machine("client").Folder("/sys/kernel/sunrpc")
}

// designGuest has the disk of vm lie on an export that the client mounts.
func designGuest(l *designtest.Lab) {
	designMounts(l)
	const uuid = "7f1d6a4e-0000-4000-8000-0000000000aa"
	client := l.Machine("client")
	client.Folder("/mnt/data")
	if why := client.Mounted("198.18.1.2:/srv", "/mnt/data", "vers=4.2,proto=tcp"); why != "" {
		l.Fatal(why)
	}
	client.SetOutput(`sh -c 'exec ls -l /proc/[0-9]*/fd 2>/dev/null'`, scripted.Output{
		Stdout: "/proc/77/fd:\ntotal 0\nlrwx------ 1 root root 64 Jan  1 12:00 9 -> /mnt/data/vm.raw\n"})
	client.Set("/proc/77/cmdline", "/usr/bin/kvm\x00-name\x00vm1\x00-uuid\x00"+uuid)
	l.Machine("vm").Set("/sys/class/dmi/id/product_uuid", uuid)
}

// designSettings has reads be slower with one level of a setting.
func designSettings(l *designtest.Lab) {
	m := l.Machine("db1")
	m.Fio = func(load *scripted.Load) scripted.IO {
		io := scripted.Drive(load)
		if m.Get(readAhead) == "16" {
			io.Read *= 0.6
		}
		return io
	}
}
