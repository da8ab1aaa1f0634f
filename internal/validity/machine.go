package validity

import (
	"fmt"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// disturbanceChecks are of what else the machine did, headroom included.
func disturbanceChecks() []Check {
	return []Check{
		{
			Code:       "other-load",
			Weight:     Slows,
			Title:      "Something else used the device",
			Repetition: otherLoad,
			Taints:     "the load's directions",
			When: fmt.Sprintf("the disk moved %s and %s more than fio, without a file system or mirror that "+
				"adds to it", unit.Bytes(otherBytes), unit.Percent(otherShare)),
			Do:     "stop it and run again",
			Source: "/proc/diskstats",
		},
		{
			Code:   "busy-before",
			Weight: Note,
			Title:  "The disks were busy before the run began",
			By:     "run",
			Taints: "nothing: see other-load",
			When:   "within 0.3 s before, a disk did 20 operations a second or was busy for a tenth",
			Do:     "stop what uses them (iotop -o names it)",
			Source: "/proc/diskstats",
		},
		{
			Code:   "path-unused",
			Weight: Spoils,
			Title:  "A path to the server carried nothing",
			By:     "nfs",
			Taints: "everything",
			When: "an NFS transport sent no call, a mount over RDMA used no RDMA port, or fewer cards carried 5% " +
				"of the bytes than there are trunked addresses",
			Do:     "give each card an address in its own subnet; ip route get ADDRESS names the card",
			Source: "/proc/self/mountstats; nfs(5), max_connect",
		},
		{
			Code:   "programs-hidden",
			Weight: Note,
			Title:  "Programs that use the device may be hidden",
			By:     "run",
			Taints: "nothing",
			When: "headroom is in a separate PID namespace, or can't read what other users' programs have open. " +
				"It still sees mounts, swap and arrays",
			Do:     "use docker run --pid host, run as root, or make sure that nothing uses the device",
			Source: "pid_namespaces(7)",
		},
		{
			Code:   "device-sampled",
			Weight: Note,
			Title:  "A device was sampled, not read in full, before it was written to",
			By:     "run",
			Taints: "nothing",
			When:   "--sampled named the device. The warning has the probability that this missed data, which are lost",
			Do:     "leave out --sampled",
			Source: "headroom's own",
		},
		{
			Code:   "store-on-device",
			Weight: Note,
			Title:  "Results are kept on the device under test",
			By:     "run",
			Taints: "nothing",
			When:   "the store is on the measured disk",
			Do:     "use --store on another disk",
			Source: "pbench #1753",
		},
		{
			Code:   "settings-changed",
			Weight: Moves,
			Title:  "The machine was changed during the run",
			By:     "run",
			Taints: "everything",
			When: "a setting differs between the facts before and after the run, apart from disks and volumes that " +
				"do not store the place",
			Do:     "find who changed it (a tuning daemon, a person, hot-plug) and run again",
			Source: "the facts of the bundle",
		},
	}
}

// machineChecks are of a machine that is slower than it could be.
func machineChecks() []Check {
	return []Check{
		{
			Code:       "cpu-steal",
			Weight:     Slows,
			Title:      "The hypervisor took CPU time away",
			Repetition: cpuSteal,
			AnyLoad:    true,
			Taints:     "everything",
			When: fmt.Sprintf("steal is above %s of CPU time, and at least %s", unit.Percent(stealShare),
				unit.Duration(stealTime)),
			Do:     "measure at a quieter time, or use dedicated CPUs",
			Source: "proc_stat(5)",
		},
		{
			Code:       "throttled",
			Weight:     Slows,
			Title:      "The CPU was too hot",
			Repetition: throttled,
			AnyLoad:    true,
			Taints:     "everything",
			When:       "a thermal_throttle counter rose",
			Do:         "improve its cooling",
			Source:     "the kernel, on x86",
		},
		{
			Code:       "cpu-quota",
			Weight:     Slows,
			Title:      "A limit of CPU time held the load back",
			Repetition: cpuQuota,
			AnyLoad:    true,
			Taints:     "everything",
			When: fmt.Sprintf("a control group of the load used up its time in more than %s of the periods",
				unit.Percent(quotaShare)),
			Do:     "raise the limit (a pod's, or CPUQuota), or use it for all",
			Source: "cpu.stat of control groups",
		},
		{
			Code:       "cpu-frequency",
			Weight:     Slows,
			Title:      "The CPU ran slowly under load",
			Repetition: cpuFrequency,
			AnyLoad:    true,
			Taints:     "everything",
			When: fmt.Sprintf("in mid-load the clock was below %s of its highest, with %s of the cores busy",
				unit.Percent(slowShare), unit.Percent(busyShare)),
			Do:     "lift the limit, or use it for all",
			Source: "perftest #372",
		},
		{
			Code:       "disk-hot",
			Weight:     Slows,
			Title:      "The drive was hot",
			Repetition: diskHot,
			AnyLoad:    true,
			Taints:     "the load's directions",
			When:       fmt.Sprintf("at least %d °C after the load", hotCelsius),
			Do:         "cool it",
			Source:     "warning temperatures in data sheets of drives",
		},
	}
}

const (
	// otherShare and otherBytes are what else may pass through the device before it counts as a load: file system
	// metadata and a system's logging stay far below.
	otherShare = 0.10
	otherBytes = 16 << 20
	// stealShare is the part of CPU time that a hypervisor may give to others. Above one in a hundred the tail
	// percentiles are its, because a stolen slice lasts milliseconds.
	stealShare = 0.01
	// stealTime is the least that was taken away: the kernel counts it in ticks of 10 ms, so that one of them would be
	// half of a command of 20 ms.
	stealTime = 100 * time.Millisecond
	// quotaShare is the part of its periods in which a group may have used up its time: fewer are the bursts of
	// starting and of telling results.
	quotaShare = 0.02
	// slowShare is how far below its highest clock a busy machine may run. All cores at work reach 60% to 80% of the
	// highest clock, which is one core's turbo; busyShare is what counts as busy, since idle cores sleep.
	slowShare = 0.5
	busyShare = 0.5
	// hotCelsius is where the first drives slow down; data sheets name 70 to 85 °C as the warning temperature.
	hotCelsius = 75
)

// otherLoad counts what the disk moved beyond fio's bytes. Where it can't tell another load from what a file system
// or a mirror adds, it does not count: writes through a file system, and any writes over several disks.
func otherLoad(e *Evidence) []lab.Warning {
	d, ok := e.counted().disks()
	if !ok || e.backing().inMemory() || e.Group.Seconds <= 0 {
		return nil
	}
	direct, _ := e.options().direct()
	reads, writes := float64(e.traffic(lab.Read).bytes)*e.rampFactor(),
		float64(e.traffic(lab.Write).bytes)*e.rampFactor()
	if e.did(lab.Mixed) && reads+writes == 0 {
		return nil
	}
	extra := 0.0
	// Buffered reads read ahead, and writes of a part of a block read the rest first.
	if reads > 0 && direct || e.Place.Kind == lab.Device && direct {
		extra += max(0, float64(d.ReadBytes)-reads)
	}
	if writes == 0 || direct && len(e.Place.Disks) == 1 && (e.Place.Kind == lab.Device || e.overwritesAlone()) {
		extra += max(0, float64(d.WriteBytes)-writes)
	}
	if extra < otherBytes || extra < otherShare*(reads+writes) {
		return nil
	}
	return mostError(extra/(extra+reads+writes),
		warn(metricsOf(e.directions()...), "%s passed through %s beside the %s that fio moved, so something else "+
			"was using it; stop that (iotop -o names it), or read these numbers as shared",
			unit.Bytes(extra), names(e.Place.Disks), unit.Bytes(reads+writes)))
}

// overwritesAlone reports whether direct writes through the file system are all that reaches the disk: ext4 and XFS
// write over a file that was laid out where it lies, and little else. What is flushed writes to the journal, too, and
// file systems that copy on write also write where that is.
func (e *Evidence) overwritesAlone() bool {
	inPlace := slices.Contains([]string{"ext2", "ext3", "ext4", "xfs"}, e.Machine.Filesystem) &&
		!slices.Contains(e.Machine.MountOptions, "data=journal")
	o := e.options()
	return inPlace && e.Repetition.Layout.Kind == "file" && e.syncs() == 0 && !o.syncsAsItWrites() && !o.syncsAtTheEnd()
}

func names(disks []string) string {
	if len(disks) == 1 {
		return disks[0]
	}
	return "the disks"
}

func cpuSteal(e *Evidence) []lab.Warning {
	_, stolen, ok := e.counted().cpu()
	if !ok || stolen <= stealShare || e.After.CPU.Steal-e.Before.CPU.Steal < stealTime.Seconds() {
		return nil
	}
	return mostError(stolen,
		warn(allMetrics(), "the hypervisor gave %s of this machine's CPU time to others: rates are lower and "+
			"tails longer than the hardware's own; repeat at a quieter time, or with dedicated CPUs",
			unit.Percent(stolen)))
}

func throttled(e *Evidence) []lab.Warning {
	n := e.After.Throttles - e.Before.Throttles
	if e.Before.Throttles < 0 || e.After.Throttles < 0 || n <= 0 {
		return nil
	}
	return warn(allMetrics(), "the CPU slowed down %d times because it was too hot; see to its cooling and repeat", n)
}

func cpuQuota(e *Evidence) []lab.Warning {
	before, after := e.Before.Quota, e.After.Quota
	if before == nil || after == nil {
		return nil
	}
	periods, held := after.Periods-before.Periods, after.Throttled-before.Throttled
	if held <= 0 || periods <= 0 || float64(held) <= quotaShare*float64(periods) {
		return nil
	}
	return mostError(float64(held)/float64(periods),
		warn(allMetrics(), "the limit of CPU time held the load back in %d of %d periods, for %s in all: it measured "+
			"the limit; give it more CPU, or keep the limit for every run that is compared", held, periods,
			unit.Duration(time.Duration((after.Seconds-before.Seconds)*float64(time.Second)))))
}

func cpuFrequency(e *Evidence) []lab.Warning {
	busy, _, ok := e.counted().cpu()
	now, highest := e.During.MHz, e.During.MaxMHz
	if !ok || busy < busyShare || e.During.Time.IsZero() || now <= 0 || highest <= 0 || now >= slowShare*highest {
		return nil
	}
	governor := ""
	if e.Machine.Governor != "" {
		governor = " (governor " + e.Machine.Governor + ")"
	}
	return mostError(1-now/highest,
		warn(allMetrics(), "the cores ran at %.0f MHz of %.0f MHz while %s of them were busy%s: a power limit, "+
			"heat or the governor holds them back; lift that, or keep it for every run that is compared",
			now, highest, unit.Percent(busy), governor))
}

func diskHot(e *Evidence) []lab.Warning {
	for _, name := range slices.Sorted(slices.Values(e.Place.Disks)) {
		if t := e.After.DiskCelsius[name]; t >= hotCelsius {
			taints := metricsOf(e.directions()...)
			if !lab.ByFio(e.Cell.Engine) {
				taints = allMetrics()
			}
			return warn(taints, "%s was at %.0f °C at the end: drives slow themselves down from "+
				"70 to 85 °C on; cool it and repeat", name, t)
		}
	}
	return nil
}
