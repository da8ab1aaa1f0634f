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
			When: "a repetition is more than 1% above what all links to the place carry together: PCIe, SATA, SAS, " +
				"Ethernet, InfiniBand",
			Do: "set direct=1, or use more data than memory holds; check for compression, and for a link that " +
				"saved power when the facts were read",
			Source: "arithmetic; internal/ceiling has the source of each formula",
		},
		{
			Code:   "samples-above-ceiling",
			Weight: Spoils,
			Title:  "Seconds that are faster than the hardware allows",
			By:     "report",
			Taints: "the direction concerned",
			When:   "a per-second sample, or the maximum of a single job, is more than 10% above what the links carry",
			Do:     "set direct=1, or end_fsync=1 with more data than memory holds",
			Source: "a field report of NFS over RDMA; fio's stat.c, sum_stat",
		},
		{
			Code:   "maxima-above-ceiling",
			Weight: Spoils,
			Title:  "The jobs' highest samples add up to more than the hardware allows",
			By:     "report",
			Taints: "the direction concerned",
			When: "fio's maximum for several jobs is more than 10% above what the links carry; it adds up each " +
				"job's own, at different moments",
			Do: "set direct=1, or end_fsync=1 with more data than memory holds; samples of all jobs together " +
				"would prove it",
			Source: "a field report of NFS over RDMA; fio's stat.c, sum_stat",
		},
		{
			Code:   "at-one-of-several",
			Weight: Note,
			Title:  "At the limit of one part of several",
			By:     "report",
			Taints: "nothing",
			When:   "the result is within 10% of what one of several ports, NICs, disks, uplinks or cores carries",
			Do:     "read the counters of each: the load may use one only",
			Source: "a field report of NFS over RDMA: 95% of one port of two",
		},
	}
}
