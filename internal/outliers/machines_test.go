package outliers

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/lab"
)

// cluster is so many machines alike, each with names, addresses and a few settings that nobody else has.
func cluster(n int) ([]string, []map[lab.Fact]string) {
	var names []string
	var all []map[lab.Fact]string
	for i := range n {
		names = append(names, fmt.Sprintf("node-%d", i+1))
		all = append(all, map[lab.Fact]string{
			{Key: "host.name"}: names[i], {Key: "boot.uptime"}: fmt.Sprint(1000 * i), {Key: "kernel.release"}: "6.12.0",
			{Key: "kernel.cmdline"}:               fmt.Sprintf("quiet root=UUID=%d", i),
			{Key: "sysctl.kernel.numa_balancing"}: "0", {Key: "memory.total"}: fmt.Sprint(1<<36 + i),
			{Key: "disk.model", About: "nvme0n1"}:           "SAMSUNG MZQL",
			{Key: "disk.serial", About: "nvme0n1"}:          fmt.Sprintf("S%07d", i),
			{Key: "disk.queue.scheduler", About: "nvme0n1"}: "none",
			{Key: "disk.pci.link.width", About: "nvme0n1"}:  "4",
		})
	}
	return names, all
}

func factsOf(machine map[lab.Fact]string) []lab.Fact {
	var all []lab.Fact
	for f, value := range machine {
		if f.Value = value; value == "" {
			f.Unknown = "permission denied"
		}
		all = append(all, f)
	}
	return all
}

func find(t *testing.T, names []string, machines []map[lab.Fact]string) []string {
	t.Helper()
	knowledge, err := diff.Load()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, u := range Machines(knowledge, names, func(i int) []lab.Fact { return factsOf(machines[i]) }) {
		slower := map[bool]string{true: " slower", false: ""}[u.Slower]
		texts = append(texts, fmt.Sprintf("%s %v %v: %q, %q on %d of %d%s", u.Fact, u.On, u.About, u.Value, u.Typical,
			u.SameCount, u.Machines, slower))
	}
	return texts
}

func TestMachines(t *testing.T) {
	names, machines := cluster(12)
	if got := find(t, names, machines); len(got) > 0 {
		t.Errorf("alike but for names and sizes: %q", got)
	}
	width, scheduler := lab.Fact{Key: "disk.pci.link.width", About: "nvme0n1"},
		lab.Fact{Key: "disk.queue.scheduler", About: "nvme0n1"}
	release := lab.Fact{Key: "kernel.release"}
	machines[2][width] = "1"
	machines[6][scheduler], machines[8][scheduler] = "bfq", "bfq"
	machines[3][width] = "" // it can't be told
	for i := 4; i < 10; i++ {
		machines[i][release] = "6.1.0" // half of them: nobody is odd
	}
	want := []string{
		`disk.pci.link.width [node-3] [nvme0n1]: "1", "4" on 10 of 11 slower`,
		`disk.queue.scheduler [node-7 node-9] [nvme0n1 nvme0n1]: "bfq", "none" on 10 of 12 slower`,
	}
	got := find(t, names, machines)
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// The order of names and of facts changes nothing but the order of names.
	slices.Reverse(names)
	slices.Reverse(machines)
	if again := find(t, names, machines); len(again) != 2 || again[0] != want[0] {
		t.Errorf("%q", again)
	}
}

// The most typical machine can be the odd one in something.
func TestTheTypicalMachineIsOdd(t *testing.T) {
	names, machines := cluster(5)
	for i := range 4 {
		machines[i+1][lab.Fact{Key: "kernel.release"}] = fmt.Sprintf("6.%d.0", i) // each its own
		machines[i+1][lab.Fact{Key: "cpu.model"}] = fmt.Sprintf("model %d", i)
		machines[i+1][lab.Fact{Key: "disk.queue.scheduler", About: "nvme0n1"}] = "bfq"
	}
	machines[0][lab.Fact{Key: "cpu.model"}] = "model 1"
	got := find(t, names, machines)
	if !slices.Contains(got, `disk.queue.scheduler [node-1] [nvme0n1]: "none", "bfq" on 4 of 5`) {
		t.Errorf("%q", got)
	}
	if slices.ContainsFunc(got, func(text string) bool { return text[:6] == "kernel" }) {
		t.Errorf("each has its own: %q", got)
	}
}

// A disk that one of them lacks, and an argument that one alone was booted with.
func TestThingsAndArguments(t *testing.T) {
	names, machines := cluster(4)
	maps.DeleteFunc(machines[1], func(f lab.Fact, _ string) bool { return f.About == "nvme0n1" })
	machines[1][lab.Fact{Key: "disk.model", About: "sda"}] = "PERC"
	machines[1][lab.Fact{Key: "disk.size", About: "sda"}] = "1000"
	machines[3][lab.Fact{Key: "kernel.cmdline"}] += " mitigations=off"
	got := find(t, names, machines)
	if !slices.Contains(got, `kernel.cmdline.mitigations [node-4] []: "off", "" on 3 of 4`) &&
		!slices.Contains(got, `kernel.cmdline.mitigations [node-4] []: "off", "" on 3 of 4 slower`) {
		t.Errorf("%q", got)
	}
	if two := find(t, names[:2], machines[:2]); len(two) > 0 {
		t.Errorf("of two nobody is the odd one: %q", two)
	}
}
