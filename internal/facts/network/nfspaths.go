package network

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

const (
	rpcSwitchesDir = "/sys/kernel/sunrpc/xprt-switches"
	netClassDir    = "/sys/class/net"
	rdmaClassDir   = "/sys/class/infiniband"
)

// NFSPaths is what came of an NFS mount, whatever was asked for and whatever mount(8) returned.
type NFSPaths struct {
	// Version is the version of the protocol: "4.2". Options are the effective options, by name; a flag has an empty
	// value.
	Version string
	Options map[string]string
	// Transports are the connections that calls go over.
	Transports []NFSTransport
	// Addresses are the server addresses of the transports, each once; nil if the kernel does not report them: before
	// Linux 5.15.
	Addresses []string
	// Others are the points of other mounts of these addresses. Mounts of one server share its transports.
	Others []string
}

// NFSTransport is one connection of a mount.
type NFSTransport struct {
	// Kind is tcp, rdma, udp, local.
	Kind string
	// Sent is how many calls went over it since it is there.
	Sent int64
}

// NFSPathsOf reads what came of the mount at a point of a target.
func NFSPathsOf(ctx context.Context, t host.Target, point string) (NFSPaths, error) {
	files, err := t.ReadFiles(ctx, collect.MountInfoPath, MountStatsPath)
	if err != nil {
		return NFSPaths{}, err
	}
	for _, p := range []string{collect.MountInfoPath, MountStatsPath} {
		if err := files[p].Err; err != nil {
			return NFSPaths{}, &lab.Error{What: "can't read what came of the mount on " + point,
				Target: host.RemoteName(t),
				Err:    err}
		}
	}
	p, err := nfsPathsAt(point, files[collect.MountInfoPath].Data, files[MountStatsPath].Data)
	if err != nil {
		return p, &lab.Error{What: err.Error(), Target: host.RemoteName(t)}
	}
	p.Addresses = p.addresses(rpcSwitches(collect.Reader{FS: t.FS()}))
	return p, ctx.Err()
}

// NFSPathsUnder reads the state of the mount that contains a folder of a target.
func NFSPathsUnder(ctx context.Context, t host.Target, folder string) (NFSPaths, error) {
	files, err := t.ReadFiles(ctx, collect.MountInfoPath)
	if err != nil {
		return NFSPaths{}, err
	}
	m, _ := collect.MountOf(collect.ParseMounts(files[collect.MountInfoPath].Data), folder)
	return NFSPathsOf(ctx, t, m.Point)
}

// nfsPathsAt reads what the files of a process's mounts say of a point.
func nfsPathsAt(point string, mountInfo, statistics []byte) (NFSPaths, error) {
	var p NFSPaths
	all := collect.ParseMounts(mountInfo)
	for _, m := range all {
		if m.Point == point && (m.Kind == "nfs" || m.Kind == "nfs4") {
			p.Options = nfsOptions(m) // the last one is what is seen
		}
	}
	if p.Options == nil {
		return p, fmt.Errorf("no NFS is mounted on %s", point)
	}
	p.Version = p.Options["vers"]
	for _, m := range all {
		if m.Point != point && (m.Kind == "nfs" || m.Kind == "nfs4") && nfsOptions(m)["addr"] == p.Options["addr"] {
			p.Others = append(p.Others, m.Point)
		}
	}
	p.Transports = ParseMountStats(statistics)[point].Each
	if len(p.Transports) == 0 {
		return p, fmt.Errorf("%s shows no transports of the mount on %s", MountStatsPath, point)
	}
	return p, nil
}

// rpcSwitch is a set of transports that calls are spread over.
type rpcSwitch struct {
	kinds     []string
	addresses []string
}

