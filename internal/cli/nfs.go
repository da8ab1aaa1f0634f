package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"headroom/internal/factor"
	"headroom/internal/facts"
	"headroom/internal/lab"
	"headroom/internal/report"
	"headroom/internal/store"
	"headroom/internal/suite"
	"headroom/internal/target"
)

// stageLevel is the level by which the runs of one comparison say which way to the storage they measured.
const stageLevel = lab.StageLevel

// nfsOptions are the flags of nfs.
type nfsOptions struct {
	runOptions
	export, path string
	addresses    []string
	version      string
	mountOptions []string
	transports   []string
	rdmaPort     int
}

// defaultRDMAPort is the one that is registered for NFS over RDMA (RFC 8267).
const defaultRDMAPort = 20049

func (p *program) nfsCommand() *cobra.Command {
	var o nfsOptions
	c := &cobra.Command{
		Use:   "nfs [SUITE] --on client=TARGET --export DIR --address ADDRESS",
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

O_DIRECT passes the client's cache; --as-published does what the suite's source did, which did not.`,
		Example: `  headroom nfs --on client=ssh://pve1 --on server=ssh://nas --export /srv --address 10.0.1.1 --address 10.0.2.1
  headroom nfs --address 10.0.1.1 --export /srv --transport tcp --options nconnect=4
  headroom nfs --on client=ssh://pve1 --address 10.0.1.1 --export /srv --as-published
  headroom nfs --on client=qemu:client.yaml --on server=qemu:server.yaml --export /export --path / --address 10.0.1.1
  headroom nfs --address 10.0.1.1 --export /srv --set runtime=5 --set size=64m --set offset_increment=64m --size 512m`,
		Args:              between(0, 1, "a suite"),
		ValidArgsFunction: completeSuites,
		RunE:              func(c *cobra.Command, args []string) error { return p.nfs(c.Context(), o, args) },
	}
	f := c.Flags()
	f.StringArrayVar(&o.on, "on", nil, "where: client=TARGET (default local) or server=TARGET, a target is "+targetForms())
	f.StringVar(&o.export, "export", "", "the directory on the server")
	f.StringVar(&o.path, "path", "", "what clients call it (default: the same)")
	f.StringArrayVar(&o.addresses, "address", nil, "of the server; with more than one, those over which a mount is trunked")
	f.StringVar(&o.version, "nfs-version", "4.2", "of the protocol")
	f.StringArrayVar(&o.mountOptions, "options", nil, "of every mount besides, like rsize=262144 or nconnect=4; may be repeated")
	f.StringArrayVar(&o.transports, "transport", nil, "tcp or rdma only (default: both, where there is RDMA)")
	f.IntVar(&o.rdmaPort, "rdma-port", defaultRDMAPort, "that the server listens on for RDMA")
	f.StringVar(&o.label, "label", "", "text to find the runs by")
	f.IntVar(&o.repeat, "repeat", 0, "repetitions of every cell (default: as the suite says)")
	f.StringVar(&o.order, "order", "", "interleaved, shuffled or sequential (default: as the suite says)")
	f.Uint64Var(&o.seed, "seed", 0, "of the order; the same seed gives the same order (default: drawn)")
	f.StringVar(&o.size, "size", "", "of the scratch file, like 4g (default: as the suite says)")
	f.StringArrayVar(&o.set, "set", nil, "a fio parameter for every job, like runtime=10s; may be repeated")
	f.BoolVar(&o.asPublished, "as-published", false, "do what the suite's source did, faults included: through the client's cache")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would be done, and do nothing")
	completeFlag(c, "on", targetNames)
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
	// client and server are names of targets; server is empty where it is none.
	client, server string
	opened         map[string]target.Target
	// journal of the client's mounts.
	journal *factor.Journal
	// id is that of the first run, which all share.
	id string
	// bundles are what was measured.
	bundles []string
}

// nfsStage is one of them.
type nfsStage struct {
	// name of what is asked for, until what came of it is known.
	name   string
	target target.Target
	// mount is nil for the server's own storage, which is at folder.
	mount  *factor.NFSMount
	folder string
}

func (p *program) nfs(ctx context.Context, o nfsOptions, args []string) error {
	s, err := p.openStore()
	if err != nil {
		return err
	}
	x := &nfsStages{program: p, options: o, store: s, suite: "nfs", id: store.NewID(), opened: map[string]target.Target{}}
	if len(args) > 0 {
		x.suite = args[0]
	}
	if err := x.name(); err != nil {
		return err
	}
	if x.loads, err = loadSuite(x.suite); err != nil {
		return err
	}
	if x.loads.Place == suite.Network {
		return usage("the suite "+x.loads.Name+" measures no storage", "headroom net "+x.suite)
	}
	defer x.close()
	if err := x.open(ctx); err != nil {
		return err
	}
	stages, err := x.stages(ctx)
	if err != nil {
		return err
	}
	if o.dryRun {
		return x.printStages(stages)
	}
	if err := x.carryOut(ctx, stages); err != nil {
		return err
	}
	return x.report()
}

// name what the command line says.
func (x *nfsStages) name() error {
	o := &x.options
	for _, typed := range o.on {
		role, name := roleOf(typed)
		to := map[string]*string{clientRole: &x.client, serverRole: &x.server}[role]
		if to == nil {
			return usage("--on "+typed+" does not say which end it is", "--on client="+name, "--on server="+name)
		}
		if *to != "" {
			return usage("--on names two targets as the "+role, "one client is measured with one server")
		}
		*to = name
	}
	if x.client == "" {
		x.client = here
	}
	switch {
	case o.export == "" || !filepath.IsAbs(o.export):
		return usage("mount what? name the directory on the server, from its root on", "--export /srv")
	case len(o.addresses) == 0:
		return usage("the server's address is not known", "--address 10.0.1.1, and once more for each other path to it")
	case x.client == x.server:
		return usage("client and server are both "+x.client, "what goes through a machine's own loopback is no network")
	}
	if o.path == "" {
		o.path = o.export
	}
	for _, transport := range o.transports {
		if transport != overTCP && transport != overRDMA {
			return usage("--transport " + transport + " is neither tcp nor rdma")
		}
	}
	for _, typed := range o.addresses {
		a, err := netip.ParseAddr(typed)
		if err != nil {
			return usage("--address "+typed+" is no address", "write one of the server's own, which ip address shows there: 10.0.1.1")
		}
		x.addresses = append(x.addresses, a)
	}
	_, err := factor.ParseNFSMount(x.mount(overTCP, x.addresses).String())
	if err != nil {
		return usage(err.Error())
	}
	return nil
}

// The transports of NFS, as its option proto names them.
const (
	overTCP  = "tcp"
	overRDMA = "rdma"
)

// mount is that of a stage.
func (x *nfsStages) mount(transport string, addresses []netip.Addr) factor.NFSMount {
	o := x.options
	options := []string{"vers=" + o.version, "proto=" + transport}
	if transport == overRDMA {
		options = append(options, "port="+strconv.Itoa(o.rdmaPort))
	}
	if len(addresses) > 1 {
		options = append(options, "max_connect="+strconv.Itoa(len(addresses)))
	}
	for _, typed := range o.mountOptions {
		options = append(options, strings.Split(typed, ",")...)
	}
	return factor.NFSMount{Addresses: addresses, Path: o.path, Options: options}
}

// open the targets, the server first: a guest has its exports when it is there.
func (x *nfsStages) open(ctx context.Context) error {
	names := []string{x.client}
	if x.server != "" {
		names = []string{x.server, x.client}
	}
	if !x.options.dryRun {
		x.tidy(ctx, x.store, names...)
	}
	for _, name := range names {
		t, err := x.openTarget(ctx, name)
		if err != nil {
			return err
		}
		x.opened[name] = t
	}
	return nil
}

func (x *nfsStages) close() {
	for _, name := range []string{x.client, x.server} { // a client that waits for its server is slow to end
		if t := x.opened[name]; t != nil {
			x.closeTarget(t)
		}
	}
}

// stages that can be measured, in their order. What is left out is said.
func (x *nfsStages) stages(ctx context.Context) ([]nfsStage, error) {
	var all []nfsStage
	client := x.opened[x.client]
	if x.server != "" {
		all = append(all, nfsStage{name: "the server's own storage", target: x.opened[x.server], folder: x.options.export})
	} else {
		x.say("", "without --on server=TARGET the server's own storage is not measured")
	}
	for _, transport := range []string{overTCP, overRDMA} {
		if len(x.options.transports) > 0 && !slices.Contains(x.options.transports, transport) {
			continue
		}
		if transport == overRDMA && !slices.Contains(x.options.transports, transport) {
			lacks, err := x.lacksRDMA(ctx)
			if err != nil {
				return nil, err
			}
			if lacks != "" {
				x.say("", "RDMA is left out: "+lacks)
				continue
			}
		}
		for n := 1; n <= len(x.addresses); n += max(1, len(x.addresses)-1) {
			m := x.mount(transport, x.addresses[:n])
			all = append(all, nfsStage{name: stageName(transport, n), target: client, mount: &m,
				folder: fmt.Sprintf("/run/headroom-%s-nfs%d", strings.ToLower(x.id), len(all))})
		}
	}
	return all, nil
}

// stageName is what a stage is called in every table, by what it goes over.
func stageName(transport string, paths int) string {
	if paths > 1 {
		return strings.ToUpper(transport) + " multipath"
	}
	return strings.ToUpper(transport) + " single path"
}

// lacksRDMA is which end has no RDMA; empty where both have it, as far as can be seen.
func (x *nfsStages) lacksRDMA(ctx context.Context) (string, error) {
	ports, err := facts.RDMAPorts(ctx, x.opened[x.client])
	if err != nil {
		return "", err
	}
	if !ports {
		return "the client has no RDMA port", nil
	}
	if x.server == "" {
		return "", nil
	}
	const portList = "/proc/fs/nfsd/portlist"
	files, err := x.opened[x.server].ReadFiles(ctx, portList)
	if err != nil {
		return "", err
	}
	if f := files[portList]; f.Err == nil && !strings.Contains(string(f.Data), "rdma ") {
		return "the server does not listen for it (" + portList + ")", nil
	}
	return "", nil
}

// carryOut measures all stages. One that can't be had does not keep the others from being measured.
func (x *nfsStages) carryOut(ctx context.Context, stages []nfsStage) (err error) {
	if x.journal, err = factor.Create(changesDir(x.store), x.id, x.opened[x.client]); err != nil {
		return err
	}
	if x.AtStep != nil {
		x.journal.AtStep(x.AtStep)
	}
	defer func() { err = errors.Join(err, x.journal.Close()) }()
	var missing []string
	for _, s := range stages {
		err := x.measure(ctx, s)
		if err != nil && (ctx.Err() != nil || len(x.journal.Open()) > 0) {
			return err // the user's wish, or a mount that is still there
		}
		if err != nil {
			x.printError(err)
			missing = append(missing, s.name)
		}
	}
	if len(missing) > 0 {
		return errors.Join(x.report(), &lab.Error{What: "not measured: " + strings.Join(missing, ", ")})
	}
	return nil
}

// measure one stage: mount it, see what came of it, measure, unmount it.
func (x *nfsStages) measure(ctx context.Context, s nfsStage) (err error) {
	m := &measurement{program: x.program, options: x.options.runOptions, store: x.store, target: s.target}
	m.options.on = nil
	defer m.release()
	if s.mount == nil {
		return x.measureOn(ctx, m, s, nil)
	}
	x.say("", "mounting "+s.mount.String()+" for "+s.name)
	setting, err := factor.NFSSetting(ctx, s.target, *s.mount, s.folder)
	if err != nil {
		return err
	}
	if err := x.journal.Change(ctx, setting, s.mount.String()); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.journal.Undo(ctx)) }()
	before, err := x.traffic(ctx, s)
	if err != nil {
		return err
	}
	return x.measureOn(ctx, m, s, before)
}

// measureOn measures what is seen in a stage's folder. before is what the mount's paths had carried; nil where nothing is mounted.
func (x *nfsStages) measureOn(ctx context.Context, m *measurement, s nfsStage, before *nfsTraffic) error {
	place, err := facts.ResolvePlace(ctx, s.target, s.folder)
	if err != nil {
		return err
	}
	if err := m.draftOn(x.loads, place); err != nil {
		return err
	}
	if len(x.bundles) == 0 {
		m.run.ID = x.id
	}
	m.run.Pair = x.id
	stage := serverStage(place)
	if before != nil {
		stage = before.stage()
	} else if slices.Contains(memoryFilesystems(), place.Filesystem) {
		m.run.Cells = throughMemory(m.run.Cells)
	}
	m.run.Arms[0].Levels = map[string]string{stageLevel: stage}
	if err := m.ready(ctx); err != nil {
		return err
	}
	x.say("", stage)
	m.preface(ctx)
	x.bundles = append(x.bundles, m.run.ID)
	outcome, err := m.measure(ctx, func() error {
		if before == nil {
			return nil
		}
		after, err := x.traffic(ctx, s)
		if err == nil {
			m.run.Warnings = append(m.run.Warnings, before.doubts(*after, len(s.mount.Addresses))...)
		}
		return err
	})
	return errors.Join(err, failures(outcome))
}

func memoryFilesystems() []string { return []string{"tmpfs", "ramfs"} }

// serverStage is what the server's own storage is called.
func serverStage(place lab.Place) string {
	if slices.Contains(memoryFilesystems(), place.Filesystem) {
		return "server memory"
	}
	return "server " + place.Filesystem
}

// throughMemory are loads on a file system in memory, which takes no direct I/O before Linux 6.6: it is the cache itself.
func throughMemory(cells []lab.Cell) []lab.Cell {
	changed := slices.Clone(cells)
	for i := range changed {
		changed[i].Params = maps.Clone(changed[i].Params)
		changed[i].Params["direct"] = "0"
	}
	return changed
}

// report shows what was measured.
func (x *nfsStages) report() error {
	if len(x.bundles) == 0 {
		return nil
	}
	bundles, err := x.findAll(x.bundles)
	if err != nil {
		return err
	}
	format := "table"
	if x.json {
		format = "json"
	}
	if err := x.present(format, bundles, x.Stdout, report.Options{}); err != nil || x.json || len(bundles) == 1 {
		return err
	}
	d, err := x.program.stages(bundles[0], stagesOptions{})
	if err != nil {
		return err
	}
	options, err := x.reportOptions(report.Options{})
	if err != nil {
		return err
	}
	fmt.Fprintln(x.Stdout)
	return report.WriteStages(x.Stdout, d, options)
}

// printStages is what --dry-run prints.
func (x *nfsStages) printStages(stages []nfsStage) error {
	for _, s := range stages {
		if s.mount == nil {
			fmt.Fprintf(x.Stdout, "%s: %s in %s of %s\n", s.name, x.suite, s.folder, s.target.Name())
			continue
		}
		fmt.Fprintf(x.Stdout, "%s: mount %s on %s of %s, %s there, unmount\n", s.name, s.mount, s.folder, s.target.Name(), x.suite)
	}
	return nil
}
