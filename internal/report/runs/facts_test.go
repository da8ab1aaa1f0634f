package runs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// Facts of two disks have the same keys, so readers must see the disk of each, and readable amounts.
func TestFactsSayWhatTheyAreAbout(t *testing.T) {
	s := summarized(t, "measured")
	s.Targets[0].Facts = []lab.Fact{
		{Key: "memory.total", Value: "17179869184", Source: "/proc/meminfo"},
		{Key: "disk.queue.scheduler", About: "sda", Value: "mq-deadline"},
		{Key: "disk.queue.scheduler", About: "sdb", Value: "none"},
		{Key: "pci.payload", About: "0000:41:00.0", Unknown: "permission denied; root may read it"},
	}
	page := written(t, "html", []summary.Run{s}, report.Options{})
	for _, want := range []string{
		"All facts (4, 1 unknown)",
		`<th scope="rowgroup" colspan="3">disk sda</th></tr>` + "\n" +
			`<tr><td class="words">disk.queue.scheduler</td><td class="words">mq-deadline</td>`,
		`<th scope="rowgroup" colspan="3">disk sdb</th></tr>` + "\n" +
			`<tr><td class="words">disk.queue.scheduler</td><td class="words">none</td>`,
		`<td class="words">pci.payload</td><td class="words">unknown: permission denied; root may read it</td>`,
		`<td class="words">16.0 GiB</td><td class="words">/proc/meminfo</td>`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	markdown := written(t, "markdown", []summary.Run{s}, report.Options{})
	for _, want := range []string{
		"| memory.total | 16.0 GiB | /proc/meminfo |",
		"| **disk sda** |  |  |\n| disk.queue.scheduler | mq-deadline |  |",
		"| **disk sdb** |  |  |\n| disk.queue.scheduler | none |  |",
		"| pci.payload | unknown: permission denied; root may read it |  |",
	} {
		if !strings.Contains(markdown, want) {
			t.Errorf("Markdown lacks %s", want)
		}
	}
}

// manyDisks returns the facts of a machine with hundreds of disks: tens of thousands.
func manyDisks(t testing.TB, disks int) summary.Run {
	t.Helper()
	const each = 50
	s := summarized(t, "measured")
	for i := range disks {
		for j := range each {
			s.Targets[0].Facts = append(s.Targets[0].Facts,
				lab.Fact{Key: fmt.Sprintf("disk.fact%d", j), About: fmt.Sprintf("sd%d", i), Value: "1"})
		}
	}
	return s
}

func TestPageOfManyDisks(t *testing.T) {
	const disks = 1000
	page := written(t, "html", []summary.Run{manyDisks(t, disks)}, report.Options{})
	if n := strings.Count(page, `<th scope="rowgroup"`); n < disks {
		t.Errorf("%d sections for %d disks", n, disks)
	}
}

func BenchmarkPageOfManyDisks(b *testing.B) {
	s := manyDisks(b, 1000)
	for b.Loop() {
		written(b, "html", []summary.Run{s}, report.Options{})
	}
}
