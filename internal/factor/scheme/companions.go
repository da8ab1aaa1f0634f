package scheme

import (
	"context"
	"path"
	"strings"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/prose"
)

// The kernel changes some settings along with others; these companions are read before a change and put back after its
// undoing. Sources: block/elevator.c (a new scheduler gets its own depth and tunables, and wbt is switched with bfq),
// block/mq-deadline.c (async_depth follows nr_requests), drivers/cpufreq/intel_pstate.c (the governor performance sets
// the preference), kernel/cpu.c and kernel/irq/cpuhotplug.c (a CPU that goes offline takes its frequency policy and the
// affinity of interrupts with it), net/core/dev.c and drivers (offloads depend on each other; a new MTU or number of
// channels sets rings again).

var (
	cpuOnline   = prose.Pattern(`^/sys/devices/system/cpu/(cpu\d+/online|smt/control)$`)
	adapterFile = prose.Pattern(`/net/([^/]+)/mtu$`)
)

// CompanionsOf are the spots that the kernel changes along with a file of /sys, by its path without links.
func CompanionsOf(ctx context.Context, t host.Target, file string) []spot.Spot {
	dir := path.Dir(file)
	switch {
	case strings.HasSuffix(file, "/queue/scheduler"):
		return spot.Files(append([]string{dir + "/nr_requests", dir + "/wbt_lat_usec", dir + "/async_depth"},
			spot.Glob(ctx, t, dir+"/iosched/*")...))
	case strings.HasSuffix(file, "/queue/nr_requests"):
		return spot.Files(append([]string{dir + "/async_depth"}, spot.Glob(ctx, t, dir+"/iosched/*")...))
	case strings.HasSuffix(file, "/scaling_governor"):
		return spot.Files([]string{dir + "/energy_performance_preference", dir + "/scaling_min_freq",
			dir + "/scaling_max_freq"})
	case strings.HasSuffix(file, "/cpufreq/boost"), strings.HasSuffix(file, "/intel_pstate/no_turbo"):
		return spot.Files(spot.Glob(ctx, t, CPURoot+"/cpufreq/policy*/scaling_max_freq",
			CPURoot+"/cpufreq/policy*/boost"))
	case cpuOnline().MatchString(file):
		return HotplugCompanions(ctx, t)
	case adapterFile().MatchString(file):
		return AdapterCompanions(ctx, t, adapterFile().FindStringSubmatch(file)[1])
	}
	return nil
}

// HotplugCompanions are what a CPU loses that goes offline and comes back. The kernel also takes it out of cpusets of
// cgroup v1 and out of the affinity of processes that were bound to it alone; those are not put back.
func HotplugCompanions(ctx context.Context, t host.Target) []spot.Spot {
	return spot.Files(spot.Glob(ctx, t, CPURoot+"/cpu*/online", CPURoot+"/cpufreq/policy*/scaling_governor",
		CPURoot+"/cpufreq/policy*/energy_performance_preference", CPURoot+"/cpufreq/policy*/scaling_min_freq",
		CPURoot+"/cpufreq/policy*/scaling_max_freq", "/proc/irq/*/smp_affinity_list"))
}

// AdapterCompanions are all the parameters of an adapter: drivers set some again when others change, and offloads
// depend on each other.
func AdapterCompanions(ctx context.Context, t host.Target, device string) []spot.Spot {
	spots := []spot.Spot{{Kind: spot.InFile, Path: "/sys/class/net/" + device + "/mtu"}}
	for _, p := range spot.AdapterParameters() {
		spots = append(spots, spot.Spot{Kind: spot.InAdapter, Path: device, Name: p.Name})
	}
	out, err := t.Run(ctx, "ethtool", "-k", device)
	if err != nil || out.ExitCode != 0 {
		return spots // what can't be read now can't be put back either; a setting that needs ethtool says so itself
	}
	for _, feature := range spot.SingleFeatures(string(out.Stdout)) {
		spots = append(spots, spot.Spot{Kind: spot.InAdapter, Path: device, Name: spot.OneFeature + feature})
	}
	return spots
}

// CPURoot is where the kernel shows its CPUs.
const CPURoot = "/sys/devices/system/cpu"
