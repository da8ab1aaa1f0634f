package cli

import (
	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/experiment/nfs"
)

// defaultRDMAPort is the registered port of NFS over RDMA (RFC 8267).
const defaultRDMAPort = 20049

// nfsCommand measures an NFS server from a client.
type nfsCommand struct {
	app *app.App
	o   nfs.Options
}

func newNFSCommand(a *app.App) *cobra.Command {
	n := &nfsCommand{app: a}
	o := &n.o
	c := &cobra.Command{
		Use: "nfs [SUITE] --on client=TARGET {--export DIR --address ADDRESS | --mounted DIR}",
		Long: `Measures a suite on an NFS server's export in stages: on the server itself, then from a client over TCP with
one address, over TCP with all addresses, and the same over RDMA if both ends have it. headroom mounts the
export for each stage, checks the kernel's mount options against the requested ones, measures, and unmounts.
Each stage is an arm of one run.

A mount that differs from what was requested is refused: an unused address, TCP instead of RDMA, or fewer
connections. mount itself reports none of these. The run warns if two addresses share one network card, or a
connection carried no traffic.

The server's exports are not changed. --export is the directory on the server, --path its name for clients if
that differs (below an export with fsid=0). Without --on server=TARGET the server's own storage is not
measured.

--mounted measures an existing mount of the client and leaves it as it is. --guest also measures a virtual
machine whose disk is on that mount, so that the table shows what is lost on the way. It is refused if no
virtual machine on the client has a file of the mount open, and the traffic of the mount is checked against
what the loads in the guest read and wrote.

O_DIRECT bypasses the client's cache; --as-published measures as the suite's source did, through the cache.

--event does something during each load on a mount, on the client unless --event-on names another target.
Loads on the server's own storage have no events.`,
		Example: `  headroom nfs --on client=ssh://pve1 --on server=ssh://nas --export /srv --address 10.0.1.1 --address 10.0.2.1
  headroom nfs --address 10.0.1.1 --export /srv --transport tcp --options nconnect=4
  headroom nfs --on client=ssh://pve1 --address 10.0.1.1 --export /srv --as-published
  headroom nfs --on client=qemu:client.yaml --on server=qemu:server.yaml --export /export --path / --address 10.0.1.1
  headroom nfs --on client=ssh://pve1 --mounted /mnt/pve/rdma --guest ssh://vm1 --guest-place /srv
  headroom nfs --resume last
  headroom nfs --address 10.0.1.1 --export /srv --set runtime=5 --set size=64m --set offset_increment=64m --size 512m
  headroom nfs --on client=ssh://pve1 --address 10.0.1.1 --address 10.0.2.1 --export /srv --set runtime=60s --event '20s: ip link set eth2 down' --undo 'ip link set eth2 up' --event-left 50%`,
		Args:              argumentCount(0, 1, "a suite"),
		ValidArgsFunction: completion{a}.suites(0),
		Annotations:       suiteAt(0),
		RunE:              n.run,
	}
	f := flagsOf(a, c)
	f.StringArrayVar(&o.On, "on", nil,
		"where: client=TARGET (default local) or server=TARGET, a target is "+a.AllKinds().Forms())
	f.StringVar(&o.Export, "export", "", "the exported directory on the server")
	f.StringVar(&o.Path, "path", "", "its path as clients mount it (default: the same)")
	f.StringArrayVar(&o.Addresses, "address", nil,
		"address of the server; with more than one, mounts are trunked over them")
	f.StringVar(&o.Version, "nfs-version", "4.2", "version of the NFS protocol")
	f.StringArrayVar(&o.Options, "options", nil,
		"further options of every mount, like rsize=262144 or nconnect=4; may be repeated")
	f.StringArrayVar(&o.Transports, "transport", nil, "only tcp or only rdma (default: both, if both ends have RDMA)")
	f.IntVar(&o.RDMAPort, "rdma-port", defaultRDMAPort, "port of the server for RDMA")
	f.StringVar(&o.Mounted, "mounted", "", "measure this existing mount of the client instead of mounting")
	f.StringVar(&o.Guest, "guest", "",
		"a virtual machine whose disk is on the mount of --mounted: "+a.AllKinds().Forms())
	f.StringVar(&o.GuestPlace, "guest-place", "", "directory or device to measure in the guest")
	f.resume(&o.Resume, "continue an interrupted experiment, or show a complete one again")
	f.StringVar(&o.Label, "label", "", "a name for the runs")
	f.budget(&o.Within)
	f.count(&o.NFS.Repeat, "repeat", "repetitions of every cell (default: as the suite says)")
	f.StringVar(&o.NFS.Order, "order", "", "interleaved, shuffled or sequential (default: as the suite says)")
	f.seed(&o.Seed, "seed of the random order; the same seed gives the same order (default: random)")
	f.StringVar(&o.NFS.Size, "size", "", "size of the scratch file, like 4g (default: as the suite says)")
	f.StringArrayVar(&o.NFS.Set, "set", nil, "a fio parameter for every job, like runtime=10s; may be repeated")
	f.BoolVar(&o.AsPublished, "as-published", false,
		"measure exactly as the suite's source did, including its mistakes: through the client's cache")
	f.events(&o.RunOptions.Events, "where events happen: client (default), server or a target; once for all "+
		"events, or once for each")
	f.document(&o.Result)
	f.dryRun(&o.DryRun, "print what would be done, and do nothing")
	f.wait()
	f.targets("on", "guest", "event-on")
	f.json()
	return c
}

func (n *nfsCommand) run(c *cobra.Command, args []string) error {
	if err := refuseSettled(c, append(experiment.EventFlags(), "on", "export", "path", "address", "nfs-version",
		"options", "transport", "rdma-port", "mounted", "guest", "guest-place", "label", "repeat", "order",
		"seed", "size", "set", "as-published")...); err != nil {
		return err
	}
	s, err := n.app.OpenStoreFor(n.o.Resume)
	if err != nil {
		return err
	}
	return nfs.Run(c.Context(), n.app, s, n.o, args)
}
