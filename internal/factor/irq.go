package factor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
	"github.com/headroom/headroom/internal/prose"
)

var interruptName = prose.Pattern(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// irqScheme is irq:, the CPUs that an interrupt, or all of a device, may go to.
func irqScheme() scheme.Scheme {
	return scheme.Scheme{Name: "irq", Title: "the CPUs that an interrupt, or all of a device, may go to",
		Class: scheme.Live, Needs: "nothing",
		Syntax:   "irq:NUMBER or irq:DEVICE",
		Examples: []string{"irq:eth0=0-3,4-7", `irq:36="0,2",1`}, Levels: "sets of CPUs",
		Verified: "/proc/irq/N/smp_affinity_list, and once it has come, effective_affinity_list lies within it",
		Check:    checkIRQ, Bind: bindIRQ, Holds: affinities, Canonical: linux.CanonicalCPUs}
}

func checkIRQ(name, level string) error {
	if !interruptName().MatchString(name) {
		return errors.New("irq: takes the number of an interrupt or the name of a disk or adapter, not " +
			strconv.Quote(name))
	}
	if level == "" {
		return nil
	}
	_, err := linux.ParseCPUs(level)
	return err
}

// affinities are the files of the interrupts.
func affinities(ctx context.Context, t host.Target, name string) scheme.Holds {
	numbers, err := interruptsOf(ctx, scheme.Scope{Target: t}, name)
	if err != nil {
		numbers = []string{name}
	}
	var patterns []string
	for _, n := range numbers {
		patterns = append(patterns, "/proc/irq/"+n+"/smp_affinity_list")
	}
	return scheme.InFiles(patterns...)
}

// bindIRQ is the affinity of one interrupt, or of all of a device.
func bindIRQ(ctx context.Context, w scheme.Scope, name string) (scheme.Setting, error) {
	numbers, err := interruptsOf(ctx, w, name)
	if err != nil {
		return scheme.Setting{}, err
	}
	var s scheme.Setting
	for _, n := range numbers {
		s.Spots = append(s.Spots, spot.Spot{Kind: spot.InFile, Path: "/proc/irq/" + n + "/smp_affinity_list"})
	}
	s.Values = func(level string) ([]string, error) {
		return slices.Repeat([]string{linux.CanonicalCPUs(level)}, len(numbers)), nil
	}
	s.Later = func(ctx context.Context, level string) (func(context.Context) error, error) {
		return effectiveAffinity(ctx, w, numbers, level)
	}
	return s.Readable(ctx, w.Target)
}

// interruptsOf are the interrupts by a number, or of a disk or adapter: those that the device on its bus has asked for.
// A virtio device asks by its parent. Source: Documentation/ABI/testing/sysfs-bus-pci, msi_irqs and irq.
func interruptsOf(ctx context.Context, w scheme.Scope, name string) ([]string, error) {
	if strings.Trim(name, "0123456789") == "" {
		return []string{name}, nil
	}
	name, err := w.AdapterName(name)
	if err != nil {
		return nil, err
	}
	for _, class := range []string{"/sys/block/", "/sys/class/net/", "/sys/class/nvme/"} {
		if len(spot.Glob(ctx, w.Target, class+name)) == 0 {
			continue
		}
		resolved, err := spot.RealPaths(ctx, w.Target, []string{class + name})
		if err != nil {
			return nil, err
		}
		for dir := path.Dir(resolved[0]); dir != "/sys/devices" && dir != "/"; dir = path.Dir(dir) {
			var numbers []string
			for _, p := range spot.Glob(ctx, w.Target, dir+"/msi_irqs/[0-9]*") {
				numbers = append(numbers, path.Base(p))
			}
			if len(numbers) > 0 {
				return numbers, nil
			}
		}
		return nil, &lab.Error{Kind: lab.Refused, What: name +
			" has no message-signalled interrupts to be found below /sys", Target: host.RemoteName(w.Target),
			Hints: []string{"name the interrupt by its number: /proc/interrupts"}}
	}
	return nil, &lab.Error{Kind: lab.Usage, What: "there is no disk and no adapter " + name,
		Target: host.RemoteName(w.Target)}
}

// effectiveAffinity says, asked later, whether interrupts go where they were sent. Where a move waits for the next
// interrupt, as on x86 without remapping, one that has not come since the change proves nothing. Source:
// Documentation/core-api/irq/irq-affinity.rst; kernel/irq/migration.c.
func effectiveAffinity(ctx context.Context, w scheme.Scope, numbers []string,
	level string) (func(context.Context) error,
	error) {
	asked, err := linux.ParseCPUs(level)
	if err != nil {
		return nil, err
	}
	count := func(n string) string { return "/sys/kernel/irq/" + n + "/per_cpu_count" }
	effective := func(n string) string { return "/proc/irq/" + n + "/effective_affinity_list" }
	var paths []string
	for _, n := range numbers {
		paths = append(paths, count(n), effective(n))
	}
	before, err := w.Target.ReadFiles(ctx, paths...)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		now, err := w.Target.ReadFiles(ctx, paths...)
		if err != nil {
			return err
		}
		for _, n := range numbers {
			// The file is missing if the architecture does not report the CPUs, and empty until a driver requests the
			// interrupt.
			cpus, err := linux.ParseCPUs(string(now[effective(n)].Data))
			came := string(now[count(n)].Data) != string(before[count(n)].Data)
			if err == nil && came && slices.ContainsFunc(cpus, func(cpu int) bool {
				return !slices.Contains(asked, cpu)
			}) {
				return &lab.Error{What: fmt.Sprintf("interrupt %s goes to %s, and %s was asked for", n,
					linux.FormatCPUs(cpus), level), Target: host.RemoteName(w.Target)}
			}
		}
		return nil
	}, nil
}
