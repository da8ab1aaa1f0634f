//go:build system

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// twoPaths are two hosts with two links between them, of which the second has half the rate of the first. The address
// under test belongs to neither, and is reached by the first, until a script of the client cuts that and goes over to
// the second a while later. Another script puts it all back.
type twoPaths struct {
	twoHosts
	cut, put string
	// marks is the folder in which the scripts write down when they did what.
	marks string
}

const (
	sharedClient = "198.18.9.1"
	sharedServer = "198.18.9.2"
	// goesOver is how many seconds the client takes to notice.
	goesOver = 1.2
	// early is how many seconds into a load an event is to come. What came before it is known after 5 s of it; a busy
	// machine takes some of the rest to begin.
	early = 9
	// late is how many seconds a load runs after its event is due, so that an event which a busy machine delays still
	// happens during the load.
	late = 14
)

func newTwoPaths(t *testing.T, mbit int) twoPaths {
	t.Helper()
	p := twoPaths{twoHosts: newTwoHosts(t, mbit), marks: t.TempDir()}
	p.must("ip", "-n", p.client, "link", "add", "headroom1", "type", "veth", "peer", "name", "headroom1", "netns",
		p.server)
	for _, end := range []struct{ ns, second, shared, other, firstHop, secondHop string }{
		{p.client, "198.18.8.1", sharedClient, sharedServer, serverAddress, "198.18.8.2"},
		{p.server, "198.18.8.2", sharedServer, sharedClient, clientAddress, "198.18.8.1"},
	} {
		p.must("ip", "-n", end.ns, "address", "add", end.second+"/30", "dev", "headroom1")
		p.must("ip", "-n", end.ns, "address", "add", end.shared+"/32", "dev", "lo")
		p.must("ip", "-n", end.ns, "link", "set", "headroom1", "up")
		p.must("tc", "-n", end.ns, "qdisc", "add", "dev", "headroom1", "root", "tbf", "rate",
			fmt.Sprintf("%dmbit", mbit/2), "burst", "64kb", "latency", "50ms")
		for _, name := range []string{"all", "headroom0", "headroom1"} {
			for _, value := range []string{"rp_filter=0", "ignore_routes_with_linkdown=1"} {
				p.must("ip", "netns", "exec", end.ns, "sysctl", "-qw", "net.ipv4.conf."+name+"."+value)
			}
		}
		p.must("ip", "-n", end.ns, "route", "add", end.other, "via", end.firstHop, "src", end.shared, "metric", "10")
		if end.ns == p.server { // whose way back follows the carrier at once
			p.must("ip", "-n", end.ns, "route", "add", end.other, "via", end.secondHop, "src", end.shared, "metric",
				"20")
		}
	}
	p.cut, p.put = filepath.Join(p.marks, "cut.sh"), filepath.Join(p.marks, "put.sh")
	p.script(p.cut, "date +%s.%N > "+p.mark("cut"), "echo cut >> "+p.mark("times"), "ip link set headroom0 down",
		fmt.Sprintf("sleep %g", goesOver),
		"ip route replace "+sharedServer+" via 198.18.8.2 src "+sharedClient+" metric 20")
	p.script(p.put, "ip link set headroom0 up",
		"ip route replace "+sharedServer+" via "+serverAddress+" src "+sharedClient+" metric 10",
		"ip route delete "+sharedServer+" metric 20 2>/dev/null", "date +%s.%N > "+p.mark("put"))
	return p
}

func (p twoPaths) script(name string, lines ...string) { writeScript(p.t, name, lines...) }

