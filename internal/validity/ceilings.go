package validity

// ceilingChecks are of what is faster than the hardware; they come from the report, which knows the ceilings.
func ceilingChecks() []Check {
	return []Check{
		{
			Code:   "above-ceiling",
			Weight: Spoils,
			Title:  "Faster than the hardware allows",
			By:     "report",
			Taints: "the direction concerned",
			When: "a repetition is more than 1% above what all links to the place carry: PCIe, SATA, SAS, " +
				"Ethernet, InfiniBand",
			Do: "set direct=1, or use more data than memory; check for compression, and for links that saved " +
				"power meanwhile",
			Source: "arithmetic; internal/ceiling has the sources",
		},
		{
			Code:   "samples-above-ceiling",
			Weight: Spoils,
			Title:  "Seconds that are faster than the hardware allows",
			By:     "report",
			Taints: "the direction concerned",
			When:   "a sample, or one job's maximum, is more than 10% above what the links carry",
			Do:     "set direct=1, or end_fsync=1 with more data than memory",
			Source: "fio's stat.c, sum_stat",
		},
		{
			Code:   "maxima-above-ceiling",
			Weight: Spoils,
			Title:  "The jobs' highest samples add up to more than the hardware allows",
			By:     "report",
			Taints: "the direction concerned",
			When:   "fio's maximum, a sum of each job's own, is more than 10% above what the links carry",
			Do:     "set direct=1, or end_fsync=1 with more data than memory; samples would prove it",
			Source: "fio's stat.c, sum_stat",
		},
		{
			Code:   "at-one-of-several",
			Weight: Note,
			Title:  "At the limit of one part of several",
			By:     "report",
			Taints: "nothing",
			When:   "the result is within 10% of what one of several ports, NICs, disks, uplinks or cores carries",
			Do:     "read the counters of each",
			Source: "a field report: 95% of one port of two",
		},
	}
}
