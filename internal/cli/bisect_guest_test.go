//go:build system && guests

package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/testing/figure"
)

// slowArguments each make small random reads much slower in a guest with an emulated NVMe disk: by 41%, 65% and 76%, in
// an ablation of three blocks. What idle=poll costs depends on what else the host has to do: nothing at all where a
// core of it is free.
func slowArguments() []string {
	return []string{"slub_debug=FZPU", "pti=on", "ftrace=function"}
}

// harmlessArguments make no difference there that could be seen.
func harmlessArguments() []string {
	return strings.Fields("init_on_alloc=1 init_on_free=1 page_poison=1 audit_backlog_limit=128 audit=0 quiet " +
		"consoleblank=60 apparmor=0 nowatchdog loglevel=3 transparent_hugepage=never numa_balancing=disable " +
		"pcie_aspm=off workqueue.power_efficient=1 skew_tick=1 kfence.sample_interval=0 vsyscall=none slab_nomerge " +
		"nokaslr nvme.use_threaded_interrupts=1 hugepages=8 randomize_kstack_offset=on page_alloc.shuffle=1 " +
		"printk.devkmsg=off")
}

// guestSearches skips a test that boots guests for many minutes, but with the tag bench.
func guestSearches(t *testing.T) {
	t.Helper()
	if !figure.Whole {
		t.Skip("boots guests for many minutes; scripts/bench runs it")
	}
}

// One slow argument, drawn at random, is found and proved among 24; so are two; and where there is none, nothing is
// found.
func TestTheSlowArgumentsAreFound(t *testing.T) {
	guestSearches(t)
	for _, n := range []int{1, 2, 0} {
		t.Run(strconv.Itoa(n), func(t *testing.T) {
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 0))
			slow := slowArguments()
			random.Shuffle(len(slow), func(i, j int) { slow[i], slow[j] = slow[j], slow[i] })
			slow = slow[:n]
			arguments := append(harmlessArguments()[:24-n], slow...)
			random.Shuffle(len(arguments), func(i, j int) { arguments[i], arguments[j] = arguments[j], arguments[i] })
			t.Logf("seed %d: %v among %d", seed, slow, len(arguments))
			v := newFixture(t)
			d := runBisect(t, v, "bisect", "args", smallReads(t, v), "/dev/nvme0n1", "--on", "qemu:"+guestFile(t),
				"--bad",
				strings.Join(arguments, " "), "--json")
			searched(t, figure.Name("guests/arguments", n), fmt.Sprintf("%d slow ones of %d arguments, %v", n,
				len(arguments), slow), d)
			var named []string
			for _, c := range d.Culprits {
				named = append(named, strings.TrimPrefix(c.Factor, "cmdline:")+"="+c.Bad)
			}
			slices.Sort(named)
			slices.Sort(slow)
			want := bisection.Found
			if n == 0 {
				want = bisection.NoDifference
			}
			if d.Outcome != want || !slices.Equal(named, slow) {
				t.Errorf("%s: %v", d.Outcome, named)
			}
		})
	}
}

// Huge pages that take all the memory of a small guest keep it from starting, though both ends start: the slow one has
// more memory. The search goes on beside such mixtures, and finds the argument that has nothing to do with them.
func TestASearchGoesOnBesideGuestsThatDoNotStart(t *testing.T) {
	guestSearches(t)
	v := newFixture(t)
	d := runBisect(t, v, "bisect", "settings", smallReads(t, v), "/dev/nvme0n1", "--on", "qemu:"+guestFile(t),
		"--json", "--seed", "1",
		"--setting", "guest:memory=512M,2G", "--setting", "cmdline:hugepages=0,800", "--setting",
		"cmdline:slub_debug=absent,FZPU",
		"--setting", "cmdline:audit=absent,0", "--setting", "cmdline:nowatchdog=absent,")
	searched(t, "guests/beside-no-start", "a slow argument beside mixtures that do not start", d)
	figure.Record(t, figure.Figure{Name: "guests/beside-no-start/mixtures", Center: float64(len(d.Unmeasurable)),
		Text: "mixtures of that search that do not start"})
	t.Logf("%+v", d.Unmeasurable)
	if d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Factor != "cmdline:slub_debug" {
		t.Errorf("%s: %+v", d.Outcome, d.Culprits)
	}
	if len(d.Unmeasurable) == 0 {
		t.Error("all mixtures were measured")
	}
	for _, m := range d.Unmeasurable {
		if slices.Contains(m.Applied, 1) || !slices.Contains(m.Applied, 2) || m.Reason == "" {
			t.Errorf("%+v", m)
		}
	}
}

// searched records what a search in guests took, and what it says of the loss.
func searched(t *testing.T, name, what string, d bisection.Document) {
	t.Helper()
	what += ": " + string(d.Outcome)
	figure.Record(t, figure.Figure{Name: name + "/boots", Center: float64(d.Measurements), Better: figure.Lower,
		Text: what + ", boots"})
	figure.Record(t, figure.Figure{Name: name + "/proofs", Center: float64(d.Proofs), Better: figure.Lower, Text: what +
		", boots that prove it"})
	if l := d.Loss; l != nil {
		figure.Record(t, figure.Figure{Name: name + "/loss", Unit: "ratio", Center: l.Ratio, Lo: l.Lo, Hi: l.Hi,
			Confidence: 0.95, N: l.Measurements, Text: what + ", the slow state over the fast one"})
	}
	figure.Record(t, figure.Figure{Name: name + "/spread", Unit: "share", Center: d.Spread, Text: what +
		", by how much boots spread"})
	if e := d.Explained; e != nil {
		figure.Record(t, figure.Figure{Name: name + "/explained", Unit: "share", Center: e.Share, Lo: e.Lo, Hi: e.Hi,
			Confidence: 0.95, Text: what + ", how much of the loss that explains"})
	}
}

// smallReads is a suite whose figure is decided by what the kernel does for each read.
func smallReads(t *testing.T, v fixture) string {
	t.Helper()
	suite := filepath.Join(filepath.Dir(v.suite), "read.yaml")
	text := "version: 1\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, iodepth: 32, ioengine: libaio, direct: " +
		"1, ramp_time: 1s, runtime: 3s, time_based: 1}}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return suite
}

// runBisect searches, logs what became the likeliest on the way, and returns the answer.
func runBisect(t *testing.T, v fixture, arguments ...string) (d bisection.Document) {
	t.Helper()
	cmd := v.command(arguments...)
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	for l := range strings.Lines(log.String()) {
		if strings.Contains(l, "most likely") {
			t.Log(strings.TrimSpace(l))
		}
	}
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	if err != nil && d.Outcome != bisection.Undecided {
		t.Fatalf("%v\n%s", err, log.String())
	}
	return d
}
