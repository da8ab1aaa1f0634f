package facts

import (
	"context"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Collector reads one kind of fact. It is an element of the list that Collectors returns.
type Collector struct {
	Name string
	// Commands are the read-only commands whose output Collect finds in its scope; nil for none.
	Commands func(in collect.Scope) [][]string
	// Collect parses files below "/". It never fails: an unreadable value becomes an unknown fact, with the reason.
	Collect func(r collect.Reader, in collect.Scope) []lab.Fact
}

// Tools is the name of the collector of load generators. It starts these programs and reads them completely, so a
// second snapshot omits it: each result names the version of its load generator.
const Tools = "tools"

// Collectors is the list of all collectors, in the order in which their facts are shown: the most requested facts
// first.
func Collectors() []Collector {
	return []Collector{
		{Name: "os", Collect: machine.CollectOS},
		{Name: "kernel", Commands: machine.KernelCommands, Collect: machine.CollectKernel},
		{Name: "config", Collect: machine.CollectConfig},
		{Name: "modules", Collect: machine.CollectModules},
		{Name: "sysctl", Collect: machine.CollectSysctl},
		{Name: "dma", Collect: machine.CollectDMA},
		{Name: "machine", Collect: machine.CollectMachine},
		{Name: "raid", Commands: machine.RAIDCommands, Collect: machine.CollectRAID},
		{Name: "dimm", Collect: machine.CollectDIMMs},
		{Name: "cpu", Collect: machine.CollectCPU},
		{Name: "vulnerabilities", Collect: machine.CollectVulnerabilities},
		{Name: "numa", Collect: machine.CollectNUMA},
		{Name: "memory", Collect: machine.CollectMemory},
		{Name: "slab", Collect: machine.CollectSlab},
		{Name: "place", Collect: storage.CollectPlace},
		{Name: "filesystem", Commands: storage.SpaceCommands, Collect: storage.CollectFilesystem},
		{Name: "disks", Collect: storage.CollectDisks},
		{Name: "all-disks", Collect: collectAllDisks},
		{Name: "nvme", Commands: storage.NVMeCommands, Collect: storage.CollectNVMe},
		{Name: "volumes", Commands: storage.VolumeCommands, Collect: storage.CollectVolumes},
		{Name: "zfs", Collect: storage.CollectZFS},
		{Name: "iscsi", Collect: storage.CollectISCSI},
		{Name: "mounts", Commands: storage.MountCommands, Collect: storage.CollectMounts},
		{Name: "pci", Collect: machine.CollectPCI},
		{Name: "cgroup", Collect: machine.CollectCgroup},
		{Name: "nics", Commands: network.NICCommands, Collect: network.CollectNICs},
		{Name: "ethtool", Commands: network.EthtoolCommands, Collect: network.CollectEthtool},
		{Name: "interrupts", Collect: network.CollectNICInterrupts},
		{Name: "tcp", Collect: network.CollectTCP},
		{Name: "routes", Commands: network.RouteCommands, Collect: network.CollectRoutes},
		{Name: "infiniband", Collect: network.CollectInfiniBand},
		{Name: "nfs", Collect: network.CollectNFSClient},
		{Name: "nfsd", Collect: network.CollectNFSServer},
		{Name: "load", Collect: counters.CollectLoad},
		{Name: "processes", Collect: machine.CollectProcesses},
		{Name: Tools, Commands: machine.ToolCommands, Collect: machine.CollectTools},
	}
}

func collectAllDisks(r collect.Reader, in collect.Scope) []lab.Fact {
	return storage.CollectAllDisks(r, in, network.InterruptNames(r, in))
}

// SnapshotLimit is the longest time for a snapshot: thousands of files may come over a network, or a machine may be
// busy.
const SnapshotLimit = 15 * time.Second

// localSilence is how long a snapshot of this machine waits without an answer from any collector before it ends. On a
// busy machine collectors answer late, and one that reads from a dead NFS server never answers. If the limit of the
// snapshot is longer than usual, this time grows in proportion.
const localSilence = 3 * time.Second

// forCommands is the part of a time limit that a command can take: less than the whole, so that a command that hangs
// (stat on a dead NFS server) leaves its collector time for everything else.
func forCommands(limit time.Duration) time.Duration { return limit * 2 / 3 }

// SnapshotWithin collects all facts of a target, including those of the place under test. It takes well under a second
// on an ordinary machine and at most limit, works as any user and changes nothing. A collector that does not answer in
// time yields the unknown fact "collector.NAME". Collectors can be omitted by name. An error means that the context was
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
	// The channel has room for every answer, so that a late collector can still end.
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
