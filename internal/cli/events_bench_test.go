//go:build bench && system

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// watch reads every 20 ms what the links of a host have received, until it is stopped.
func (p twoPaths) watch(ns string) (stop func() []byteSample) {
	p.t.Helper()
	var looks []byteSample
	var wait sync.WaitGroup
	done, begun := make(chan struct{}), make(chan error)
	wait.Go(func() {
		runtime.LockOSThread() // never unlocked: a thread in another namespace ends with its goroutine
		f, err := os.Open("/run/netns/" + ns)
		if err == nil {
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
			f.Close()
		}
		begun <- err
		for ticker := time.Tick(20 * time.Millisecond); err == nil; {
			select {
			case <-done:
				return
			case <-ticker:
			}
			text, err := os.ReadFile("/proc/thread-self/net/dev")
			if err != nil {
				continue
			}
			one := byteSample{at: time.Now()}
			for line := range strings.Lines(string(text)) {
				name, counts, found := strings.Cut(strings.TrimSpace(line), ":")
				if fields := strings.Fields(counts); found && strings.HasPrefix(name, "headroom") && len(fields) > 0 {
					n, _ := strconv.ParseFloat(fields[0], 64)
					one.bytes += n
				}
			}
			looks = append(looks, one)
		}
	})
	if err := <-begun; err != nil {
		p.t.Fatal(err)
	}
	return func() []byteSample {
		close(done)
		wait.Wait()
		return looks
	}
}

// compareWithCapture records what an event is said to have done beside what was counted by hand.
func compareWithCapture(t *testing.T, name, what, unit string, printed, byHand, off float64) {
	t.Helper()
	figure.Record(t, figure.Figure{Name: figure.Name("net/event", name, "by hand"), Unit: unit, Center: byHand,
		Text: what + ", by hand"})
	figure.Record(t, figure.Figure{Name: figure.Name("net/event", name, "found"), Unit: unit, Center: printed,
		Text: what})
	if !(math.Abs(printed-byHand) <= off) {
		t.Errorf("%s: %.3f, by hand %.3f", what, printed, byHand)
	}
}

// One of two paths is cut under load: the dip, the stall, what is left and the way back are what the links' own
// counters say.
func TestACutPathByHand(t *testing.T) {
	p := newTwoPaths(t, 200)
	stop := p.watch(p.server)
	s := p.cutOne(30, 10, 10)
	looks := stop()
	cut, put := marked(t, p.mark("cut")), marked(t, p.mark("put"))
	load := s.Events.Loads[0]
	f, h := load.Findings[0], load.Happened[0]
	if f.Unknown != "" || h.Failed != "" || f.Event.Level == nil || f.Event.Fell == nil || f.Recovery == nil {
		t.Fatalf("%+v, %+v", f, h)
	}
	before := rateBetween(looks, cut.Add(-6*time.Second), cut)
	degraded := rateBetween(looks, cut.Add(5*time.Second), put.Add(-time.Second)) / before
	stall, _ := independentEstimate(looks, cut, put, before)
	_, back := independentEstimate(looks, cut, put.Add(8*time.Second), before)
	level := f.Before.Center * f.Event.Level.Center
	precise(t, "event/cut-path/before", "before one of two paths is cut", &f.Before.Center, p.goodput())
	precise(t, "event/cut-path/meanwhile", "while one of two paths is cut", &level, p.goodput()/2)
	compareWithCapture(t, "cut path/stall", "one of two paths is cut: how long nothing comes through",
		"s", f.Stall, stall,
		0.15)
	compareWithCapture(t, "cut path/left", "one of two paths is cut: what is left", "share", f.Event.Level.Center,
		degraded,
		0.02)
	compareWithCapture(t, "cut path/back", "one of two paths is cut: when the rate is back", "s", *f.Recovery, back,
		0.4)
	compareWithCapture(t, "cut path/undone", "one of two paths is cut: until that is undone", "s",
		h.Undone+h.UndoTook-h.At,
		put.Sub(cut).Seconds(), 0.2)
	figure.Record(t, figure.Figure{Name: "net/event/cut-path/unsure", Unit: "s", Center: h.Uncertainty,
		Better: figure.Lower,
		Text:   "how far the moment of an event may be wrong, by iperf3"})
	if f.Stall < goesOver-0.1 || f.Lowest > 0.01 || *f.Event.Fell > 0.2 || h.Uncertainty > 0.3 {
		t.Errorf("a stall of %.2f s, lowest %.3f, fell after %.2f s, ±%.2f", f.Stall, f.Lowest, *f.Event.Fell,
			h.Uncertainty)
	}
	p.nothingChanged()
}

