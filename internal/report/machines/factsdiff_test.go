package machines

import (
	"fmt"

	"github.com/headroom/headroom/internal/diff"
)

// fewDifferences has each kind of difference, with all optional fields.
func fewDifferences() diff.Document {
	return diff.Document{Schema: diff.Schema, A: "node6.json", B: "run 7KQ4 (node7)", Differences: []diff.Difference{
		{Rank: 1, Kind: "option", Fact: "kernel.config.IOMMU_DEFAULT_DMA_STRICT", Name: "IOMMU_DEFAULT_DMA_STRICT",
			A: "y", B: "n", Weight: 0.4, Slower: "a", Why: "every DMA unmapping waits for the IOMMU to forget it",
			Effect: "63% less throughput (m8g.metal-24xl, iperf3)", Source: &diff.Source{Title: "a report"},
			Argument: "iommu.strict=0", Note: "a overrides it",
			Follows: []string{"kernel.config.IOMMU_DEFAULT_DMA_LAZY"}},
		{Rank: 2, Kind: "fact", Fact: "disk.queue.scheduler", Name: "disk.queue.scheduler",
			About: []diff.Pair{{A: "nvme0n1", B: "nvme1n1"}, {A: "sda"}}, A: "none", B: "bfq", Weight: 0.1, Slower: "b",
			Why: "each request passes a scheduler"},
		{Rank: 3, Kind: "fact", Fact: "memory.total", Name: "memory.total", A: "8589934592", B: "17179869184",
			Weight: 0.01, Why: "the page cache holds more"},
		{Rank: 4, Kind: "argument", Fact: "kernel.cmdline.quiet", Name: "quiet", A: "quiet splash", Weight: 0.001,
			Why: "nothing is known of it"},
		{Rank: 5, Kind: "thing", Fact: "nic", B: "eth1 (ixgbe)"},
		{Rank: 6, Kind: "thing", Fact: "disk", A: "sdb (a model)"},
	}, Counts: diff.Counts{Options: 1, Arguments: 1, Facts: 2, NotComparable: 2},
		NotComparable: []diff.NotComparable{{Fact: "kernel.tracer", Unknown: "b", Why: "b: permission denied"},
			{Fact: "nic.ring.rx", About: "eth0", Unknown: "a", Why: "a: ethtool is not installed"}}}
}

// manyDifferences has more differences than users read at once.
func manyDifferences() diff.Document {
	d := diff.Document{A: "node6", B: "node7", Counts: diff.Counts{Sysctls: 120}}
	for i := 1; i <= 120; i++ {
		name := fmt.Sprintf("net.core.setting_%d", i)
		d.Differences = append(d.Differences, diff.Difference{Rank: i, Kind: "sysctl", Fact: "sysctl." + name,
			Name: name, A: "1", B: "2", Weight: 0.001, Why: "nothing is known of it"})
	}
	return d
}
