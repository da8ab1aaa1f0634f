package cli

import (
	"context"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"headroom/internal/event"
	"headroom/internal/factor"
	"headroom/internal/lab"
	"headroom/internal/runner"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
)

// stageLevel is the level by which the runs of one comparison say which way to the storage they measured.
const stageLevel = lab.StageLevel

// nfsOptions are the flags of nfs.
type nfsOptions struct {
	runOptions
	lab.NFS
}

// defaultRDMAPort is the one that is registered for NFS over RDMA (RFC 8267).
const defaultRDMAPort = 20049

func (p *program) nfsCommand() *cobra.Command {
	var o nfsOptions
	c := &cobra.Command{
		Use:   "nfs [SUITE] --on client=TARGET {--export DIR --address ADDRESS | --mounted DIR}",
		Short: "Measure what a client gets of an NFS server, over TCP and RDMA, one path and several",
		Long: `Measures a suite on an NFS server's export in stages: on the server itself, then from a client
over TCP by one address, over TCP by all, and the same over RDMA where both have it. Each stage
is mounted for it, with options that are held against what the kernel made of them, measured, and
unmounted; each is a run of its own.

A mount that came out otherwise is no result: an address that is not used, TCP where RDMA was asked
for, or fewer connections. mount itself reports none of that. Where two addresses end at one network
card, or a connection carried nothing, the run says so.

The server's exports are not changed. --export is the directory on the server, --path what its clients
call it, where that differs (below an export with fsid=0). Without --on server=TARGET the server's own
storage is not measured.

With --mounted a mount of the client that is there already is measured, and left as it is. With --guest
a virtual machine whose disk lies on it is measured beside it: the table shows what is lost on the way. It
is refused where no virtual machine on the client has a file of the mount open, and what the mount carried is
held against what the loads in the guest have read and written.

O_DIRECT passes the client's cache; --as-published does what the suite's source did, which did not.

With --event something is done on purpose while each load on a mount goes on, on the client unless
--event-on says where. The server's own storage has no events.`,
		Example: `  headroom nfs --on client=ssh://pve1 --on server=ssh://nas --export /srv --address 10.0.1.1 --address 10.0.2.1
  headroom nfs --address 10.0.1.1 --export /srv --transport tcp --options nconnect=4
  headroom nfs --on client=ssh://pve1 --address 10.0.1.1 --export /srv --as-published
  headroom nfs --on client=qemu:client.yaml --on server=qemu:server.yaml --export /export --path / --address 10.0.1.1
  headroom nfs --on client=ssh://pve1 --mounted /mnt/pve/rdma --guest ssh://vm1 --guest-place /srv
  headroom nfs --resume last
  headroom nfs --address 10.0.1.1 --export /srv --set runtime=5 --set size=64m --set offset_increment=64m --size 512m
  headroom nfs --on client=ssh://pve1 --address 10.0.1.1 --address 10.0.2.1 --export /srv --set runtime=60s --event '20s: ip link set eth2 down' --undo 'ip link set eth2 up' --event-left 50%`,
		Args:              argumentCount(0, 1, "a suite"),
		ValidArgsFunction: completeSuites,
		RunE: func(c *cobra.Command, args []string) error {
			for _, name := range append(eventFlags(), "on", "export", "path", "address", "nfs-version", "options",
				"transport", "rdma-port", "mounted", "guest", "guest-place", "label", "repeat", "order",
				"seed", "size", "set", "as-published") {
				if o.resume != "" && c.Flags().Changed(name) {
					return usage("--"+name+" can't be changed when an experiment is resumed",
						"headroom nfs --resume "+o.resume)
				}
			}
			return p.nfs(c.Context(), o, args)
		},
	}
	f := c.Flags()
	f.StringArrayVar(&o.on, "on", nil,
		"where: client=TARGET (default local) or server=TARGET, a target is "+p.allKinds().forms())
	f.StringVar(&o.Export, "export", "", "the directory on the server")
	f.StringVar(&o.Path, "path", "", "what clients call it (default: the same)")
	f.StringArrayVar(&o.Addresses, "address", nil,
		"of the server; with more than one, those over which a mount is trunked")
	f.StringVar(&o.Version, "nfs-version", "4.2", "of the protocol")
	f.StringArrayVar(&o.Options, "options", nil,
		"of every mount besides, like rsize=262144 or nconnect=4; may be repeated")
	f.StringArrayVar(&o.Transports, "transport", nil, "tcp or rdma only (default: both, where there is RDMA)")
	f.IntVar(&o.RDMAPort, "rdma-port", defaultRDMAPort, "that the server listens on for RDMA")
	f.StringVar(&o.Mounted, "mounted", "", "a mount of the client that is there already, in place of headroom's own")
	f.StringVar(&o.Guest, "guest", "",
		"a virtual machine whose disk lies on the mount of --mounted: "+p.allKinds().forms())
	f.StringVar(&o.GuestPlace, "guest-place", "", "directory or device that is measured in the guest")
	p.resumeFlag(c, &o.resume, "go on with an interrupted experiment, named by one of its runs")
	f.StringVar(&o.label, "label", "", "text to find the runs by")
	countVar(f, &o.NFS.Repeat, "repeat", "repetitions of every cell (default: as the suite says)")
	f.StringVar(&o.NFS.Order, "order", "", "interleaved, shuffled or sequential (default: as the suite says)")
	f.Uint64Var(&o.seed, "seed", 0, "of the order; the same seed gives the same order (default: drawn)")
	f.StringVar(&o.NFS.Size, "size", "", "of the scratch file, like 4g (default: as the suite says)")
	f.StringArrayVar(&o.NFS.Set, "set", nil, "a fio parameter for every job, like runtime=10s; may be repeated")
	f.BoolVar(&o.asPublished, "as-published", false,
		"do what the suite's source did, faults included: through the client's cache")
	eventFlagsOf(&o.runOptions.events, f, "where events are: client (default), server or a target; once for all, or "+
		"for each")
	dryRunFlag(c, &o.dryRun, "say what would be done, and do nothing")
	completeFlag(c, "on", p.targetNames)
	completeFlag(c, "guest", p.targetNames)
	completeFlag(c, "event-on", p.targetNames)
	completeFlag(c, "event", eventNames)
	p.jsonFlag(c)
	return c
}

