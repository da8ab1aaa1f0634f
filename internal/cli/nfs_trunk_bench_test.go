//go:build bench && system && guests

package cli

import (
	"bufio"
	"bytes"
	packing "encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outage"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/figure"
)

// trunk are two guests, of which one can mount a directory of the other over two links at once. The server sends no
// more than so much by each, so that one of them carries half. Scripts of the host cut the second link before the
// server's card, as a switch between them would that dies, and mend it: the client's own card does not notice. What the
// client's cards receive and send is written down by its QEMU.
type trunk struct {
	fixture
	client   string
	cut, put string
	folder   string
}

// trunkRate is what each link of a trunk carries, as tc names rates: little enough for an emulated processor that
// shares a busy host.
const trunkRate = "4mbit"

// mountsTrunk is what the client of a trunk does that is mounted from the beginning.
const mountsTrunk = "  for i in 1 2; do\n    /sbin/mount.nfs 10.0.1$i.1:/ /mnt/$i -o " +
	"vers=4.2,proto=tcp,max_connect=2\n  done\n"

// newTrunk describes the guests. after is what the client does when it can mount, on lines of their own.
func newTrunk(t *testing.T, after string) trunk {
	t.Helper()
	nfsOut, err := exec.Command("../../scripts/guest-nfs").Output()
	if err != nil {
		t.Fatalf("no programs of NFS for the guests: %v", err)
	}
	nfs := strings.TrimSpace(string(nfsOut))
	if _, err := exec.LookPath("/usr/sbin/tc"); err != nil {
		t.Skip("tc of iproute2 is not installed")
	}
	k := trunk{fixture: newFixture(t), folder: t.TempDir()}
	monitor := filepath.Join(k.folder, "monitor")
	for _, end := range []string{".in", ".out"} {
		if err := syscall.Mkfifo(monitor+end, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	guest := func(name, number, qemu, rest string) string {
		// A busy host shares its processors out by sessions, and each QEMU is one: it takes little, and is to have that
		// in time.
		program := filepath.Join(k.folder, name+".sh")
		writeScript(t, program, "#!/bin/sh", "echo -15 2>/dev/null > /proc/self/autogroup",
			`case " $* " in *netdev=link-1*) exec qemu-system-x86_64 "$@" `+qemu+`;; esac`,
			`exec qemu-system-x86_64 "$@"`)
		if err := os.Chmod(program, 0o755); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(k.folder, name+".yaml")
		writeScript(t, file, "version: 1", "kernel: "+kernelOfGuests(t), "qemu: "+program, "cpus: 1", "memory: 640m",
			"accelerator: emulation",
			"files: [/etc/netconfig, /etc/protocols, /etc/services]", "networks:",
			"  - {link: a, address: 10.0.11."+number+"/24, mtu: 9000}",
			"  - {link: b, address: 10.0.12."+number+"/24, mtu: 9000}", rest)
		return file
	}
	bin := nfs + "/usr/sbin/"
	guest("server", "1",
		"-chardev null,id=nowhere -object filter-redirector,id=cut,netdev=link-1,outdev=nowhere,status=off "+
			"-chardev pipe,id=monitor,path="+monitor+" -mon chardev=monitor,mode=readline", `modules: [nfsd, sch_tbf]
programs: [`+bin+`exportfs, `+bin+`rpc.nfsd, `+bin+`rpc.mountd, /usr/sbin/tc]
setup: |
  set -e
  mkdir -p /run /export /var/lib/nfs/v4recovery
  mount -t tmpfs -o size=100m tmpfs /export
  mount -t nfsd nfsd /proc/fs/nfsd
  touch /var/lib/nfs/etab /var/lib/nfs/rmtab
  echo '/export *(rw,fsid=0,insecure,no_root_squash,no_subtree_check,async)' > /etc/exports
  `+bin+`exportfs -ra
  `+bin+`rpc.mountd -N 3
  echo 10 > /proc/fs/nfsd/nfsv4gracetime
  `+bin+`rpc.nfsd -N 3 -V 4 -U 4
  echo Y > /proc/fs/nfsd/v4_end_grace
  for i in 1 2; do
    /usr/sbin/tc qdisc add dev $(ip -o address show to 10.0.1$i.1 | cut -d ' ' -f 2) root tbf rate `+trunkRate+` burst 16kb latency 500ms
  done`)
	dumps := ""
	for i := range 2 {
		dumps += fmt.Sprintf(" -object filter-dump,id=dump%d,netdev=link-%d,maxlen=64,file=%s", i, i, k.dump(i))
	}
	k.client = guest("client", "2", dumps, `modules: [nfsv4]
programs: [`+nfs+`/sbin/mount.nfs, /usr/sbin/ip]
beside: [server.yaml]
setup: |
  set -e
  mkdir -p /sbin /run /mnt/1 /mnt/2
  ln -s `+nfs+`/sbin/mount.nfs /sbin/mount.nfs
`+after)
	k.cut, k.put = filepath.Join(k.folder, "cut.sh"), filepath.Join(k.folder, "put.sh")
	for script, status := range map[string]string{k.cut: "on", k.put: "off"} {
		writeScript(t, script, "echo qom-set /objects/cut status "+status+" > "+monitor+".in",
			"date +%s.%N >> "+k.mark(status))
	}
	return k
}

func (k trunk) mark(name string) string { return filepath.Join(k.folder, name) }

func (k trunk) dump(link int) string {
	return filepath.Join(k.folder, fmt.Sprintf("link%d.pcap", link))
}

// frame is one that a client's card received, by the clock of its QEMU, whose beginning is only known to a second.
type frame struct {
	at    time.Time
	bytes float64
}

// frames with data that the server sent by a link, from a file of packets
// (https://www.tcpdump.org/manpages/pcap-savefile.5.html): a header of 24 bytes, and of each packet the second, the
// microsecond, how many bytes of it are there and how many there were, in the order of this machine.
func (k trunk) frames(link int) []frame {
	k.t.Helper()
	f, err := os.Open(k.dump(link))
	if err != nil {
		k.t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewReader(f)
	if _, err := in.Discard(24); err != nil {
		k.t.Fatal(err)
	}
	// the sender's address begins at the seventh byte of a frame, and ends with that of the guest
	const source, ofServer = 6, 1
	var all []frame
	for {
		var header [4]uint32
		err := packing.Read(in, packing.NativeEndian, &header)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return all
		}
		if err != nil {
			k.t.Fatal(err)
		}
		packet := make([]byte, header[2])
		if _, err := io.ReadFull(in, packet); err != nil {
			return all
		}
		if header[3] > 1000 && packet[source+5] == ofServer {
			all = append(all, frame{time.Unix(int64(header[0]), int64(header[1])*1000), float64(header[3])})
		}
	}
}

// looks are what both links together had brought, every 20 ms.
func samplesOf(all []frame) []byteSample {
	slices.SortFunc(all, func(a, b frame) int { return a.at.Compare(b.at) })
	var looks []byteSample
	sum, i := 0.0, 0
	for at := all[0].at; i < len(all); at = at.Add(20 * time.Millisecond) {
		for i < len(all) && !all[i].at.After(at) {
			sum += all[i].bytes
			i++
		}
		looks = append(looks, byteSample{at: at, bytes: sum})
	}
	return looks
}

// silences are the beginnings of those times of more than so many seconds in which a link brought nothing, and how long
// each was.
func silences(all []frame, seconds float64) (begins []time.Time, lengths []float64) {
	for i := 1; i < len(all); i++ {
		if gap := all[i].at.Sub(all[i-1].at).Seconds(); gap > seconds {
			begins, lengths = append(begins, all[i-1].at), append(lengths, gap)
		}
	}
	return begins, lengths
}

// marks are the times that a script wrote down, one at each call.
func (k trunk) marks(name string) []float64 {
	k.t.Helper()
	text, err := os.ReadFile(k.mark(name))
	if err != nil {
		k.t.Fatal(err)
	}
	var all []float64
	for line := range strings.Lines(string(text)) {
		var seconds float64
		if _, err := fmt.Sscan(line, &seconds); err != nil {
			k.t.Fatal(err)
		}
		all = append(all, seconds)
	}
	return all
}

// One NFS trunk of two is cut under load. The rate of eight processes falls to what the other link carries, while the
// half of them that waits for the cut one gets nothing; one process alone, whose calls take turns with the trunks, gets
// nothing at all until the link is back. Dip, stall, what is left and the way back are what the packets on the links
// say.
func TestEventCutsAnNFSTrunk(t *testing.T) {
	k := newTrunk(t, mountsTrunk)
	text := `version: 1
name: trunk
place: directory
size: 4m
repetitions: 1
order: sequential
defaults: {rw: randread, bs: 8k, ioengine: psync, direct: 1, runtime: 48s, time_based: 1, size: 4m}
jobs:
  - {name: eight, fio: {numjobs: 8}}
  - {name: one}
`
	if err := os.WriteFile(k.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := k.command("run", k.suite, "/mnt/1", "--on", "qemu:"+k.client, "--event", "16s: sh "+k.cut, "--undo",
		"sh "+k.put, "--event-on", "local",
		"--event-for", "12s", "--event-left", "50%", "--json")
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
	if s.Events == nil || len(s.Events.Loads) != 2 {
		t.Fatalf("no events in\n%.3000s", out)
	}
	cuts, puts := k.marks("on"), k.marks("off")
	kept, second := k.frames(0), k.frames(1)
	looks := samplesOf(slices.Concat(kept, second))
	begins, lengths := silences(second, 10)
	for i, load := range s.Events.Loads {
		f, h := load.Findings[0], load.Happened[0]
		if f.Unknown != "" || h.Failed != "" || f.Event.Level == nil || f.Recovery == nil {
			t.Fatalf("%s: %+v, %+v", load.Job, f, h)
		}
		// The link that was cut tells when: that is the silence of the load's own cut, by its place among those as long
		// as a cut.
		took := puts[i] - cuts[i]
		n := slices.IndexFunc(lengths, func(l float64) bool { return l >= took-0.1 })
		if n < 0 {
			t.Fatalf("%s: the link was cut for %.2f s, and was silent for %v", load.Job, took, lengths)
		}
		cut := begins[n]
		silent := lengths[n]
		begins, lengths = begins[n+1:], lengths[n+1:]
		put := cut.Add(time.Duration(took * float64(time.Second)))
		before := rateBetween(looks, cut.Add(-6*time.Second), cut)
		degraded := rateBetween(looks, cut.Add(2*time.Second), put.Add(-time.Second)) / before
		end := cut.Add(time.Duration(silent * float64(time.Second))).Add(5 * time.Second)
		stall, back := independentEstimate(looks, cut, end, before)
		if load.Slowest == nil {
			t.Fatalf("%s: nothing is known of its slowest read", load.Job)
		}
		for _, r := range []figure.Figure{
			{Name: "cut", Unit: "s", Center: took, Text: "how long it was cut"},
			{Name: "silent", Unit: "s", Center: silent, Text: "how long the link brought nothing"},
			{Name: "stall/by-hand", Unit: "s", Center: stall, Text: "how long nothing came through, by hand"},
			{Name: "stall/found", Unit: "s", Center: f.Stall, Text: "how long nothing came through"},
			{Name: "left/by-hand", Unit: "share", Center: degraded, Text: "what is left, by hand"},
			{Name: "left/found", Unit: "share", Center: f.Event.Level.Center,
				Text: fmt.Sprintf("what is left; %.1f%% to %.1f%%", 100*f.Event.Level.Lo, 100*f.Event.Level.Hi)},
			{Name: "back/by-hand", Unit: "s", Center: back, Text: "when the rate is back, by hand"},
			{Name: "back/found", Unit: "s", Center: *f.Recovery, Text: "when the rate is back"},
			{Name: "slowest", Unit: "s", Center: *load.Slowest, Text: "the slowest read"},
			{Name: "unsure", Unit: "s", Center: h.Uncertainty, Better: figure.Lower,
				Text: "how far the moment may be wrong"},
		} {
			r.Name, r.Text = figure.Name("nfs/trunk", load.Job, r.Name),
				"one NFS trunk of two is cut under "+load.Job+": "+r.Text
			figure.Record(t, r)
		}
		if math.Abs(f.Stall-stall) > 0.3 {
			t.Errorf("%s: a stall of %.2f s, by hand %.2f", load.Job, f.Stall, stall)
		}
		// a step has five or six reads, of which the median is
		if l := f.Event.Level; degraded < l.Lo-0.02 || degraded > l.Hi+0.02 || math.Abs(l.Center-degraded) > 0.05 {
			t.Errorf("%s: %+v left, by hand %.3f", load.Job, l, degraded)
		}
		if math.Abs(*f.Recovery-back) > 0.4+h.Uncertainty {
			t.Errorf("%s: back after %.2f s, by hand %.2f", load.Job, *f.Recovery, back)
		}
		if math.Abs(h.Undone-h.At-took) > 0.3 {
			t.Errorf("%s: undone %.2f s after the event, by the scripts %.2f", load.Job, h.Undone-h.At, took)
		}
		// Calls on the trunk that is cut wait for it, whatever the other one carries.
		if *load.Slowest < took-0.5 || !f.Event.Dip {
			t.Errorf("%s: the slowest read took %.2f s, and the link was cut for %.2f", load.Job, *load.Slowest, took)
		}
	}
	eight, one := s.Events.Loads[0].Findings[0], s.Events.Loads[1].Findings[0]
	if level := eight.Event.Level.Center; math.Abs(level-0.5) > 0.05 || eight.Stall > 1 {
		t.Errorf("eight processes keep %.3f, and stall for %.2f s", level, eight.Stall)
	}
	if one.Stall < puts[1]-cuts[1]-0.3 || one.Event.Level.Center != 0 {
		t.Errorf("one process stalls for %.2f s, and keeps %.3f", one.Stall, one.Event.Level.Center)
	}
	out, err = k.command("report", s.ID).Output()
	if err != nil || !strings.Contains(string(out), "50% should be left") ||
		!strings.Contains(string(out), "while others continued") {
		t.Errorf("%v\n%s", err, out)
	}
	if pending, err := journal.Pending(filepath.Join(k.store, "changes"), store.Trust); err != nil ||
		len(pending) != 0 {
		t.Errorf("still to undo: %+v, %v", pending, err)
	}
}

// What waits for a trunk that is cut goes on as soon as the trunk is given the other address, and takes its own again
// afterwards.
func TestCallsOfACutNFSTrunkCanBeMoved(t *testing.T) {
	move := func(from, to string) string {
		return fmt.Sprintf("for f in /sys/kernel/sunrpc/xprt-switches/*/xprt-*/dstaddr; do if grep -q %s $f; then "+
			"echo %s > $f; echo $f > /moved; break; fi; done", from, to)
	}
	k := newTrunk(t, mountsTrunk+"  echo '"+move("10.0.12.1", "10.0.11.1")+"' > /move.sh\n  echo 'echo 10.0.12.1 > "+
		"$(cat /moved)' > /back.sh")
	text := "version: 1\nname: trunk\nplace: directory\nsize: 4m\nrepetitions: 1\n" +
		"defaults: {rw: randread, bs: 8k, ioengine: psync, direct: 1, runtime: 52s, time_based: 1, size: 4m}\njobs:\n" +
		"  - {name: eight, fio: {numjobs: 8}}\n"
	if err := os.WriteFile(k.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	client := "qemu:" + k.client
	cmd := k.command("run", k.suite, "/mnt/1", "--on", client, "--event", "16s: sh "+k.cut, "--event",
		"24s: sh /move.sh", "--undo", "sh "+k.put, "--undo", "sh /back.sh",
		"--event-on", "local", "--event-on", client, "--event-for", "16s", "--event-left", "50%", "--json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stderr, out)
	}
	var s summary.Run
	if err := json.Unmarshal(out, &s); err != nil || s.Events == nil || len(s.Events.Loads) != 1 ||
		s.Events.Loads[0].Slowest == nil {
		t.Fatalf("%v\n%.3000s", err, out)
	}
	load := s.Events.Loads[0]
	cut, moved := load.Happened[0], load.Happened[1]
	waited := moved.At - cut.At
	rate := load.Rate
	mean := func(from, to float64) float64 {
		sum, n := 0.0, 0.0
		for i, v := range rate.Values {
			if at := float64(i) * rate.Interval; at >= from && at < to {
				sum, n = sum+v, n+1
			}
		}
		return sum / n
	}
	before := mean(2, cut.At-1)
	after := mean(moved.At+3, cut.Undone-1) / before
	const moves = "a cut NFS trunk is moved to the other address: "
	figure.Record(t, figure.Figure{Name: "nfs/trunk/moved/after", Unit: "s", Center: waited,
		Text: fmt.Sprintf(moves+"how long after the cut, which lasts %.2f s (give or take %.2f s)", cut.Undone-cut.At,
			moved.Uncertainty)})
	figure.Record(t, figure.Figure{Name: "nfs/trunk/moved/slowest", Unit: "s", Center: *load.Slowest, Text: moves +
		"the slowest read"})
	figure.Record(t, figure.Figure{Name: "nfs/trunk/moved/left", Unit: "share", Center: after,
		Text: moves + "the rate then"})
	figure.Record(t, figure.Figure{Name: "nfs/trunk/moved/back", Unit: "share",
		Center: mean(moved.Undone+3, 51) / before, Text: moves + "the rate at the end"})
	if *load.Slowest < waited-moved.Uncertainty-1 || *load.Slowest > waited+moved.Uncertainty+2 {
		t.Errorf("the slowest read took %.2f s, and the trunk was moved after %.2f", *load.Slowest, waited)
	}
	if math.Abs(after-0.5) > 0.06 {
		t.Errorf("%.3f of the rate when it was moved", after)
	}
}

// Each stage on a mount has the events that concern it: while the second link is lost, by its name and at a switch, the
// one over both links keeps half of its rate, and the one over the first link all of it.
func TestNFSStagesHaveEvents(t *testing.T) {
	k := newTrunk(t, "")
	text := "version: 1\nname: trunk\nplace: directory\nsize: 4m\nrepetitions: 1\n" +
		"defaults: {rw: randread, bs: 8k, ioengine: psync, direct: 1, runtime: 66s, time_based: 1, size: 4m}\njobs:\n" +
		"  - {name: eight, fio: {numjobs: 8}}\n"
	if err := os.WriteFile(k.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := k.command("nfs", k.suite, "--on", "client=qemu:"+k.client, "--export", "/export", "--path", "/",
		"--address", "10.0.11.1", "--address", "10.0.12.1",
		"--transport", "tcp", "--event", "16s: lose-trunk 10.0.12.1", "--event", "44s: sh "+k.cut, "--undo",
		"sh "+k.put, "--event-on", "client", "--event-on", "local",
		"--event-for", "6s").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	bundles := k.measuredStages()
	if len(bundles) != 2 {
		t.Fatalf("%d stages\n%s", len(bundles), out)
	}
	for i, want := range [][]float64{{1}, {0.5, 0.5}} {
		stage := bundles[i].Run.Arms[0].Levels[lab.StageLevel]
		for r, err := range bundles[i].Repetitions() {
			if err != nil || r.Events == nil {
				t.Fatalf("%s: %+v, %v", stage, r.Values, err)
			}
			all := outage.Of(*r.Events)
			if len(all) != len(want) {
				t.Fatalf("%s: %d events", stage, len(all))
			}
			for n, f := range all {
				if f.Unknown != "" || f.Event.Level == nil || r.Events.Each[n].Failed != "" {
					t.Fatalf("%s: %+v, %+v", stage, f, r.Events.Each[n])
				}
				figure.Record(t, figure.Figure{Name: figure.Name("nfs/stage-events", stage, n+1, "left"), Unit: "share",
					Center: f.Event.Level.Center,
					Text:   fmt.Sprintf("%s, %s: what is left", stage, bundles[i].Run.Events[n].Text())})
				if math.Abs(f.Event.Level.Center-want[n]) > 0.06 {
					t.Errorf("%s, %s: %.3f is left", stage, bundles[i].Run.Events[n].Text(), f.Event.Level.Center)
				}
			}
		}
	}
	if n := strings.Count(strings.Join(strings.Fields(string(out)), " "), "50% should be left"); n != 1 {
		t.Errorf("what should be left is said %d times, and known of one event of the stage with two paths\n%s", n, out)
	}
	if pending, err := journal.Pending(filepath.Join(k.store, "changes"), store.Trust); err != nil ||
		len(pending) != 0 {
		t.Errorf("still to undo: %+v, %v", pending, err)
	}
}
