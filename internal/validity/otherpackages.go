package validity

// experimentChecks come from experiments.
func experimentChecks() []Check {
	return []Check{
		{
			Code:   "sum-of-targets",
			Weight: Note,
			Title:  "The numbers are of several targets together",
			By:     "run",
			Taints: "nothing by itself",
			When: "a sweep has several --on, which carry out each load at the same moment; or an experiment on a " +
				"network is measured between several pairs",
			Do: "hold it against other runs of as many targets or pairs; what each of them did is in its own " +
				"output, headroom show RUN --raw",
			Source: "headroom's sums of several targets: the seconds in which all were running",
		},
		{
			Code:   "read-otherwise",
			Weight: Note,
			Title:  "A job file was read otherwise than fio reads it",
			By:     "run",
			Taints: "nothing by itself",
			When:   "a fio job file has settings that headroom takes over itself, such as its file name or output",
			Do:     "see that the cells are those that were meant",
			Source: "headroom's suites",
		},
		{
			Code:   "not-settable",
			Weight: Note,
			Title:  "Differences that the target does not let be set",
			By:     "run",
			Taints: "nothing by itself",
			When: "headroom bisect facts leaves settings out that differ between the two machines, since the " +
				"target has no such setting, can't write it, or does not take the value",
			Do:     "if no culprit is found, compare these by other means: one of them may be it",
			Source: "headroom's own",
		},
		{
			Code:   "left-out-for-budget",
			Weight: Note,
			Title:  "Levels or loads of a sweep were left out to keep its budget",
			By:     "run",
			Taints: "nothing by itself",
			When: "a sweep has a --budget in which four blocks of all its levels and loads do not fit: levels are " +
				"left out first, so that a coarse grid is left, then loads",
			Do:     "sweep the levels around the best one, or take a larger budget",
			Source: "headroom's own; four blocks are the fewest that a claim takes (docs/howto/sweep.md)",
		},
		{
			Code:   "bundle-incomplete",
			Weight: Note,
			Title:  "A set of settings was made without some of them",
			By:     "run",
			Taints: "nothing by itself",
			When: "a bundle: factor has settings that the target does not have, as an older kernel, or that can " +
				"only be read there, as in a container or network namespace",
			Do: "read the result as that of the rest; set what is missing on the host itself, or measure where " +
				"the kernel has all of it",
			Source: "headroom's own",
		},
		{
			Code:   "not-stacked",
			Weight: Note,
			Title:  "A layer does not lie on the one below",
			By:     "run",
			Taints: "nothing of what was measured, but what is said to be added",
			When: "compare --layers is given a place that the kernel knows to lie elsewhere than on the one named " +
				"before it",
			Do:     "name the layers from the bottom up; or read what is found between the two as a difference",
			Source: "headroom's own",
		},
	}
}

// stageChecks come from tables of stages.
func stageChecks() []Check {
	return []Check{
		{
			Code:   "unlike-pair",
			Weight: Note,
			Title:  "Two loads that are not alike were set against each other",
			By:     "stages",
			Taints: "nothing of what was measured, but the efficiency",
			When: "the load of a stage differs from that of the stage it is compared with in depth, jobs or another " +
				"parameter of the load",
			Do: "measure both stages with the same load",
			Source: "the NFS over RDMA report: one path measured at a depth of 8 for each job, two paths at a depth " +
				"of 1",
		},
		{
			Code:   "writes-by-cache",
			Weight: Note,
			Title:  "Writes take far less than reads of the same size",
			By:     "stages",
			Taints: "nothing of what was measured",
			When: "a stage has writes, one at a time, that take less than a third of what a read of the same size " +
				"does there",
			Do: "find out which cache answers, whether it outlasts a loss of power, and measure more data than " +
				"it holds; an NFS export with sync answers when the data are on the disk",
			Source: "exports(5), sync and async; the NFS over RDMA report: 69,905 writes of 8 KiB a second, one at a " +
				"time, where a read takes 95 µs",
		},
		{
			Code:   "label-differs",
			Weight: Note,
			Title:  "A published row is called otherwise than what was run",
			By:     "stages",
			Taints: "nothing: the row here is labelled by what was run",
			When: "the label of a row of a published table names another direction, block size, depth or number of " +
				"jobs than the command line whose figures it has",
			Do:     "go by the command line",
			Source: "the NFS over RDMA report: reads called randwrite and writes called randread, and depth 1 called Q8",
		},
		{
			Code:   "published-differs",
			Weight: Note,
			Title:  "A published figure is not what was measured",
			By:     "stages",
			Taints: "nothing: the figure here is that of the load generator",
			When: "a figure of a published table is, to its last digit, neither what the load generator printed " +
				"nor what follows from it",
			Do:     "take the figure that was recomputed",
			Source: "the NFS over RDMA report: KiB/s divided by 1000 for MiB/s, and taken for kB/s",
		},
	}
}