// rpcSwitches reads the sets of transports in sysfs: a folder for each, in it one for each transport, named
// "xprt-3-tcp", whose file dstaddr has the address of the server:
//
//	/sys/kernel/sunrpc/xprt-switches/switch-2/xprt-3-tcp/dstaddr    10.0.1.1
//	/sys/kernel/sunrpc/xprt-switches/switch-2/xprt-4-tcp/dstaddr    10.0.2.1
//	/sys/kernel/sunrpc/xprt-switches/switch-5/xprt-9-rdma/dstaddr   10.0.1.1
//
// Source: the kernel's net/sunrpc/sysfs.c.
func rpcSwitches(r collect.Reader) []rpcSwitch {
	var all []rpcSwitch
	for _, name := range r.Names(rpcSwitchesDir) {
		var s rpcSwitch
		for _, transport := range r.Names(path.Join(rpcSwitchesDir, name)) {
			parts := strings.SplitN(transport, "-", 3)
			if len(parts) != 3 || parts[0] != "xprt" {
				continue
			}
			address, err := r.Text(path.Join(rpcSwitchesDir, name, transport, "dstaddr"))
			if err != nil {
				continue // gone meanwhile
			}
			s.kinds = append(s.kinds, parts[2])
			if a := collect.OneLine(strings.TrimSpace(address)); !slices.Contains(s.addresses, a) {
				s.addresses = append(s.addresses, a)
			}
		}
		slices.Sort(s.kinds)
		slices.Sort(s.addresses)
		all = append(all, s)
	}
	return all
}

// addresses returns the addresses of the mount's set of transports. Nothing in sysfs names mounts, so it takes the set
// with as many transports of the same kinds that leads to the mount's own address. It returns nil if several sets with
// different addresses match.
func (p NFSPaths) addresses(switches []rpcSwitch) []string {
	var kinds, found []string
	for _, t := range p.Transports {
		kinds = append(kinds, t.Kind)
	}
	slices.Sort(kinds)
	for _, s := range switches {
		if !slices.Equal(s.kinds, kinds) || !slices.Contains(s.addresses, p.Options["addr"]) {
			continue
		}
		if found != nil && !slices.Equal(found, s.addresses) {
			return nil
		}
		found = s.addresses
	}
	return found
}

// InterfaceCounters are what a machine's network cards and RDMA ports have moved since it started, both ways together:
// cards in bytes, by their names, and ports in whatever they count, by device and number: "rxe0/1".
type InterfaceCounters struct {
	Cards, Ports map[string]int64
}

// ReadInterfaceCounters reads the counters of all cards and ports of a target, loopback apart.
func ReadInterfaceCounters(ctx context.Context, t host.Target) (InterfaceCounters, error) {
	w := InterfaceCounters{Cards: map[string]int64{}, Ports: map[string]int64{}}
	r := collect.Reader{FS: t.FS()}
	paths := map[string]func(int64){}
	add := func(to map[string]int64, name string, files ...string) {
		for _, f := range files {
			paths[f] = func(n int64) { to[name] += n }
		}
	}
	for _, name := range r.Names(netClassDir) {
		if name != "lo" {
			add(w.Cards, name, path.Join(netClassDir, name, "statistics/rx_bytes"),
				path.Join(netClassDir, name, "statistics/tx_bytes"))
		}
	}
	for _, device := range r.Names(rdmaClassDir) {
		for _, port := range r.Names(path.Join(rdmaClassDir, device, "ports")) {
			dir := path.Join(rdmaClassDir, device, "ports", port)
			// A card counts what it carries; soft RoCE has packets among its own counters only.
			add(w.Ports, device+"/"+port, dir+"/counters/port_rcv_data", dir+"/counters/port_xmit_data",
				dir+"/hw_counters/rcvd_pkts", dir+"/hw_counters/sent_pkts")
		}
	}
	var names []string
	for p := range paths {
		names = append(names, p)
	}
	files, err := t.ReadFiles(ctx, names...)
	if err != nil {
		return w, err
	}
	for p, count := range paths {
		if files[p].Err == nil {
			count(collect.Integer(strings.TrimSpace(string(files[p].Data))))
		}
	}
	return w, nil
}

// RDMAPorts reports whether a target has a port that does RDMA.
func RDMAPorts(ctx context.Context, t host.Target) (bool, error) {
	entries, err := collect.Reader{FS: t.FS()}.Entries(rdmaClassDir)
	return err == nil && len(entries) > 0, ctx.Err()
}