func writeScript(t *testing.T, name string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (p twoPaths) mark(name string) string { return filepath.Join(p.marks, name) }

// marked is when a script wrote a mark.
func marked(t *testing.T, name string) time.Time {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.UnixMicro(int64(seconds * 1e6))
}

// isUp says whether the first link is there.
func (p twoPaths) isUp() bool {
	p.t.Helper()
	out, err := exec.Command("ip", "-n", p.client, "-o", "link", "show", "headroom0").CombinedOutput()
	if err != nil {
		p.t.Fatalf("%v\n%s", err, out)
	}
	return strings.Contains(string(out), ",UP")
}

// net is a test with an event on the client.
func (p twoPaths) net(seconds int, args ...string) *exec.Cmd {
	cmd := p.twoHosts.net(fmt.Sprintf("  - {name: send, iperf3: {time: %ds, omit: 1s}}\n", seconds), "--event-on",
		"client", "--undo", "sh "+p.put)
	for i, a := range cmd.Args {
		if a == serverAddress {
			cmd.Args[i] = sharedServer
		}
	}
	cmd.Args = append(cmd.Args, args...)
	return cmd
}

func eventsOf(t *testing.T, cmd *exec.Cmd) summary.Run {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stderr, out)
	}
	var s summary.Run
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatal(err)
	}
	if s.Events == nil || s.Events.Schema != summary.EventSchema || len(s.Events.Loads) != 1 ||
		len(s.Events.Loads[0].Findings) != 1 {
		t.Fatalf("no events in\n%.3000s", out)
	}
	return s
}

// One of two paths is cut under load, and put back; what is found of it is in the document, in the values and on the
// page. How much that is, tests with the tag bench say, and TestScriptedEvent.
func TestEventCutsOneOfTwoPaths(t *testing.T) {
	t.Parallel()
	p := newTwoPaths(t, 40)
	s := p.cutOne(early+8+late, early, 8)
	load := s.Events.Loads[0]
	f, h := load.Findings[0], load.Happened[0]
	if h.Failed != "" || h.At <= 0 || h.Undone <= h.At || !marked(t, p.mark("put")).After(marked(t, p.mark("cut"))) {
		t.Errorf("%+v", h)
	}
	t.Logf("%+v", f)
	values := s.Cells[0].Metrics
	_, stalled := values[lab.EventStall]
	if stalled != (f.Unknown == "") {
		t.Errorf("%+v, and the values are %+v", f, values)
	}
	if stalled && (values[lab.EventStall].Center != f.Stall || values[lab.EventStall].Better != lab.Lower) ||
		stalled && f.Recovery != nil && values[lab.EventRecovery].Center != *f.Recovery {
		t.Errorf("%+v, and the values are %+v", f, values)
	}
	var rates int
	for rep, err := range p.onlyRun().Repetitions() {
		if err != nil || rep.Events == nil {
			t.Fatalf("%+v, %v", rep, err)
		}
		rates += len(rep.Events.Rate.Values)
	}
	if rates == 0 {
		t.Error("no rate was read")
	}
	out, err := p.command("report", s.ID).Output()
	if err != nil || !strings.Contains(string(out), "sh "+p.cut) {
		t.Errorf("%v\n%s", err, out)
	}
	p.nothingChanged()
}

// cutOne has the first path cut under a load for a while.
func (p twoPaths) cutOne(seconds, at, down int) summary.Run {
	p.t.Helper()
	return eventsOf(p.t, p.net(seconds, "--event", fmt.Sprintf("%ds: sh %s", at, p.cut), "--event-for",
		fmt.Sprintf("%ds", down), "--event-left", "50%", "--json"))
}