// comparisonChecks come from comparisons of runs.
func comparisonChecks() []Check {
	return []Check{
		{
			Code: "one-after-the-other", Weight: Note, Title: "Two runs were measured one after the other",
			By: "compare", Taints: "nothing by itself: the difference may be of the time between",
			When:   "two saved runs of one boot are compared that were not measured in turns",
			Do:     "headroom compare --live measures both in turns; or measure each side several times, in turn",
			Source: "headroom's own simulations and recorded disks (docs/explanation/statistics.md)",
		},
		{
			Code: "sessions-unknown", Weight: Note, Title: "How far sessions of a load differ is not known",
			By: "compare", Taints: "nothing by itself: the verdict is differs",
			When: "two sessions differ, and fewer than fourteen other saved runs of the suite tell how far " +
				"sessions do",
			Do:     "the suite fourteen times more; or two boots on each side; or headroom compare --live",
			Source: "headroom's own simulations (docs/explanation/statistics.md)",
		},
		{
			Code: "one-boot", Weight: Note, Title: "A difference may be the reboot's", By: "compare",
			Taints: "nothing by itself: a part of the difference may be the boot's",
			When:   "two runs are of different boots, and one of them of one boot only",
			Do:     "reboot and measure again, twice at least on each side",
			Source: "memory is laid out again and modules load in another order at each boot",
		},
		{
			Code: "boots-unknown", Weight: Note, Title: "Nobody knows in which boot it was measured", By: "compare",
			Taints: "nothing by itself: a part of the difference may be the boot's",
			When:   "a side that is imported or published does not say in which boot it was measured",
			Do:     "measure both sides with headroom",
			Source: "tables of other programs have no boot",
		},
		{
			Code: "carry-over", Weight: Note, Title: "One side slows what follows it", By: "compare",
			Taints: "nothing by itself: a verdict that it could turn is withheld",
			When:   "the values of a live comparison differ by which side came before them (at 1%)",
			Do:     "let each load wash out what the one before left: --set ramp_time=30s",
			Source: "headroom's own simulations (docs/explanation/statistics.md)",
		},
		{
			Code: "same-run", Weight: Note, Title: "A run was compared with itself", By: "compare", Taints: "nothing",
			When:   "both sides of a comparison are the same run",
			Do:     "name two runs: headroom list shows them",
			Source: "a slip, mostly",
		},
		{
			Code: "running", Weight: Note, Title: "A run is still going on", By: "compare",
			Taints: "nothing by itself: verdicts that are looked at until one pleases are not proved",
			When:   "a side of a comparison is still being measured",
			Do:     "wait for its end",
			Source: "a test that is repeated until it is significant always is, at last",
		},
	}
}

// importChecks come from imports of what other tools printed.
func importChecks() []Check {
	return []Check{
		{
			Code:   "import-best-of",
			Weight: Spoils,
			Title:  "The best of several passes, or their mean",
			By:     "import",
			Taints: "everything",
			When:   "CrystalDiskMark or KDiskMark text, which has one number a test",
			Do:     "compare with its own kind only",
			Source: "KDiskMark's benchmark.cpp; diskspd #224",
		},
		{
			Code:   "migration-failed",
			Weight: Spoils,
			Title:  "A guest was not moved",
			By:     "import",
			Taints: "everything",
			When:   "the log of a migration by Proxmox VE tells of an error",
			Do:     "fix the cause and move it again",
			Source: "QemuMigrate.pm of qemu-server",
		},
		{
			Code:   "migration-network",
			Weight: Note,
			Title:  "A guest was not moved over a network of its own",
			By:     "import",
			Taints: "nothing: it says what the speed is that of",
			When:   "the log of a migration by Proxmox VE names no dedicated network",
			Do:     "name the storage's network: Datacenter, Options, Migration Settings",
			Source: "a field report whose migrations went over 1 GbE beside idle InfiniBand; QemuMigrate.pm of " +
				"qemu-server",
		},
		{
			Code:   "import-bandwidth",
			Weight: Note,
			Title:  "KDiskMark's MB/s were recomputed",
			By:     "import",
			Taints: "nothing: the bandwidths here are right",
			When:   "KDiskMark text, whose MB/s are 2.34% low",
			Do:     "nothing",
			Source: "KDiskMark #122, #175",
		},
		{
			Code:   "import-disagrees",
			Weight: Spoils,
			Title:  "The text contradicts itself",
			By:     "import",
			Taints: "IOPS and bandwidth of that row",
			When:   "MB/s are not IOPS times block size",
			Do:     "look at the file",
			Source: "arithmetic",
		},
		{
			Code:   "import-mixed",
			Weight: Spoils,
			Title:  "Files of different conditions in one import",
			By:     "import",
			Taints: "everything",
			When:   "files that are to be repetitions differ in version, machine or size",
			Do:     "import them as separate runs",
			Source: "fio #805, #1929",
		},
		{
			Code:   "import-summary",
			Weight: Spoils,
			Title:  "A summary was imported, not the results",
			By:     "import",
			Taints: "what the summary has lost",
			When:   "dbench's last screen, or ClusterBuster's json-summary",
			Do:     "import the whole log or the raw report",
			Source: "benchmark-operator #101; ClusterBuster's fio_loader.py",
		},
		{
			Code:   "import-incomplete",
			Weight: Note,
			Title:  "The other tool says that tests failed",
			By:     "import",
			Taints: "nothing that is there",
			When:   "ClusterBuster's verdict on a run is not PASS",
			Do:     "repeat what failed",
			Source: "pbench #909",
		},
		{
			Code:   "import-left-out",
			Weight: Note,
			Title:  "Files were left out of an import",
			By:     "import",
			Taints: "nothing that is there",
			When:   "files hold nothing that looks like results",
			Do:     "name them alone to see why",
			Source: "fio-plot #116, #126",
		},
		{
			Code:   "import-duplicate",
			Weight: Note,
			Title:  "The same file was given twice",
			By:     "import",
			Taints: "nothing: it was counted once",
			When:   "two files are equal byte for byte",
			Do:     "nothing",
			Source: "the same result again is no repetition",
		},
		{
			Code:   "workers-apart",
			Weight: Spoils,
			Title:  "Workers that were added up did not run together",
			By:     "import",
			Taints: "everything",
			When:   "the workers of a ClusterBuster job share less than 80% of the time in which any ran",
			Do:     "take the rates as an upper bound",
			Source: "fio #519; benchmark-operator #101",
		},
	}
}
