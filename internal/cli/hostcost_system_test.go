//go:build system

package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"headroom/internal/lab"
	"headroom/internal/sweep"
)

const nullLoad = "version: 1\nname: idle\njobs:\n  - {name: nothing, fio: {rw: randread, bs: 4k, ioengine: \"null\", size: 1g, runtime: 1s, time_based: 1}}\n"

func (v victim) suiteOf(text string) string {
	v.t.Helper()
	file := filepath.Join(filepath.Dir(v.suite), "one.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		v.t.Fatal(err)
	}
	return file
}

// hostSeconds are the CPU seconds of the host that stand behind the value of a repetition.
func hostSeconds(r lab.Repetition) float64 {
	return r.Values[lab.HostCPUPerIO] * r.Values[lab.IOPS(lab.Read)] * r.Seconds
}

// The CPU time of the host is there for each load, is at least that of fio, and no more than the cores had.
func TestHostCPUOfALoad(t *testing.T) {
	t.Run("here", func(t *testing.T) { hostCPUOfALoad(t, newVictim(t), "local") })
	t.Run("over ssh", func(t *testing.T) {
		v, _ := newRemoteVictim(t)
		hostCPUOfALoad(t, v, "ssh://under-test")
	})
}

func hostCPUOfALoad(t *testing.T, v victim, on string) {
	if out, err := v.command("sweep", v.suiteOf(nullLoad), "--factor", "job:bs=4k,8k", "--blocks", "2", "--on", on).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := 0
	for r, err := range v.only().Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		n++
		host, own, cores := hostSeconds(r), r.Values[lab.CPUPerIO]*r.Values[lab.IOPS(lab.Read)]*r.Seconds, float64(runtime.NumCPU())
		t.Logf("%s: host %.2f s, fio %.2f s of CPU time; %.2f s of %g cores", r.Cell, host, own, r.Took, cores)
		// The kernel counts for the machine by ticks, for a process exactly.
		if host <= 0 || host < own/2 || host > cores*(r.Took+0.1) {
			t.Errorf("%s: %v", r.Cell, r.Values)
		}
	}
	if n != 4 {
		t.Errorf("%d repetitions", n)
	}
	out, err := v.command("sweep", "--show", "last", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var d sweep.Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Cells[0].Levels {
		if p.Costs[lab.HostCPUPerIO].Value <= 0 {
			t.Errorf("at %s: %v", p.Level, p.Costs)
		}
	}
	for format, want := range map[string]string{"csv": "host_cpu", "openmetrics": "headroom_host_cpu_seconds_per_operation", "json": "host_cpu.per_io"} {
		if out, err := v.command("export", "last", "--format", format).Output(); err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%.2000s", format, err, out)
		}
	}
}

// A load in a guest costs the CPU time of this machine, not of the guest: with all cores here busy, more than a guest of one core has.
func TestHostCPUOfAGuest(t *testing.T) {
	if runtime.NumCPU() < 2 {
		t.Skip("a host with one core has no more than the guest")
	}
	v := newVictim(t)
	file := guestFile(t)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(text, "cpus: 1\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	for range runtime.NumCPU() {
		spin := exec.CommandContext(t.Context(), "nice", "-n", "19", "sh", "-c", "while :; do :; done")
		if err := spin.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = spin.Process.Kill() // it ends by nothing else
			_ = spin.Wait()
		})
	}
	load := "version: 1\nname: read\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, ioengine: psync, direct: 1, rate_iops: 50, runtime: 3s, time_based: 1}}\n"
	if out, err := v.command("run", v.suiteOf(load), "/dev/nvme0n1", "--on", "qemu:"+file, "--repeat", "1").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for r, err := range v.only().Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		host := hostSeconds(r)
		t.Logf("host %.2f s of CPU time, in %.2f s of load, %.2f s in all", host, r.Seconds, r.Took)
		if host < 1.3*r.Seconds || host > float64(runtime.NumCPU())*(r.Took+0.1) {
			t.Errorf("%v", r.Values)
		}
	}
}