// Of two targets that are loaded at once the event comes upon the one that it is for, and upon no other; the loads of
// both tell of it. What it does to each, TestScriptedSeveralEvent says.
func TestEventComesUponOneOfTwoTargets(t *testing.T) {
	t.Parallel()
	sshtest.Tool(t, "fsfreeze", "/usr/sbin/fsfreeze", "/sbin/fsfreeze")
	h := twoNamespaces(t)
	other, mount := freezable(t), freezable(t)
	if err := os.WriteFile(h.suite, []byte(frozenSuite(early+late)), 0o644); err != nil {
		t.Fatal(err)
	}
	where := filepath.Join(t.TempDir(), "where")
	freeze := filepath.Join(t.TempDir(), "freeze.sh")
	writeScript(t, freeze, "readlink /proc/self/ns/net >> "+where, "fsfreeze --freeze "+mount)
	args := []string{"run", h.suite, other, mount, "--on", "a=ssh://net-a", "--on", "b=ssh://net-b", "--size", "16m",
		"--event", fmt.Sprintf("%ds: sh %s", early, freeze),
		"--undo", "fsfreeze --unfreeze " + mount, "--event-for", "3s", "--json"}
	if out, err := h.command(args...).CombinedOutput(); err == nil || !strings.Contains(string(out), "--event-on b") {
		t.Errorf("it is not asked where: %v\n%s", err, out)
	}
	cmd := h.command(append(args, "--event-on", "b")...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stderr, out)
	}
	var s summary.Run
	if err := json.Unmarshal(out, &s); err != nil || s.Events == nil || len(s.Events.Loads) != 2 {
		t.Fatalf("%v\n%.3000s", err, out)
	}
	told := map[string]bool{}
	for _, load := range s.Events.Loads {
		_, target, _ := strings.Cut(load.Cell, "@")
		told[target] = true
		if h := load.Happened[0]; h.Failed != "" || h.Undone <= h.At {
			t.Errorf("%s: %+v", load.Cell, h)
		}
	}
	if !told["a"] || !told["b"] {
		t.Errorf("told by %v", told)
	}
	if got, want := contentOf(t, where), h.prints("ip", "netns", "exec", h.server, "readlink",
		"/proc/self/ns/net"); got != want {
		t.Errorf("it came upon %q, and b is %q", got, want)
	}
	if pending, err := journal.Pending(filepath.Join(h.store, "changes"), store.Trust); err != nil ||
		len(pending) != 0 {
		t.Errorf("still to undo: %+v, %v", pending, err)
	}
}

// nothingChanged says that the link is up, nothing is left to undo, and nothing runs.
func (p twoPaths) nothingChanged() {
	p.t.Helper()
	if !p.isUp() {
		p.t.Error("the link is down")
	}
	if pending, err := journal.Pending(filepath.Join(p.store, "changes"), store.Trust); err != nil ||
		len(pending) != 0 {
		p.t.Errorf("still to undo: %+v, %v", pending, err)
	}
	rows, err := store.Open(p.store).List()
	if err != nil || len(rows) == 0 {
		p.t.Fatalf("%d runs, %v", len(rows), err)
	}
	for _, r := range rows { // other tests may be at work on this machine
		folders, err := filepath.Glob("/dev/shm/headroom-*/" + r.ID + "-*")
		if err != nil || len(folders) != 0 {
			p.t.Errorf("folders of jobs are left: %v, %v", folders, err)
		}
	}
	if left := p.running(); len(left) > 0 {
		p.t.Errorf("still running: %v", left)
	}
}