// nfsStages are the ways to an NFS server's storage, measured one after the other.
type nfsStages struct {
	*program
	options   nfsOptions
	store     *store.Store
	suite     string
	loads     suite.Suite
	addresses []netip.Addr
	opened    map[string]target.Target
	// journal of the client's mounts.
	journal *factor.Journal
	// id is that of the first run, which all share.
	id string
	// bundles are what was measured, and earlier what is taken up of it, by what the stages were called at first.
	bundles     []string
	earlierRuns map[string]*store.Bundle
	// sharedScratch is the scratch file that the server's own stage has laid out, while that goes on.
	sharedScratch *runner.SharedScratch
}

func (p *program) nfs(ctx context.Context, o nfsOptions, args []string) error {
	s, err := p.openStoreFor(o.resume)
	if err != nil {
		return err
	}
	x := &nfsStages{program: p, options: o, store: s, suite: "nfs", id: store.NewID(),
		opened: map[string]target.Target{}, earlierRuns: map[string]*store.Bundle{}}
	if len(args) > 0 {
		x.suite = args[0]
	}
	if o.resume == "" {
		x.loads, err = loadSuite(x.suite)
	} else {
		err = x.resumeStages(args)
	}
	if err != nil {
		return err
	}
	if err := x.name(); err != nil {
		return err
	}
	if x.loads.Place == suite.Network {
		return usage("the suite "+x.loads.Name+" measures no storage", "headroom net "+x.suite)
	}
	if o.resume == "" {
		if x.options.NFS.Events, err = o.runOptions.events.parse(x.eventTarget); err != nil {
			return err
		}
	}
	defer x.close()
	if err := x.open(ctx); err != nil {
		return err
	}
	if o.resume != "" {
		if err := x.findEarlierRuns(); err != nil {
			return err
		}
	}
	stages, err := x.stages(ctx)
	if err != nil {
		return err
	}
	if o.dryRun.asked() {
		return x.printStages(stages)
	}
	if err := x.checkEvents(ctx); err != nil {
		return err
	}
	if err := x.execute(ctx, stages); err != nil {
		return err
	}
	return x.report()
}

// checkEvents refuses events that can't be carried out, before the first load: the mount that they come upon is made
// stages later.
func (x *nfsStages) checkEvents(ctx context.Context) error {
	for _, u := range x.options.NFS.Events {
		if len(u.Named) == 0 {
			continue
		}
		k, known := event.Find(u.Named[0])
		if !known {
			return usage("no event has the name " + u.Named[0])
		}
		t := x.opened[u.Target]
		if t == nil {
			var err error
			if t, err = x.openTarget(ctx, u.Target); err != nil {
				return err
			}
			defer x.closeTarget(t)
		}
		if err := k.Ready(ctx, event.Scope{Target: t}, u.Named); err != nil {
			return err
		}
	}
	return nil
}

// resumeStages reads what was settled when an interrupted experiment began. What it has measured is kept.
func (x *nfsStages) resumeStages(args []string) error {
	if len(args) > 0 {
		return usage("--resume takes the suite from the runs", "headroom nfs --resume "+x.options.resume)
	}
	named, err := x.store.Find(x.options.resume)
	if err != nil {
		return err
	}
	if named.Run.NFS == nil {
		return usage("run "+named.Run.ID+" is no stage of headroom nfs", named.Run.MadeBy().Resume(x.options.resume))
	}
	x.id, x.suite = named.Run.Pair, named.Run.Suite
	x.options.NFS, x.options.label, x.options.asPublished, x.options.seed = *named.Run.NFS, named.Run.Label,
		named.Run.AsPublished, named.Run.Seed
	x.loads, err = suite.Decode(x.suite, []byte(named.Run.SuiteText))
	return err
}

