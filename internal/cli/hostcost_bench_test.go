//go:build bench && system

package cli

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// The CPU time of the host is at least that of fio, and no more than the cores had.
func TestHostCPUIsBetweenFioAndAllCores(t *testing.T) {
	var over []float64
	for _, r := range nullLoads(t, newFixture(t), "local") {
		host, own, cores := hostSeconds(r), r.Values[lab.CPUPerIO]*r.Values[lab.IOPS(lab.Read)]*r.Seconds,
			float64(runtime.NumCPU())
		over = append(over, host/own)
		// The kernel counts for the machine by ticks, for a process exactly.
		if host < own/2 || host > cores*(r.Took+0.1) {
			t.Errorf("%s: host %.2f s, fio %.2f s of CPU time; %.2f s of %g cores", r.Cell, host, own, r.Took, cores)
		}
	}
	figure.Record(t, sampled.Median("hostcost/over-fio", "ratio", over,
		"").Saying("CPU time of the host over that of fio, null load"))
}

// A load in a guest costs the CPU time of this machine, not of the guest: with all cores here busy, more than a guest
// of one core has.
func TestHostCPUIsThatOfAllCores(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("a host with one core has no more than the guest")
	}
	v := newFixture(t)
	for range runtime.NumCPU() {
		start(t, exec.CommandContext(t.Context(), "nice", "-n", "19", "sh", "-c", "while :; do :; done"))
	}
	readInAGuest(t, v)
	for _, r := range onlyRepetitions(t, v) {
		host := hostSeconds(r)
		figure.Record(t, figure.Figure{Name: "hostcost/guest", Unit: "s", Center: host / r.Seconds,
			Text: "CPU time of the host for a second of load in a guest of one core, all cores busy"})
		if host < 1.3*r.Seconds || host > float64(runtime.NumCPU())*(r.Took+0.1) {
			t.Errorf("host %.2f s of CPU time, in %.2f s of load, %.2f s in all", host, r.Seconds, r.Took)
		}
	}
}

// readInAGuest measures once in a guest with one core.
func readInAGuest(t *testing.T, v fixture) {
	t.Helper()
	file := guestFile(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "cpus: 1\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	load := "version: 1\nname: read\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, ioengine: psync, direct: 1, " +
		"rate_iops: 50, runtime: 3s, time_based: 1}}\n"
	if out, err := v.command("run", v.suiteOf(load), "/dev/nvme0n1", "--on", "qemu:"+file, "--repeat",
		"1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
