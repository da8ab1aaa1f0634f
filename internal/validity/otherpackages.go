package validity

import (
	"fmt"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// experimentChecks come from experiments.
func experimentChecks() []Check {
	return []Check{
		{
			Code:   "sum-of-targets",
			Weight: Note,
			Title:  "The numbers are of several targets together",
			By:     "run",
			Taints: "nothing",
			When:   "a sweep has several --on, or a network experiment several pairs",
			Do:     "compare with as many targets only; each one's own are in headroom show RUN --raw",
			Source: "headroom's own",
		},
		{
			Code:   "read-otherwise",
			Weight: Note,
			Title:  "headroom changed settings of a job file",
			By:     "run",
			Taints: "nothing",
			When:   "a fio job file sets what headroom sets itself, such as file name or output",
			Do:     "check the cells",
			Source: "headroom's own",
		},
		{
			Code:   "not-settable",
			Weight: Note,
			Title:  "Differences that the target can't set",
			By:     "run",
			Taints: "nothing",
			When:   "headroom bisect facts leaves out settings that the target lacks or can't set",
			Do:     "if no culprit is found, compare these by other means",
			Source: "headroom's own",
		},
		{
			Code:   "left-out-for-budget",
			Weight: Note,
			Title:  "Levels or loads of a sweep were left out to keep its budget",
			By:     "run",
			Taints: "nothing",
			When:   "six blocks of all levels and loads don't fit into --budget: levels are left out first",
			Do:     "sweep around the best level, or raise the budget",
			Source: "docs/howto/sweep.md",
		},
		{
			Code:   "bundle-incomplete",
			Weight: Note,
			Title:  "A set of settings was made without some of them",
			By:     "run",
			Taints: "nothing",
			When:   "the target does not have settings of a bundle: factor, or does not let them be set",
			Do:     "set them on the host, or use a kernel that has them",
			Source: "headroom's own",
		},
		{
			Code:   "not-stacked",
			Weight: Note,
			Title:  "A layer is not stored on the one below",
			By:     "run",
			Taints: "nothing: only what that layer adds is uncertain",
			When:   "compare --layers names a place that is not stored on the one before it",
			Do:     "name layers from the bottom up",
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
			Title:  "Two loads that differ were compared",
			By:     "stages",
			Taints: "nothing: only the efficiency is uncertain",
			When:   "two compared stages differ in depth, jobs or another load parameter",
			Do:     "measure both with the same load",
			Source: "a field report: depth 8 for one path, 1 for two",
		},
		{
			Code:   "writes-by-cache",
			Weight: Note,
			Title:  "Writes take far less time than reads of the same size",
			By:     "stages",
			Taints: "nothing",
			When:   "single writes of a stage take less than a third of a read's time",
			Do:     "find the cache, and whether it survives a power loss; measure more data; export with sync",
			Source: "exports(5)",
		},
		{
			Code:   "label-differs",
			Weight: Note,
			Title:  "A published row is mislabelled",
			By:     "stages",
			Taints: "nothing: the row here is labelled by what was run",
			When:   "a published row's label differs from its command line in direction, block size, depth or jobs",
			Do:     "go by the command line",
			Source: "a field report: reads called randwrite",
		},
		{
			Code:   "published-differs",
			Weight: Note,
			Title:  "A published figure is not what was measured",
			By:     "stages",
			Taints: "nothing: the figure here is the load generator's",
			When:   "a published figure is neither what was printed nor what follows from it",
			Do:     "use the recomputed figure",
			Source: "a field report: KiB/s divided by 1000",
		},
	}
}

// comparisonChecks come from comparisons of runs.
func comparisonChecks() []Check {
	return []Check{
		{
			Code:   "one-after-the-other",
			Weight: Note,
			Title:  "Two runs were measured one after the other",
			By:     "compare",
			Taints: "nothing: time may explain the difference",
			When:   "two saved runs of one boot were not interleaved",
			Do:     "use headroom compare --live, or alternate sides",
			Source: "docs/explanation/statistics.md",
		},
		{
			Code:   "sessions-unknown",
			Weight: Note,
			Title:  "How much sessions differ is unknown",
			By:     "compare",
			Taints: "nothing: the verdict is differs",
			When:   "two sessions differ, and fewer than fourteen other runs of the suite show how much sessions do",
			Do:     "run the suite fourteen times more, use two boots a side, or headroom compare --live",
			Source: "docs/explanation/statistics.md",
		},
		{
			Code:   "one-boot",
			Weight: Note,
			Title:  "A reboot may explain the difference",
			By:     "compare",
			Taints: "nothing",
			When:   "two runs are of different boots, one side of one boot only",
			Do:     "measure two boots a side",
			Source: "memory layout and modules' order change",
		},
		{
			Code:   "boots-unknown",
			Weight: Note,
			Title:  "Unknown in which boot a side was measured",
			By:     "compare",
			Taints: "nothing: a reboot may explain the difference",
			When:   "an imported or published side does not name its boot",
			Do:     "measure both sides with headroom",
			Source: "headroom's own",
		},
		{
			Code:   "carry-over",
			Weight: Note,
			Title:  "One side slows what follows it",
			By:     "compare",
			Taints: "nothing: a verdict that it could turn is withheld",
			When:   "values depend on the side before them, at P < 0.02",
			Do:     "use a ramp: --set ramp_time=30s",
			Source: "docs/explanation/statistics.md",
		},
		{
			Code:   "rhythm",
			Weight: Note,
			Title:  "The machine is slow and fast in a rhythm",
			By:     "compare, sweep",
			Taints: "nothing: a verdict that it could turn is withheld",
			When:   "a wave of 2 to 12 runs of a live comparison, or 2 to 12 visits of a sweep, explains the values, at P < 0.01",
			Do:     "let each load run longer than the rhythm, or measure again in another random order",
			Source: "docs/explanation/statistics.md",
		},
		{
			Code:   "same-run",
			Weight: Note,
			Title:  "A run was compared with itself",
			By:     "compare",
			Taints: "nothing",
			When:   "both sides are the same run",
			Do:     "name two runs: headroom list shows them",
			Source: "headroom's own",
		},
		{
			Code:   "running",
			Weight: Note,
			Title:  "A run is still in progress",
			By:     "compare",
			Taints: "nothing: verdicts may change",
			When:   "a side is still being measured",
			Do:     "wait for its end",
			Source: "repeated looks",
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
			When:   "text of CrystalDiskMark or KDiskMark: one number a test",
			Do:     "compare with its own kind only",
			Source: "KDiskMark's benchmark.cpp; diskspd #224",
		},
		{
			Code:   "migration-failed",
			Weight: Spoils,
			Title:  "A guest was not moved",
			By:     "import",
			Taints: "everything",
			When:   "the log of a migration by Proxmox VE has an error",
			Do:     "fix the cause and move it again",
			Source: "QemuMigrate.pm of qemu-server",
		},
		{
			Code:   "migration-network",
			Weight: Note,
			Title:  "A guest was not moved over a dedicated network",
			By:     "import",
			Taints: "nothing",
			When:   "the log of a migration by Proxmox VE names no dedicated network",
			Do:     "name one: Datacenter, Options, Migration Settings",
			Source: "QemuMigrate.pm of qemu-server",
		},
		{
			Code:   "import-bandwidth",
			Weight: Note,
			Title:  "MB/s of KDiskMark or YABS were recomputed",
			By:     "import",
			Taints: "nothing: the bandwidths here are right",
			When:   "text of KDiskMark, or of YABS before July 2026: its MB/s are 2.34% low",
			Do:     "nothing",
			Source: "KDiskMark #122, #175; YABS #120",
		},
		{
			Code:   "import-mixed",
			Weight: Spoils,
			Title:  "Files of different conditions in one import",
			By:     "import",
			Taints: "everything",
			When:   "files of repetitions differ in version, machine or size",
			Do:     "import them as separate runs",
			Source: "fio #805, #1929",
		},
		{
			Code:   "import-summary",
			Weight: Spoils,
			Title:  "A summary was imported, not the results",
			By:     "import",
			Taints: "what the summary lost",
			When:   "the last screen of dbench, kbench or YABS, or ClusterBuster's json-summary",
			Do:     "import the whole log or the raw report",
			Source: "benchmark-operator #101; ClusterBuster's fio_loader.py",
		},
		{
			Code:   "import-incomplete",
			Weight: Note,
			Title:  "The other tool reports failed tests",
			By:     "import",
			Taints: "nothing",
			When:   "ClusterBuster's verdict on a run is not PASS, or transactions of pgbench failed",
			Do:     "repeat what failed",
			Source: "pbench #909",
		},
		{
			Code:   "import-left-out",
			Weight: Note,
			Title:  "Files or lines were left out of an import",
			By:     "import",
			Taints: "nothing",
			When:   "files hold nothing that looks like results, or pasted lines with rates belong to no job",
			Do:     "name the files alone to see why; paste the command, or the line with the name of the job, too",
			Source: "fio-plot #116, #126",
		},
		{
			Code:   "import-duplicate",
			Weight: Note,
			Title:  "The same file or test was given twice",
			By:     "import",
			Taints: "nothing: it counts once",
			When: "two files are equal byte for byte, or have the same test, as its client and its server print it, or as a " +
				"table and as JSON",
			Do:     "nothing",
			Source: "headroom's own",
		},
		{
			Code:   "import-cached",
			Weight: Spoils,
			Title:  "The load went through the page cache",
			By:     "import",
			Taints: "everything",
			When:   "dd, sysbench or elbencho did no direct I/O and did not wait for the disk: memory was measured, or a part of it",
			Do:     "measure with direct I/O, or with headroom run",
			Source: "GNU coreutils, dd: conv=fdatasync, oflag=direct",
		},
		{
			Code:   "import-one-stream",
			Weight: Note,
			Title:  "One stream in sequence was measured",
			By:     "import",
			Taints: "nothing",
			When:   "dd or hdparm made one request at a time, in sequence",
			Do:     "measure random I/O and more requests at a time as well: headroom run quick",
			Source: "hdparm.8; GNU coreutils, dd",
		},
		{
			Code:   "workers-apart",
			Weight: Spoils,
			Title:  "Workers that were added up did not run together",
			By:     "import",
			Taints: "everything",
			When: "ClusterBuster's workers share less than 80% of the time in which any ran, or elbencho's rates until the " +
				"first thread and until the last was done differ by a tenth",
			Do:     "take the rates as an upper bound",
			Source: "fio #519",
		},
	}
}

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

// targetChecks are of several targets, and of the two ends of a network.
func targetChecks() []Check {
	return []Check{
		{
			Code:   "connection-missed",
			Weight: Note,
			Title:  "perftest's client came before its server listened",
			By:     "runner",
			Taints: "nothing",
			When:   "the second connection was refused (RDMA_CM_EVENT_REJECTED; error: 8), at most three times",
			Do:     "nothing, if rare; else find what keeps the server's CPUs busy",
			Source: "perftest_communication.c",
		},
		{
			Code:   "target-lost",
			Weight: Note,
			Title:  "The target was lost, and another one took its place",
			By:     "runner",
			Taints: "nothing",
			When:   "a pod ended during a repetition, which another pod on the node repeated",
			Do:     "read the reason; before and after are two pods, with emptydir two volumes",
			Source: "Kubernetes on eviction and disruption",
		},
		{
			Code:   "target-left-out",
			Weight: Note,
			Title:  "A node that was selected has no pod",
			By:     "run",
			Taints: "nothing",
			When:   "a node of kube:nodes takes no pods, or a ladder's pods can't use their nodes' network",
			Do: "read the reason; add tolerate for taints, narrow the selector, or use a namespace that allows " +
				"hostNetwork",
			Source: "Kubernetes' Pod Security Standards",
		},
		{
			Code:   "started-apart",
			Weight: Spoils,
			Title:  "Loads of several targets did not start together",
			By:     "runner",
			Taints: "everything",
			When:   "the first and last start were " + unit.Percent(skewShare) + " of the shortest load apart",
			Do:     "run longer, or find what delays one of them",
			Source: "fio #519",
		},
		{
			Code:   "clocks-unknown",
			Weight: Spoils,
			Title:  "Unknown whether loads of several targets ran together",
			By:     "runner",
			Taints: "everything",
			When:   "a clock can't be read, or is uncertain by " + unit.Percent(skewShare) + " of the shortest load",
			Do:     "run longer, or over a faster connection",
			Source: "headroom's own",
		},
		{
			Code:   "unanswered",
			Weight: Spoils,
			Title:  "Requests were not answered, or answers were left out",
			By:     "runner",
			Taints: "the latency of requests, and their rate where answers were left out",
			When:   "sockperf counted answers that are missing, double or out of order",
			Do:     "send fewer a second, or find the drops",
			Source: "sockperf, client.cpp",
		},
		{
			Code:   "only-sent",
			Weight: Spoils,
			Title:  "Messages were counted where they were sent",
			By:     "runner",
			Taints: "the rate of what was sent",
			When:   "sockperf sent datagrams without answers, or an imported result has no count of what arrived",
			Do:     "use protocol: tcp, or iperf3 with protocol: udp; import what the receiver's side printed",
			Source: "sockperf, client.cpp; iperf3, iperf_api.c",
		},
		{
			Code:   "no-sum",
			Weight: Note,
			Title:  "Several targets are not added up",
			By:     "runner",
			Taints: "nothing: each target has its own numbers",
			When: "a load failed, clocks can't be compared, loads share no second, or a load has no rates by the " +
				"second (commands, perftest, own fio logs)",
			Do:     "read the numbers of each target",
			Source: "headroom's own",
		},
	}
}

// skewShare is how far apart loads of several targets may start, as a share of the shortest of them: above that, much
// of the supposedly concurrent time was not concurrent.
const skewShare = 0.05

// StartSkew are the warnings that loads of several targets, the shortest of which took so long, did not start together,
// or that it is not known whether they did.
func StartSkew(skew, uncertainty, shortest time.Duration) []lab.Warning {
	most := time.Duration(skewShare * float64(shortest))
	switch {
	case shortest <= 0:
		return nil
	case skew > most:
		return []lab.Warning{startSkew(skew, uncertainty, shortest)}
	case uncertainty > most:
		return []lab.Warning{
			ClocksUnknown(fmt.Sprintf("the clocks of the targets can be compared to %s only, and the shortest load "+
				"took %s", brief(uncertainty), unit.Duration(shortest)))}
	}
	return nil
}

func startSkew(skew, uncertainty, shortest time.Duration) lab.Warning {
	return lab.Warning{Code: "started-apart", Taints: allMetrics(), Text: fmt.Sprintf(
		"the loads of the targets started %s apart (±%s), and the shortest took %s: for a part of the time some ran "+
			"alone; run longer, or find what delays the start of one",
		brief(skew), brief(uncertainty), unit.Duration(shortest))}
}

// brief prints a time that may be far below a second.
func brief(d time.Duration) string { return unit.Latency(d.Seconds()) }

// ClocksUnknown is the warning that it is not known whether loads of several targets ran at the same time; why begins
// the sentence.
func ClocksUnknown(why string) lab.Warning {
	return lab.Warning{Code: "clocks-unknown", Taints: allMetrics(),
		Text: why + ": whether the loads ran at the same time is not known; run longer, or over a connection that " +
			"answers faster"}
}

// NoClock is ClocksUnknown for targets that do not tell the time.
func NoClock(targets []string) lab.Warning {
	return ClocksUnknown("the clock of " + strings.Join(targets, " and ") + " can't be read")
}

// NoSum is the warning that what several targets did together can't be added up.
func NoSum(why string) lab.Warning {
	return lab.Warning{Code: "no-sum", Taints: []string{}, Text: "the targets are not added up: " + why}
}

// StoreOnDevice is the warning that the run's folder is on the disk under test; only the code that saves can know. It
// taints no metric: saving waits until the load has ended.
func StoreOnDevice(store, disk string) lab.Warning {
	return lab.Warning{Code: "store-on-device", Taints: []string{},
		Text: "the results are saved to " + store + ", which is on " + disk + ", the disk under test: between " +
			"loads only, but that is what the next load finds; use --store on another disk"}
}

// ProgramsHidden is the warning that it can't be seen whether a program outside of this container has the device under
// test open.
func ProgramsHidden(device string) lab.Warning {
	return lab.Warning{Code: "programs-hidden", Taints: []string{},
		Text: "programs outside of this container can't be seen, so it is unknown whether one of them has " + device +
			" open; start the container with --pid host"}
}

// ProgramsUnread is the same warning where it is some programs whose open files could not be read: they are other
// users', or wait for a device.
func ProgramsUnread(device string, programs int) lab.Warning {
	return lab.Warning{Code: "programs-hidden", Taints: []string{},
		Text: fmt.Sprintf("what %d of the other programs have open can't be seen, so it is unknown whether one of "+
			"them has %s open; run as root", programs, device)}
}

// DeviceSampled is the warning that a device was written to after a look at a sample of it. seen is how much was read,
// and missed how likely one stretch of data of a length was to go unseen: "84% for 64.0 KiB".
func DeviceSampled(device, seen string, missed []string) lab.Warning {
	return lab.Warning{Code: "device-sampled", Taints: []string{},
		Text: device + " was sampled, not read: " + seen +
			"; the chance that it missed one stretch of data, at a random place, is " + strings.Join(missed, ", ")}
}

// BusyBefore is the warning that the disks under test were busy before the run began; activity describes the I/O. It
// taints nothing: a moment before the run does not describe the minutes that follow, which other-load covers.
func BusyBefore(activity string) lab.Warning {
	return lab.Warning{Code: "busy-before", Taints: []string{},
		Text: "before the run began, the disks under test were busy already: " + activity +
			"; stop that (iotop -o names it), or see by other-load what it cost each load"}
}

// maxListedChanges is how many changed settings a warning names.
const maxListedChanges = 6

// SettingsChanged is the warning that the machine was not the same from the first load to the last; each change is
// written as "cpu.governor: powersave, then performance".
func SettingsChanged(changes []string) lab.Warning {
	more := ""
	if n := len(changes) - maxListedChanges; n > 0 {
		changes, more = changes[:maxListedChanges], fmt.Sprintf(" and %d more", n)
	}
	return lab.Warning{Code: "settings-changed", Taints: allMetrics(),
		Text: "the machine was changed during the run: " + strings.Join(changes, "; ") + more +
			"; repetitions before and after are of two machines, so repeat the run"}
}

// NotSettable is the warning that a search between two machines leaves differences out; each is written with the
// reason. The culprit may be among them.
func NotSettable(settings []string) lab.Warning {
	return lab.Warning{Code: "not-settable", Taints: []string{},
		Text: "not searched, since the target does not let them be set: " + strings.Join(settings, "; ")}
}

// BundleIncomplete is the warning that a set of settings was made without some of them. what names them and the place:
// "bundle:esnet without sysctl:net.core.rmem_max at the client".
func BundleIncomplete(what string) lab.Warning {
	return lab.Warning{Code: "bundle-incomplete", Taints: []string{}, Text: what + ", which can't be set there: the " +
		"kernel does not have them, or has them to be read only; what was measured is the rest of the set"}
}

// PathUnused is the warning that a way to a server carried nothing, or that several ways are one; what names them.
func PathUnused(what string) lab.Warning {
	return lab.Warning{Code: "path-unused", Taints: allMetrics(), Text: what +
		"; look at addresses, routes and links: the numbers cover only the ways that were used"}
}