// findEarlierRuns looks up what is measured already, when what a killed headroom has left was mended.
func (x *nfsStages) findEarlierRuns() error {
	named, err := x.store.Find(x.options.resume)
	if err != nil {
		return err
	}
	found, err := x.store.Partners(named)
	slices.SortFunc(found, func(a, b *store.Bundle) int { return a.Run.Created.Compare(b.Run.Created) })
	for _, b := range found {
		x.earlierRuns[b.Run.NFS.Requested] = b
		x.bundles = append(x.bundles, b.Run.ID)
	}
	return err
}

// name what the command line says.
func (x *nfsStages) name() error {
	o := &x.options
	for _, typed := range o.on {
		role, name := roleOf(typed)
		to := map[string]*string{clientRole: &o.Client, serverRole: &o.Server}[role]
		if to == nil {
			return usage("--on "+typed+" does not say which end it is", "--on client="+name, "--on server="+name)
		}
		if *to != "" {
			return usage("--on names two targets as the "+role, "one client is measured with one server")
		}
		*to = name
	}
	if o.Client == "" {
		o.Client = localTarget
	}
	if o.Client == o.Server {
		return usage("client and server are both "+o.Client, "what goes through a machine's own loopback is no network")
	}
	if o.Export != "" && !filepath.IsAbs(o.Export) || o.Mounted != "" && !filepath.IsAbs(o.Mounted) {
		return usage("a directory of another machine is named from its root on", "--export /srv", "--mounted /mnt/srv")
	}
	if o.Mounted != "" {
		return x.nameMounted()
	}
	switch {
	case o.Guest != "" || o.GuestPlace != "":
		return usage("--guest is about a mount that stays: a guest's disk can't be moved from one to the next",
			"--mounted /mnt/pve/rdma --guest ssh://vm1 --guest-place /srv")
	case o.Export == "":
		return usage("mount what? name the directory on the server, from its root on", "--export /srv",
			"--mounted DIR measures a mount that is there")
	case len(o.Addresses) == 0:
		return usage("the server's address is not known", "--address 10.0.1.1, and once more for each other path to it")
	}
	if o.Path == "" {
		o.Path = o.Export
	}
	for _, transport := range o.Transports {
		if transport != overTCP && transport != overRDMA {
			return usage("--transport " + transport + " is neither tcp nor rdma")
		}
	}
	for _, typed := range o.Addresses {
		a, err := netip.ParseAddr(typed)
		if err != nil {
			return usage("--address "+typed+" is no address",
				"write one of the server's own, which ip address shows there: 10.0.1.1")
		}
		x.addresses = append(x.addresses, a)
	}
	if _, err := factor.ParseNFSMount(stageMount(x.options.NFS, overTCP, x.addresses).String()); err != nil {
		return usage(err.Error())
	}
	return nil
}

// eventTarget is what --event-on may say: an end or a target, and where it says nothing the client.
func (x *nfsStages) eventTarget(on string) (string, error) {
	switch {
	case on == "" || on == clientRole:
		return x.options.Client, nil
	case on == serverRole && x.options.Server != "":
		return x.options.Server, nil
	case x.allKinds().has(on):
		return on, nil
	}
	return "", usage("--event-on "+on+" is no target of this measurement", "--event-on "+clientRole,
		"--event-on "+serverRole+", with --on "+serverRole+"=TARGET", "a target is "+x.allKinds().forms())
}

// nameMounted is name for a mount that is there already.
func (x *nfsStages) nameMounted() error {
	o := &x.options
	switch {
	case len(o.Addresses)+len(o.Options)+len(o.Transports) > 0 || o.Path != "":
		return usage("--mounted is about a mount that is there, so nothing can be said of how it is to be mounted",
			"leave out --address, --path, --options and --transport")
	case (o.Guest == "") != (o.GuestPlace == ""):
		return usage("--guest and --guest-place belong together", "--guest ssh://vm1 --guest-place /srv")
	case o.Guest != "" && !filepath.IsAbs(o.GuestPlace):
		return usage("--guest-place "+o.GuestPlace+" is no whole path", "--guest-place /srv")
	case o.Server != "" && o.Export == "":
		return usage("which directory is it on the server?", "--export /srv",
			"without --on server=… the server's own storage is left out")
	case o.Guest != "" && (o.Guest == o.Client || o.Guest == o.Server):
		return usage(o.Guest + " is named as the guest and as another machine, too")
	}
	return nil
}

// The transports of NFS, as its option proto names them.
const (
	overTCP  = "tcp"
	overRDMA = "rdma"
)

// stageMount is the mount of a stage.
func stageMount(o lab.NFS, transport string, addresses []netip.Addr) factor.NFSMount {
	options := []string{"vers=" + o.Version, "proto=" + transport}
	if transport == overRDMA {
		options = append(options, "port="+strconv.Itoa(o.RDMAPort))
	}
	if len(addresses) > 1 {
		options = append(options, "max_connect="+strconv.Itoa(len(addresses)))
	}
	for _, typed := range o.Options {
		options = append(options, strings.Split(typed, ",")...)
	}
	return factor.NFSMount{Addresses: addresses, Path: o.Path, Options: options}
}