// A file system that is frozen for a known time stalls the load for as long.
func TestAFrozenFileSystemByHand(t *testing.T) {
	sshtest.Tool(t, "fsfreeze", "/usr/sbin/fsfreeze", "/sbin/fsfreeze")
	v := newFixture(t)
	mount := freezable(t)
	text := "version: 1\nname: frozen\nrepetitions: 1\njobs:\n  - name: writes\n    fio: {rw: randwrite, bs: 4k, " +
		"ioengine: psync, rate_iops: 2000, runtime: 18s, time_based: 1}\n"
	if err := os.WriteFile(v.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	freeze, thaw := filepath.Join(dir, "freeze.sh"), filepath.Join(dir, "thaw.sh")
	writeScript(t, freeze, "date +%s.%N > "+filepath.Join(dir, "freezing"), "fsfreeze --freeze "+mount,
		"date +%s.%N > "+filepath.Join(dir, "frozen"))
	writeScript(t, thaw, "date +%s.%N > "+filepath.Join(dir, "thawed"), "fsfreeze --unfreeze "+mount)
	s := eventsOf(t, v.command("run", v.suite, mount, "--size", "32m", "--event", "8s: sh "+freeze, "--undo",
		"sh "+thaw, "--event-for", "2500ms", "--json"))
	f := s.Events.Loads[0].Findings[0]
	if f.Unknown != "" || !f.Event.Dip || f.Recovery == nil {
		t.Fatalf("%+v", f)
	}
	thawed := marked(t, filepath.Join(dir, "thawed"))
	held, most := thawed.Sub(marked(t, filepath.Join(dir, "frozen"))).Seconds(),
		thawed.Sub(marked(t, filepath.Join(dir, "freezing"))).Seconds()
	figure.Record(t, figure.Figure{Name: "net/event/frozen/held", Unit: "s", Center: held,
		Text: fmt.Sprintf("how long a file system was frozen; %.2f s with what it took", most)})
	figure.Record(t, figure.Figure{Name: "net/event/frozen/stall", Unit: "s", Center: f.Stall,
		Text: "the stall that was found"})
	if f.Stall < held-0.1 || f.Stall > most+0.15 {
		t.Errorf("a stall of %.2f s in %.2f s: %+v", f.Stall, held, f)
	}
	if *f.Recovery < held || *f.Recovery > held+1 {
		t.Errorf("back after %.2f s, frozen for %.2f s", *f.Recovery, held)
	}
	if pending, err := journal.Pending(filepath.Join(v.store, "changes"), store.Trust); err != nil ||
		len(pending) != 0 {
		t.Errorf("still to undo: %+v, %v", pending, err)
	}
}

// A link that is down for a while under requests: when that was is known well, and TCP tries again soon.
func TestADownLinkUponRequestsByHand(t *testing.T) {
	h := slowHosts(t, 2)
	const at, down = 8, 2
	one, rep := h.downUponRequests(24, at, down)
	stall := rep.Values[lab.EventStall]
	figure.Record(t, figure.Figure{Name: "net/event/requests/down", Unit: "s", Center: one.Undone - one.At,
		Text: fmt.Sprintf("how long a link was down, %.2f s into a test (give or take %.2f s)",
			one.At, one.Uncertainty)})
	figure.Record(t, figure.Figure{Name: "net/event/requests/stall", Unit: "s", Center: stall,
		Text: "how long nothing was answered"})
	if math.Abs(one.At-at) > 2 || one.Uncertainty <= 0 || one.Uncertainty > 1 {
		t.Errorf("the event was %.2f s into the test, give or take %.2f s, and was to be at %d s",
			one.At, one.Uncertainty,
			at)
	}
	if stall < one.Undone-one.At-0.2 || stall > 8 {
		t.Errorf("nothing was answered for %.2f s: %+v", stall, rep.Warnings)
	}
	h.checkNothingLeft()
}

// An event that happens during two pairs at once is carried out once, and each of them says what it did to it. Each is
// held to a rate for which either link has room for both: what two unlimited connections share out between them is
// chance, and may be another after the event, so that one of them is never "back".
func TestEventComesUponAllPairs(t *testing.T) {
	t.Parallel()
	p := newTwoPaths(t, 40)
	cmd := p.net(early+10, "--pairs", "2", "--set", "bitrate=8m", "--event", fmt.Sprintf("%ds: sh %s", early, p.cut),
		"--event-for", "3s", "--json")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, &stderr, out)
	}
	var s summary.Run
	if err := json.Unmarshal(out, &s); err != nil || s.Events == nil || len(s.Events.Loads) != 2 ||
		s.Events.Loads[0].Cell == s.Events.Loads[1].Cell {
		t.Fatalf("%v\n%.3000s", err, out)
	}
	for _, load := range s.Events.Loads {
		f, h := load.Findings[0], load.Happened[0]
		if f.Unknown != "" || h.Failed != "" || h.Undone <= h.At || !f.Event.Dip || f.Recovery == nil ||
			f.Stall < goesOver/2 {
			t.Errorf("%s: %+v, %+v", load.Cell, f, h)
		}
	}
	if text, err := os.ReadFile(p.mark("times")); err != nil || string(text) != "cut\n" {
		t.Errorf("it was cut: %q, %v", text, err)
	}
	out, err = p.command("show", s.ID).Output()
	if err != nil || !strings.Contains(string(out), "pair-1") || !strings.Contains(string(out), "pair-2") ||
		strings.Count(string(out), "Event: ") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
	p.nothingChanged()
}