// A port that is lost by its name comes back with all that went with it: routes, in other tables too, and addresses of
// IPv6, also of a bridge over it.
func TestEventLosesAPort(t *testing.T) {
	t.Parallel()
	p := newTwoPaths(t, 40)
	ns := func(args ...string) { p.must(append([]string{"ip", "-n", p.client}, args...)...) }
	ns("address", "add", "fd00:18::1/64", "dev", "headroom0", "nodad")
	ns("link", "add", "headroom7", "type", "veth", "peer", "name", "headroom7", "netns", p.server)
	ns("link", "add", "bridge7", "type", "bridge")
	ns("link", "set", "headroom7", "up", "master", "bridge7")
	p.must("ip", "-n", p.server, "link", "set", "headroom7", "up")
	ns("link", "set", "bridge7", "up")
	ns("address", "add", "198.18.17.1/24", "dev", "bridge7")
	for _, route := range []string{"198.18.20.0/24 via " + serverAddress, "198.18.21.0/24 via " + serverAddress +
		" table 7 metric 5", "198.18.22.0/24 via 198.18.17.2",
		"198.18.23.0/24 dev headroom0 scope link"} {
		ns(append([]string{"route", "add"}, strings.Fields(route)...)...)
	}
	ns("-6", "route", "add", "fd00:19::/64", "via", "fd00:18::2")
	state := func() string {
		t.Helper()
		all := ""
		for _, args := range [][]string{{"-4", "route", "show", "table", "all"},
			{"-6", "route", "show", "table", "all"}, {"-o", "address"}} {
			out, err := exec.Command("ip", append([]string{"-n", p.client}, args...)...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(out)), "\n"), func(l string) bool {
				return strings.Contains(l, "fe80") || strings.Contains(l, "ff00")
			})
			slices.Sort(lines)
			all += strings.Join(lines, "\n") + "\n"
		}
		return all
	}
	before := state()
	// The kernel takes note of a link's carrier, which routes show, somewhat later than of the link.
	sameAgain := func(when string) {
		t.Helper()
		after := state()
		for end := time.Now().Add(2 * time.Minute); after != before && time.Now().Before(end); after = state() {
			time.Sleep(50 * time.Millisecond)
		}
		if after != before {
			t.Errorf("%s: it was\n%s\nand is\n%s", when, before, after)
		}
	}
	lose := func(seconds int, args ...string) *exec.Cmd {
		cmd := p.twoHosts.net(fmt.Sprintf("  - {name: send, iperf3: {time: %ds, omit: 1s}}\n", seconds),
			append([]string{"--event-on", "client"}, args...)...)
		return cmd
	}
	s := eventsOf(t, lose(early+2+late, "--event", fmt.Sprintf("%ds: lose-port headroom0", early), "--event-for", "2s",
		"--json"))
	if h := s.Events.Loads[0].Happened[0]; h.Failed != "" || h.At <= 0 || h.Undone <= h.At {
		t.Errorf("%+v", h)
	}
	sameAgain("after the event")
	p.nothingChanged()

	killed := lose(3600, "--event", "5s: lose-port headroom0", "--event-for", "50m")
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the port is lost", func() bool { return !p.isUp() })
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	if out, err := p.command("restore").CombinedOutput(); err != nil ||
		!bytes.Contains(out, []byte("lose-port headroom0")) {
		t.Errorf("restore: %v\n%s", err, out)
	}
	sameAgain("after restore")

	// Whoever is logged in from the other end of the link would lose it.
	reached := func(from, port string) string {
		t.Helper()
		run := p.fixture.command("run", "quick", p.place, "--set", "runtime=60s", "--event", "10s: lose-port "+port)
		cmd := exec.Command("ip", append([]string{"netns", "exec", p.client, run.Path}, run.Args[1:]...)...)
		cmd.Env = append(os.Environ(), "SSH_CONNECTION="+from+" 40000 198.18.7.1 22")
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s by %s is not refused\n%s", port, from, out)
		}
		return string(out)
	}
	ns("link", "add", "down0", "type", "bridge")
	for _, c := range []struct{ from, port, words string }{
		{serverAddress, "headroom0", "could not be set up again from there"},
		{"198.18.17.9", "headroom7", "could not be set up again from there"}, // by the bridge over the port
		{"198.18.17.9", "down0", "is down already"},
	} {
		if out := reached(c.from, c.port); !strings.Contains(out, c.words) {
			t.Errorf("%s from %s: %s", c.port, c.from, out)
		}
	}
	p.nothingChanged()
}

// Whoever stops or kills it while the link is down gets the link back: at once, or by restore.
func TestEventStoppedAndKilled(t *testing.T) {
	t.Parallel()
	p := newTwoPaths(t, 40)
	down := func(cmd *exec.Cmd) *bytes.Buffer {
		t.Helper()
		var printed bytes.Buffer
		cmd.Stderr = &printed
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the link is cut", func() bool { return !p.isUp() })
		return &printed
	}
	stopped := p.net(3600, "--event", "5s: sh "+p.cut, "--event-for", "50m")
	printed := down(stopped)
	if err := stopped.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := stopped.Wait(); err == nil || stopped.ProcessState.ExitCode() != 130 {
		t.Errorf("stopped: %v\n%s", err, printed)
	}
	p.nothingChanged()

	killed := p.net(3600, "--event", "5s: sh "+p.cut, "--event-for", "50m")
	down(killed)
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	if p.isUp() {
		t.Fatal("the link is up before anything put it back")
	}
	out, err := p.command("restore").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("sh "+p.cut)) {
		t.Errorf("restore: %v\n%s", err, out)
	}
	p.nothingChanged()
}

