package facts

import (
	"context"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/facts/hardware"
	"github.com/headroom/headroom/internal/facts/kernel"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/facts/nfs"
	"github.com/headroom/headroom/internal/facts/process"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Collector reads one kind of fact. It is a value in the list that Collectors returns.
type Collector struct {
	Name string
	// Commands are the read-only commands whose output Collect looks up in its scope; nil for none.
	Commands func(in collect.Scope) [][]string
	// Collect parses files below "/". It never fails: what it can't read becomes a fact that is unknown, with the
	// reason.
	Collect func(r collect.Reader, in collect.Scope) []lab.Fact
}

// Tools is the name of the collector of load generators. They are programs to start and to read from end to end, so
// that a second snapshot leaves them out: each result names the version that it is of.
const Tools = "tools"

// Collectors is the list of all collectors, in the order in which their facts are shown: first what a reader asks
// first.
func Collectors() []Collector {
	return []Collector{
		{Name: "os", Collect: kernel.CollectOS},
		{Name: "kernel", Commands: kernel.Commands, Collect: kernel.CollectKernel},
		{Name: "config", Collect: kernel.CollectConfig},
		{Name: "modules", Collect: kernel.CollectModules},
		{Name: "sysctl", Collect: kernel.CollectSysctl},
		{Name: "dma", Collect: hardware.CollectDMA},
		{Name: "machine", Collect: hardware.CollectMachine},
		{Name: "raid", Commands: hardware.RAIDCommands, Collect: hardware.CollectRAID},
		{Name: "dimm", Collect: hardware.CollectDIMMs},
		{Name: "cpu", Collect: hardware.CollectCPU},
		{Name: "vulnerabilities", Collect: hardware.CollectVulnerabilities},
		{Name: "numa", Collect: hardware.CollectNUMA},
		{Name: "memory", Collect: hardware.CollectMemory},
		{Name: "slab", Collect: hardware.CollectSlab},
		{Name: "place", Collect: storage.CollectPlace},
		{Name: "filesystem", Commands: storage.SpaceCommands, Collect: storage.CollectFilesystem},
		{Name: "disks", Collect: storage.CollectDisks},
		{Name: "all-disks", Collect: storage.CollectAllDisks},
		{Name: "nvme", Commands: storage.NVMeCommands, Collect: storage.CollectNVMe},
		{Name: "volumes", Commands: storage.VolumeCommands, Collect: storage.CollectVolumes},
		{Name: "zfs", Collect: storage.CollectZFS},
		{Name: "iscsi", Collect: storage.CollectISCSI},
		{Name: "mounts", Commands: storage.MountCommands, Collect: storage.CollectMounts},
		{Name: "pci", Collect: hardware.CollectPCI},
		{Name: "cgroup", Collect: process.CollectCgroup},
		{Name: "nics", Commands: network.NICCommands, Collect: network.CollectNICs},
		{Name: "ethtool", Commands: network.EthtoolCommands, Collect: network.CollectEthtool},
		{Name: "interrupts", Collect: network.CollectNICInterrupts},
		{Name: "tcp", Collect: network.CollectTCP},
		{Name: "routes", Commands: network.RouteCommands, Collect: network.CollectRoutes},
		{Name: "infiniband", Collect: network.CollectInfiniBand},
		{Name: "nfs", Collect: nfs.CollectClient},
		{Name: "nfsd", Collect: nfs.CollectServer},
		{Name: "load", Collect: counters.CollectLoad},
		{Name: "processes", Collect: process.CollectProcesses},
		{Name: Tools, Commands: process.ToolCommands, Collect: process.CollectTools},
	}
}

// SnapshotLimit is the time that a snapshot takes at most: thousands of files may come over a network, or a machine may
// have much else to do.
const SnapshotLimit = 15 * time.Second

// localSilence is the time after which a snapshot of this machine ends if no collector answers. On a busy machine they
// answer late, and one that asks a dead NFS server never answers. A limit that is longer than usual allows for as much
// more silence.
const localSilence = 3 * time.Second

// forCommands is what a command may take of a time limit: less, so that one that hangs (stat on a dead NFS server)
// leaves its collector time for everything else.
func forCommands(limit time.Duration) time.Duration { return limit * 2 / 3 }

// SnapshotWithin collects all facts of a target, with those of the place under test. It takes well under a second on an
// ordinary machine and limit at most, works as any user and changes nothing. A collector that does not answer in time
// leaves the fact "collector.NAME", unknown. Collectors can be left out by name. The error says that the context was
// cancelled; nothing else stops a snapshot.
func SnapshotWithin(ctx context.Context, limit time.Duration, t host.Target, place lab.Place,
	without ...string) ([]lab.Fact, error) {
	silent := limit
	if host.IsLocal(t) {
		silent = max(min(limit, localSilence), limit/(SnapshotLimit/localSilence))
	}
	deadline, silence, hanging := time.NewTimer(limit), time.NewTimer(silent), time.NewTimer(forCommands(silent))
	defer deadline.Stop()
	defer silence.Stop()
	defer hanging.Stop()
	commands, cancel := context.WithTimeout(ctx, forCommands(limit))
	defer cancel()
	collectors := slices.DeleteFunc(Collectors(), func(c Collector) bool { return slices.Contains(without, c.Name) })
	found := make([][]lab.Fact, len(collectors))
	type answer struct {
		index int
		facts []lab.Fact
	}
	scope := collect.NewScope(place, t.FS())
	// The channel has room for every answer, so that a collector that is late can still end.
	answers := make(chan answer, len(collectors))
	for i, c := range collectors {
		found[i] = []lab.Fact{collect.Unknown("collector."+c.Name, "", catalogue.Late+" in time")}
		go func() {
			in := scope
			if c.Commands != nil {
				in.Printed = collect.RunCommands(commands, t, c.Commands(in))
			}
			answers <- answer{i, c.Collect(collect.Reader{FS: t.FS()}, in)}
		}()
	}
	for answered := 0; answered < len(collectors); {
		select {
		case a := <-answers:
			found[a.index] = a.facts
			answered++
			silence.Reset(silent)
			hanging.Reset(forCommands(silent))
			continue
		case <-hanging.C:
			cancel()
			continue
		case <-silence.C:
		case <-deadline.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		break
	}
	var all []lab.Fact
	for _, f := range found {
		all = append(all, f...)
	}
	return all, nil
}
