//go:build system && guests

package cli

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"headroom/internal/bisection"
)

// slowArgument makes small random reads slow in a guest with an emulated NVMe disk: by a third and more.
const slowArgument = "slub_debug=FZPU"

// harmlessArguments make no difference there that could be seen.
func harmlessArguments() []string {
	return strings.Fields("init_on_alloc=1 init_on_free=1 page_poison=1 mitigations=off audit=0 quiet selinux=0 apparmor=0 nowatchdog loglevel=3 " +
		"transparent_hugepage=never numa_balancing=disable pcie_aspm=off workqueue.power_efficient=1 skew_tick=1 kfence.sample_interval=0 vsyscall=none slab_nomerge nokaslr " +
		"nvme.use_threaded_interrupts=1 hugepages=8 randomize_kstack_offset=on page_alloc.shuffle=1")
}

// The slow one of 24 kernel arguments is found and proved.
func TestTheSlowArgumentIsFound(t *testing.T) {
	if os.Getenv("HEADROOM_GUEST_SEARCHES") == "" {
		t.Skip("takes some thirty boots; scripts/bench runs it")
	}
	seed, slow := rand.Uint64(), slowArgument
	random := rand.New(rand.NewPCG(seed, 0))
	arguments := append(harmlessArguments(), slow)
	random.Shuffle(len(arguments), func(i, j int) { arguments[i], arguments[j] = arguments[j], arguments[i] })
	t.Logf("seed %d: %s among %d", seed, slow, len(arguments))
	d := huntArguments(t, arguments)
	name, value, _ := strings.Cut(slow, "=")
	if d.Outcome != bisection.Found || len(d.Culprits) != 1 || d.Culprits[0].Factor != "cmdline:"+name || d.Culprits[0].Bad != value {
		t.Fatalf("%s: %+v", d.Outcome, d.Culprits)
	}
	t.Logf("figure: %s of %d arguments found in %d boots and proved in %d; explains %.0f%% [%.0f, %.0f] of %.0f%%; a boot spreads by %.0f%%", slow, len(arguments),
		d.Measurements, d.Proofs, 100*d.Explained.Share, 100*d.Explained.Lo, 100*d.Explained.Hi, 100*(1-d.Loss.Ratio), 100*d.Spread)
}

// huntArguments finds what makes a guest slow that has all of these arguments, beside one that has none.
func huntArguments(t *testing.T, arguments []string) bisection.Document {
	t.Helper()
	v := newVictim(t)
	suite := filepath.Join(filepath.Dir(v.suite), "read.yaml")
	text := "version: 1\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, iodepth: 32, ioengine: libaio, direct: 1, ramp_time: 1s, runtime: 3s, time_based: 1}}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := v.command("bisect", "args", suite, "/dev/nvme0n1", "--on", "qemu:"+guestFile(t), "--bad", strings.Join(arguments, " "), "--json")
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	lines := slices.Collect(strings.Lines(log.String()))
	for _, l := range lines {
		if strings.Contains(l, "most likely") {
			t.Log(strings.TrimSpace(l))
		}
	}
	var d bisection.Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	return d
}
