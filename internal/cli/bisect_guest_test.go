//go:build system && guests

package cli

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"headroom/internal/bisection"
	"headroom/internal/figure"
)

// slowArguments each make small random reads much slower in a guest with an emulated NVMe disk: by 41%, 65% and 76%, in an ablation of three blocks. What idle=poll costs
// depends on what else the host has to do: nothing at all where a core of it is free.
func slowArguments() []string {
	return []string{"slub_debug=FZPU", "pti=on", "ftrace=function"}
}

// harmlessArguments make no difference there that could be seen.
func harmlessArguments() []string {
	return strings.Fields("init_on_alloc=1 init_on_free=1 page_poison=1 audit_backlog_limit=128 audit=0 quiet consoleblank=60 apparmor=0 nowatchdog loglevel=3 " +
		"transparent_hugepage=never numa_balancing=disable pcie_aspm=off workqueue.power_efficient=1 skew_tick=1 kfence.sample_interval=0 vsyscall=none slab_nomerge nokaslr " +
		"nvme.use_threaded_interrupts=1 hugepages=8 randomize_kstack_offset=on page_alloc.shuffle=1 printk.devkmsg=off")
}

// guestSearches skips a test that boots guests for many minutes, but with the tag bench.
func guestSearches(t *testing.T) {
	t.Helper()
	if !figure.Whole {
		t.Skip("boots guests for many minutes; scripts/bench runs it")
	}
}

// One slow argument, drawn at random, is found and proved among 24; so are two; and where there is none, nothing is found.
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
			v := newVictim(t)
			d := hunt(t, v, "bisect", "args", smallReads(t, v), "/dev/nvme0n1", "--on", "qemu:"+guestFile(t), "--bad", strings.Join(arguments, " "), "--json")
			t.Logf("figure: %v of %d arguments: %s after %d boots and %d more to prove it; from the fast state to the slow one %.0f%%; a boot spreads by %.0f%%",
				slow, len(arguments), d.Outcome, d.Measurements, d.Proofs, 100*(d.Loss.Ratio-1), 100*d.Spread)
			if d.Explained != nil {
				t.Logf("figure: explains %.0f%% [%.0f, %.0f] of the loss", 100*d.Explained.Share, 100*d.Explained.Lo, 100*d.Explained.Hi)
			}
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

// Huge pages that take all the memory of a small guest keep it from starting, though both ends start: the slow one has more memory. The search goes on
// beside such mixtures, and finds the argument that has nothing to do with them.
func TestASearchGoesOnBesideGuestsThatDoNotStart(t *testing.T) {
	guestSearches(t)
	v := newVictim(t)
	d := hunt(t, v, "bisect", "settings", smallReads(t, v), "/dev/nvme0n1", "--on", "qemu:"+guestFile(t), "--json", "--seed", "1",
		"--setting", "guest:memory=512M,2G", "--setting", "cmdline:hugepages=0,800", "--setting", "cmdline:slub_debug=absent,FZPU",
		"--setting", "cmdline:audit=absent,0", "--setting", "cmdline:nowatchdog=absent,")
	t.Logf("figure: beside %d mixtures that do not start: %s after %d boots and %d more to prove it; %+v", len(d.Unmeasurable), d.Outcome, d.Measurements, d.Proofs, d.Unmeasurable)
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

// smallReads is a suite whose figure is decided by what the kernel does for each read.
func smallReads(t *testing.T, v victim) string {
	t.Helper()
	suite := filepath.Join(filepath.Dir(v.suite), "read.yaml")
	text := "version: 1\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, iodepth: 32, ioengine: libaio, direct: 1, ramp_time: 1s, runtime: 3s, time_based: 1}}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return suite
}

// hunt searches, logs what became the likeliest on the way, and returns the answer.
func hunt(t *testing.T, v victim, arguments ...string) (d bisection.Document) {
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
