package factor

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"

	"headroom/internal/lab"
	"headroom/internal/target"
)

// The kernel changes some settings along with others; these companions are read before a change and put back after its
// undoing. Sources: block/elevator.c (a new scheduler gets its own depth and tunables, and wbt is switched with bfq),
// block/mq-deadline.c (async_depth follows nr_requests), drivers/cpufreq/intel_pstate.c (the governor performance sets
// the preference), kernel/cpu.c and kernel/irq/cpuhotplug.c (a CPU that goes offline takes its frequency policy and the
// affinity of interrupts with it), net/core/dev.c and drivers (offloads depend on each other; a new MTU or number of
// channels sets rings again).

var (
	cpuOnline = regexp.MustCompile(`^/sys/devices/system/cpu/(cpu\d+/online|smt/control)$`)
	adapterOf = regexp.MustCompile(`/net/([^/]+)/mtu$`)
)

// companionsOfFile are the spots that the kernel changes along with a file of /sys, by its path without links.
func companionsOfFile(ctx context.Context, t target.Target, file string) []Spot {
	dir := path.Dir(file)
	switch {
	case strings.HasSuffix(file, "/queue/scheduler"):
		return files(append([]string{dir + "/nr_requests", dir + "/wbt_lat_usec", dir + "/async_depth"},
			glob(ctx, t, dir+"/iosched/*")...))
	case strings.HasSuffix(file, "/queue/nr_requests"):
		return files(append([]string{dir + "/async_depth"}, glob(ctx, t, dir+"/iosched/*")...))
	case strings.HasSuffix(file, "/scaling_governor"):
		return files([]string{dir + "/energy_performance_preference", dir + "/scaling_min_freq",
			dir + "/scaling_max_freq"})
	case strings.HasSuffix(file, "/cpufreq/boost"), strings.HasSuffix(file, "/intel_pstate/no_turbo"):
		return files(glob(ctx, t, cpuRoot+"/cpufreq/policy*/scaling_max_freq", cpuRoot+"/cpufreq/policy*/boost"))
	case cpuOnline.MatchString(file):
		return hotplugCompanions(ctx, t)
	case adapterOf.MatchString(file):
		return adapterCompanions(ctx, t, adapterOf.FindStringSubmatch(file)[1])
	}
	return nil
}

// hotplugCompanions are what a CPU loses that goes offline and comes back. The kernel also takes it out of cpusets of
// cgroup v1 and out of the affinity of processes that were bound to it alone; those are not put back.
func hotplugCompanions(ctx context.Context, t target.Target) []Spot {
	return files(glob(ctx, t, cpuRoot+"/cpu*/online", cpuRoot+"/cpufreq/policy*/scaling_governor",
		cpuRoot+"/cpufreq/policy*/energy_performance_preference", cpuRoot+"/cpufreq/policy*/scaling_min_freq",
		cpuRoot+"/cpufreq/policy*/scaling_max_freq", "/proc/irq/*/smp_affinity_list"))
}

// globScript prints the names that match its arguments, each a line. Nothing but the patterns is expanded: without IFS
// no words are split.
const globScript = `IFS=; for p in "$@"; do for f in $p; do [ -e "$f" ] && printf '%s\n' "$f"; done; done; true`

// glob lists the files of a target that match, in one round trip; what can't be listed is not there.
func glob(ctx context.Context, t target.Target, patterns ...string) []string {
	out, err := t.Run(ctx, append([]string{"sh", "-c", globScript, "sh"}, patterns...)...)
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out.Stdout), "\n"), "\n")[:strings.Count(string(out.Stdout), "\n")]
}

// realPaths are paths without links in them, so that two names of one file are told to be one.
func realPaths(ctx context.Context, t target.Target, paths []string) ([]string, error) {
	argv := append([]string{"realpath"}, paths...)
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return nil, err
	}
	resolved := strings.Split(strings.TrimSuffix(string(out.Stdout), "\n"), "\n")
	if out.ExitCode != 0 || len(resolved) != len(paths) {
		printed := strings.TrimSpace(string(out.Stderr))
		return nil, &lab.Error{What: fmt.Sprintf("can't find out what %s really is", strings.Join(paths, ", ")),
			Target:  target.RemoteName(t),
			Command: argv, Output: printed, Hints: hintsFor(printed)}
	}
	return resolved, nil
}
