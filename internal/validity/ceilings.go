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
			When: "a repetition is more than 1% above what the links to the place can carry at most: PCIe, SATA, SAS, " +
				"Ethernet, InfiniBand, added up over all that the load may have used",
			Do: "direct=1, or more data than memory holds; look for compression, and whether the link was slowed by " +
				"power saving when the facts were read",
			Source: "arithmetic, with the sources of each formula in internal/ceiling",
		},
		{
			Code:   "samples-above-ceiling",
			Weight: Spoils,
			Title:  "Seconds that are faster than the hardware allows",
			By:     "report",
			Taints: "the direction concerned",
			When: "a per-second sample is more than 10% above what the links to the place can carry at most, also " +
				"where the mean is not",
			Do: "direct=1, or end_fsync=1 and more data than memory holds",
			Source: "the NFS over RDMA report, whose writes have possible means and impossible peaks; fio's own " +
				"maximum is used where it is that of one job, because with group_reporting it is the sum of each " +
				"job's own (stat.c, sum_stat)",
		},
		{
			Code:   "maxima-above-ceiling",
			Weight: Spoils,
			Title:  "The jobs' highest samples add up to more than the hardware allows",
			By:     "report",
			Taints: "the direction concerned",
			When: "the maximum that fio printed for several jobs is more than 10% above what the links can carry: it " +
				"is the sum of each job's own, so that it need not be of one moment",
			Do: "direct=1, or end_fsync=1 and more data than memory holds; per-second samples of all jobs " +
				"together would prove it",
			Source: "the NFS over RDMA report: buffered writes with maxima of 13 to 21 GB/s over links of 4 and 8; " +
				"fio's stat.c, sum_stat",
		},
		{
			Code:   "at-one-of-several",
			Weight: Note,
			Title:  "At the ceiling of a part",
			By:     "report",
			Taints: "nothing by itself",
			When: "the result is within 10% of what one of several ports, NICs, disks, uplinks or cores carries, " +
				"while more are there",
			Do:     "look at the counters of each: the load may use one only",
			Source: "the NFS over RDMA report: reads at 95% of one port of two",
		},
	}
}