// An event that fails is said, and nothing is left to undo of it.
func TestEventThatFails(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	if err := os.WriteFile(v.suite, []byte(frozenSuite(5+late)), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := v.command("run", v.suite, mountedInMemory(t), "--size", "16m", "--event",
		"5s: sh "+filepath.Join(t.TempDir(), "missing.sh"), "--undo", "true").CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("event-failed")) {
		t.Errorf("an event that fails: %v\n%s", err, out)
	}
	if pending, err := journal.Pending(filepath.Join(v.store, "changes"), store.Trust); err != nil ||
		len(pending) != 0 {
		t.Errorf("still to undo: %+v, %v", pending, err)
	}
	if left := processesOf(t, v.onlyRun().Run.ID); len(left) > 0 {
		t.Errorf("still running: %v", left)
	}
}

// What a load and its scratch file wait for is undone before they are looked after: who is killed while the file system
// is frozen gets all of it back.
func TestEventKilledWhileAFileSystemIsFrozen(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	sshtest.Tool(t, "fsfreeze", "/usr/sbin/fsfreeze", "/sbin/fsfreeze")
	v := newFixture(t)
	mount := freezable(t)
	if err := os.WriteFile(v.suite, []byte(frozenSuite(3600)), 0o644); err != nil {
		t.Fatal(err)
	}
	frozen := filepath.Join(t.TempDir(), "frozen")
	freeze := filepath.Join(t.TempDir(), "freeze.sh")
	writeScript(t, freeze, "fsfreeze --freeze "+mount, "touch "+frozen)
	killed := v.command("run", v.suite, mount, "--size", "16m", "--event", "5s: sh "+freeze, "--undo",
		"fsfreeze --unfreeze "+mount, "--event-for", "50m")
	var printed bytes.Buffer
	killed.Stderr = &printed
	if err := killed.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the file system is frozen", func() bool {
		_, err := os.Stat(frozen)
		return err == nil
	})
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = killed.Wait()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
	defer stop()
	restore := v.command("restore")
	out, err := exec.CommandContext(ctx, restore.Path, restore.Args[1:]...).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("sh "+freeze)) {
		t.Errorf("restore: %v\n%s", err, out)
	}
	files, err := filepath.Glob(filepath.Join(mount, "*headroom*"))
	if err != nil || len(files) > 0 {
		t.Errorf("left: %v, %v", files, err)
	}
	if pending, err := journal.Pending(filepath.Join(v.store, "changes"), store.Trust); err != nil ||
		len(pending) != 0 {
		t.Errorf("still to undo: %+v, %v", pending, err)
	}
}

// A factor is an event, too: it has its level while the event lasts, and its old one afterwards. A run that was killed
// in the middle is gone on with, events included. The factor is one that a network namespace has for itself, so that no
// other test sees it.
func TestEventSetsAFactor(t *testing.T) {
	t.Parallel()
	h := twoNamespaces(t)
	level := func() string {
		t.Helper()
		text, err := exec.Command("ip", "netns", "exec", h.client, "cat", "/proc/sys/net/ipv4/tcp_fin_timeout").Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(text))
	}
	found := level()
	other := map[bool]string{true: "42", false: "43"}[found != "42"]
	text := fmt.Sprintf("version: 1\nname: steady\nrepetitions: 1\njobs:\n  - name: reads\n    fio: {rw: randread, "+
		"bs: 4k, ioengine: psync, rate_iops: 100, runtime: %ds, time_based: 1}\n", early+late)
	if err := os.WriteFile(h.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	killed := h.command("run", h.suite, mountedInMemory(t), "--on", "ssh://net-a", "--size", "16m", "--event",
		fmt.Sprintf("%ds: sysctl:net.ipv4.tcp_fin_timeout=%s", early, other), "--event",
		fmt.Sprintf("%ds: undo", early+1))
	// It dies in the midst of the load, at the moment at which it would undo the event.
	if out, err := with(killed, exitBefore+"=undo sysctl:net.ipv4.tcp_fin_timeout").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "died before: undo sysctl:") {
		t.Fatalf("%v\n%s", err, out)
	}
	if now := level(); now != other {
		t.Errorf("the event was to set %s, and it is %s", other, now)
	}
	s := eventsOf(t, h.command("run", "--resume", "last", "--json")) // which puts back what the killed one left
	occurrences := s.Events.Loads[0].Happened[0]
	if level() != found || occurrences.Failed != "" || occurrences.At <= 0 || occurrences.Undone <= occurrences.At {
		t.Errorf("%s, found %s: %+v", level(), found, occurrences)
	}
	if pending, err := journal.Pending(filepath.Join(h.store, "changes"), store.Trust); err != nil ||
		len(pending) != 0 {
		t.Errorf("still to undo: %+v, %v", pending, err)
	}
}

