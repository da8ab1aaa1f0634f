package catalogue

// profileFacts follow from loads that a run profiled. No snapshot has them: rules are asked with them of a saved run.
func profileFacts() []Definition {
	return []Definition{
		{"profile.calls", Fraction, "", "calls of kernel functions per I/O, all together", Computed},
		{"profile.waits", Fraction, "", "how often per I/O threads of the load wait, off the CPU", Computed},
		{"profile.cpu_ns", Fraction, Nanoseconds, "CPU time per I/O", Computed},
		{"profile.busy", Fraction, Share,
			"CPU time of the load divided by the time of its threads: near 1 it is bound by CPUs, near 0 by the device",
			Computed},
		{"profile.function.*", Fraction, "",
			"of a function, by its name: its `calls` per I/O, `waits` of the load in it, `ns` of CPU time in it alone, and " +
				"their `share` of all", Computed},
		{"profile.layer.*", Fraction, "", "calls, ns and share of a layer, by its ID: dma, block, debugging", Computed},
		{"profile.spin_locks", Fraction, Share, "share of the CPU time in which CPUs wait for a spin lock", Computed},
		{"profile.interrupts.busiest_cpu", Fraction, Share,
			"share of its time that the busiest CPU spends in interrupts and softirqs", Computed},
	}
}

// measuredFacts follow from the figures of a run's loads, as profileFacts do from its profiles.
func measuredFacts() []Definition {
	return []Definition{
		{"measured.busy", Fraction, Share,
			"CPU time of the load's own processes divided by the time of its jobs: near 0 it waits for the device", Computed},
		{"measured.flush.share", Fraction, Share, "share of its time that a load of synced writes waits for flushes",
			Computed},
		{"measured.flush.time", Fraction, Seconds, "mean time of a flush", Computed},
	}
}
