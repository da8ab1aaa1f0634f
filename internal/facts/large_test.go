package facts

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

// inMemory is a machine whose files are a tree.
type inMemory struct {
	*factstest.Machine
	files collect.Tree
}

func (m inMemory) FS() fs.FS { return m.files }

// largeMachine has 1,024 CPUs in 16 nodes and 4 sockets, 1,000 sysctls, 1,500 module parameters, 10,000 lines of
// configuration and 2,000 processes.
func largeMachine(t testing.TB) inMemory {
	t.Helper()
	m := inMemory{&factstest.Machine{Title: "large"}, collect.NewTree()}
	write := m.files.File
	const cpuDir, nodeDir = "/sys/devices/system/cpu", "/sys/devices/system/node"
	const cpus, perNode, perSocket = 1024, 64, 256
	write(cpuDir+"/present", "0-1023")
	write(cpuDir+"/online", "0-1022")
	var info, stat strings.Builder
	stat.WriteString("cpu  100 0 100 1000 0 0 0 10 0 0")
	for n := range cpus {
		dir := fmt.Sprintf("%s/cpu%d", cpuDir, n)
		write(dir+"/topology/physical_package_id", strconv.Itoa(n/perSocket))
		write(dir+"/topology/core_cpus_list", fmt.Sprintf("%d,%d", n/2*2, n/2*2+1))
		write(dir+"/thermal_throttle/core_throttle_count", "1")
		policy := fmt.Sprintf("%s/cpufreq/policy%d", cpuDir, n)
		write(policy+"/scaling_governor", "performance")
		write(policy+"/scaling_driver", "intel_pstate")
		write(policy+"/cpuinfo_max_freq", "3800000")
		fmt.Fprintf(&info, "processor\t: %d\nvendor_id\t: GenuineIntel\nflags\t\t: %s\n\n", n,
			strings.Repeat("flag ", 150))
		fmt.Fprintf(&stat, "cpu%d 100 0 100 1000 0 0 0 10 0 0\n", n)
	}
	write("/proc/cpuinfo", info.String())
	write("/proc/stat", stat.String())
	for n := range cpus / perNode {
		dir := fmt.Sprintf("%s/node%d", nodeDir, n)
		write(dir+"/cpulist", fmt.Sprintf("%d-%d", n*perNode, n*perNode+perNode-1))
		write(dir+"/meminfo", fmt.Sprintf("Node %d MemTotal: 1024 kB\nNode %d MemFree: 512 kB", n, n))
	}
	for n := range 1000 {
		write(fmt.Sprintf("/proc/sys/net/area%d/setting%d", n%20, n), "1\t2\t3")
	}
	for n := range 1500 {
		write(fmt.Sprintf("/sys/module/module%d/parameters/parameter%d", n/5, n), "Y")
	}
	var config bytes.Buffer
	packed := gzip.NewWriter(&config)
	for n := range 10000 {
		fmt.Fprintf(packed, "CONFIG_OPTION_%d=y\n", n)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	m.files.Put("/proc/config.gz", &collect.Node{Data: config.String()})
	write(collect.ReleasePath, "6.18.0-large")
	for n := range 2000 {
		write(fmt.Sprintf("/proc/%d/comm", n+1), fmt.Sprintf("worker/%d", n))
		write(fmt.Sprintf("/proc/%d/io", n+1), fmt.Sprintf("read_bytes: %d\nwrite_bytes: 0", n))
	}
	return m
}

func TestLargeMachine(t *testing.T) {
	found, err := SnapshotWithin(t.Context(), time.Minute, largeMachine(t), lab.Place{}) // it may be a slow machine
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, found)
	for key, want := range map[string]string{"cpu.sockets": "4", "cpu.cores": "512", "cpu.threads": "1024",
		"cpu.present": "1024",
		"cpu.offline": "1023", "numa.nodes": "16", "node.sockets": "1", "cpu.governor": "performance",
		"sysctl.net.area0.setting0": "1 2 3", "module.module0.parameter4": "Y", "kernel.config.OPTION_9999": "y",
		"load.throttled": "512", "busy.read": "1999"} {
		if got := factstest.ValueOf(found, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	count := map[string]int{}
	for _, f := range found {
		for _, prefix := range []string{"sysctl.", "module.", "kernel.config.", "node.cpus", "busy.read"} {
			if strings.HasPrefix(f.Key, prefix) {
				count[prefix]++
			}
		}
	}
	for prefix, want := range map[string]int{"sysctl.": 1001, "module.": 1500, "kernel.config.": 10000, "node.cpus": 16,
		"busy.read": 5} {
		if count[prefix] != want {
			t.Errorf("%s* are %d, want %d", prefix, count[prefix], want)
		}
	}
}

// It takes a twentieth of a second, a small part of SnapshotLimit, and a quarter of a second from real files.
func BenchmarkSnapshotOfALargeMachine(b *testing.B) {
	m := largeMachine(b)
	for b.Loop() {
		if _, err := SnapshotWithin(b.Context(), SnapshotLimit, m, lab.Place{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCollectors measures each collector on that machine, without the kernel's part.
func BenchmarkCollectors(b *testing.B) {
	m := largeMachine(b)
	for _, c := range Collectors() {
		b.Run(c.Name, func(b *testing.B) {
			for b.Loop() {
				c.Collect(collect.Reader{FS: m.FS()}, collect.Scope{})
			}
		})
	}
}