// What can't be right is refused before anything is done.
func TestEventRefusals(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	for _, c := range []struct {
		args  []string
		code  int
		words string
	}{
		{[]string{"--event", "10s: ip link set nothing0 down"}, 4, "no command is given that undoes"},
		{[]string{"--event", "10s: true", "--no-undo"}, 2, "needs 5 s before it"},
		{[]string{"--set", "runtime=60s", "--event", "ip link set eth1 down", "--no-undo"}, 2,
			"does not say when and what"},
		{[]string{"--set", "runtime=60s", "--event", "10s: sh -c 'x; y'", "--no-undo"}, 2, "no shell reads it"},
		{[]string{"--set", "runtime=60s", "--event", "10s: true", "--undo", "true", "--undo", "true"}, 2,
			"belongs to no event"},
		{[]string{"--set", "runtime=60s", "--event", "10s: undo"}, 2, "undoes nothing"},
		{[]string{"--set", "runtime=60s", "--event", "10s: lose-port"}, 2, "lose-port takes PORT"},
		{[]string{"--set", "runtime=60s", "--event", "10s: lose-port nothing0"}, 4, "there is no port nothing0"},
		{[]string{"--set", "runtime=60s", "--event", "10s: lose-port ../net/lo"}, 4, "there is no port"},
		{[]string{"--set", "runtime=60s", "--event", "10s: lose-trunk 198.18.7.2"}, 4, "no NFS"},
		{[]string{"--set", "runtime=60s", "--event", "10s: lose-path nothing0"}, 4, "no SCSI disk"},
		{[]string{"--set", "runtime=60s", "--event", "10s: restart headroom-nothing"}, 4, "not active"},
		{[]string{"--set", "runtime=60s", "--event", "10s: qm-migrate 4000 nowhere"}, 4, "no guest 4000 runs there"},
		{[]string{"--set", "runtime=60s", "--event", "10s: virsh-migrate nobody nowhere"}, 4,
			"no guest nobody runs there"},
		{[]string{"--undo", "true"}, 2, "there is no event"},
		{[]string{"--set", "runtime=60s", "--event", "10s: true", "--no-undo", "--event-on", "elsewhere"}, 2,
			"no target"},
		{[]string{"--set", "runtime=60s", "--event", "10s: cmdline:mitigations=off"}, 2,
			"can't be set while a load runs"},
	} {
		cmd := v.command(append([]string{"run", "quick", v.place}, c.args...)...)
		out, err := cmd.CombinedOutput()
		if err == nil || cmd.ProcessState.ExitCode() != c.code || !strings.Contains(string(out), c.words) {
			t.Errorf("%v: %v\n%s", c.args, err, out)
		}
	}
}

// frozenSuite writes past the page cache at a rate that any machine keeps.
func frozenSuite(seconds int) string {
	return fmt.Sprintf("version: 1\nname: frozen\nrepetitions: 1\njobs:\n  - name: writes\n    fio: {rw: randwrite, "+
		"bs: 4k, ioengine: psync, direct: 1, rate_iops: 200, runtime: %ds, time_based: 1}\n", seconds)
}

// freezable is where a file system of the test's own is mounted, which thaws before it is unmounted.
func freezable(t *testing.T) string {
	t.Helper()
	mount := mountedInMemory(t)
	t.Cleanup(func() { _ = exec.Command("fsfreeze", "--unfreeze", mount).Run() })
	return mount
}

// mountedInMemory is where a file system is mounted that lies in memory: whatever else writes to this machine's disk,
// it is as fast as ever.
func mountedInMemory(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting needs root")
	}
	image, err := os.CreateTemp("/dev/shm", "image-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(image.Name()) })
	if err := errors.Join(image.Truncate(128<<20), image.Close()); err != nil {
		t.Fatal(err)
	}
	mount := t.TempDir()
	for _, argv := range [][]string{{"mkfs.ext4", "-q", image.Name()}, {"mount", "-o", "loop", image.Name(), mount}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", mount).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
	return mount
}
