package network

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

const MountStatsPath = "/proc/self/mountstats"

// maxNFSMounts is how many mounts are described; automounters can hold thousands.
const maxNFSMounts = 1024

// CollectNFSClient describes each NFS mount: the requested options, from mountinfo, and the result, from mountstats.
// The two differ: nconnect and max_connect are limits, and a second mount of a server uses the existing connections,
// whatever its own options are.
func CollectNFSClient(r collect.Reader, _ collect.Scope) []lab.Fact {
	t := &collect.Thing{}
	slots := r.Whole("nfs.slots.max", "/proc/sys/sunrpc/tcp_max_slot_table_entries")
	if !r.Exists(slots.Source) {
		slots.Unknown = "the RPC code is not loaded"
	}
	t.Add(slots)
	data, err := r.Bytes(collect.MountInfoPath)
	if err != nil {
		return append(t.Facts, collect.Unknown("nfs.servers.shared", collect.MountInfoPath, collect.Why(err)))
	}
	// What is mounted later on the same point hides what was there.
	found := map[string]collect.Mount{}
	var points []string
	for _, m := range collect.ParseMounts(data) {
		if m.Kind != "nfs" && m.Kind != "nfs4" {
			continue
		}
		if _, twice := found[m.Point]; !twice {
			points = append(points, m.Point)
		}
		found[m.Point] = m
	}
	statistics, statisticsErr := r.Bytes(MountStatsPath)
	stats := ParseMountStats(statistics)
	kinds := map[string][]string{}
	var all []lab.Fact
	for _, point := range points[:min(len(points), maxNFSMounts)] {
		n := nfsMount{Thing: collect.Thing{Name: point}, mount: found[point], options: nfsOptions(found[point])}
		n.asked()
		reason := ""
		if statisticsErr != nil {
			reason = collect.Why(statisticsErr)
		}
		n.connected(stats[point], reason)
		server := n.server()
		n.Add(linkSpeed(r, server))
		kinds[server] = append(kinds[server], transportKinds(n.options["proto"], stats[point])...)
		all = append(all, n.Facts...)
	}
	var shared []string
	for server, names := range kinds {
		slices.Sort(names)
		if len(slices.Compact(names)) > 1 && server != "" {
			shared = append(shared, server)
		}
	}
	slices.Sort(shared)
	t.Add(collect.ListOf("nfs.servers.shared", shared, collect.MountInfoPath+"; "+MountStatsPath))
	if len(points) > maxNFSMounts {
		t.Add(collect.Unknown("collector.nfs", collect.MountInfoPath,
			"only the first "+strconv.Itoa(maxNFSMounts)+" mounts are described"))
	}
	return append(t.Facts, all...)
}

// transportKinds are the kinds of transport of a mount, by options and by what is connected.
func transportKinds(protocol string, s mountStats) []string {
	kinds := slices.Clone(s.connected)
	if protocol != "" {
		kinds = append(kinds, protocol)
	}
	return kinds
}

// nfsMount is a mount while it is described.
type nfsMount struct {
	collect.Thing
	mount   collect.Mount
	options map[string]string
}

// nfsOptions reads the options of a mount: "rw,vers=4.2,rsize=1048576,hard,proto=tcp,sec=sys,addr=192.0.2.1". Source:
// nfs_show_mount_options in the kernel's fs/nfs/super.c.
func nfsOptions(m collect.Mount) map[string]string {
	options := map[string]string{}
	for o := range strings.SplitSeq(m.Options+","+m.Super, ",") {
		name, value, _ := strings.Cut(o, "=")
		options[name] = collect.Shortened(value)
	}
	return options
}

func (n *nfsMount) asked() {
	// IPv6 is not another transport, so tcp6 is written as tcp.
	n.options["proto"] = strings.TrimSuffix(n.options["proto"], "6")
	if n.options["vers"] == "4" { // as older kernels print it, with the minor version separate
		n.options["vers"] += "." + cmp.Or(n.options["minorversion"], "0")
	}
	for _, k := range [][2]string{{"mount.nfs.version", "vers"}, {"mount.nfs.protocol", "proto"},
		{"mount.nfs.security", "sec"}} {
		if v := n.options[k[1]]; v != "" {
			n.Add(collect.Known(k[0], v, collect.MountInfoPath))
		} else {
			n.Add(collect.Unknown(k[0], collect.MountInfoPath, "the options do not name "+k[1]))
		}
	}
	for _, k := range [][2]string{{"mount.nfs.rsize", "rsize"}, {"mount.nfs.wsize", "wsize"}} {
		if size, err := strconv.ParseInt(n.options[k[1]], 10, 64); err == nil {
			n.Add(collect.Whole(k[0], size, collect.MountInfoPath))
		} else {
			n.Add(collect.Unknown(k[0], collect.MountInfoPath, "the options name no "+k[1]))
		}
	}
	// The kernel prints these two only when they were given, and max_connect only above 1.
	for _, k := range [][2]string{{"mount.nfs.nconnect", "nconnect"}, {"mount.nfs.max_connect", "max_connect"}} {
		n.Add(collect.Whole(k[0], max(1, collect.Integer(n.options[k[1]])), collect.MountInfoPath))
	}
	_, sync := n.options["sync"]
	n.Add(collect.OnOff("mount.nfs.sync", sync, collect.MountInfoPath))
	if server := n.server(); server != "" {
		n.Add(collect.Known("mount.nfs.server", server, collect.MountInfoPath))
	} else {
		n.Add(collect.Unknown("mount.nfs.server", collect.MountInfoPath, "neither options nor source name the server"))
	}
}

// server is the address that was mounted, or the name in front of the exported path ("files:/srv",
// "[2001:db8::1]:/srv").
func (n *nfsMount) server() string {
	if v := n.options["addr"]; v != "" {
		return v
	}
	server, _, ok := strings.Cut(n.mount.Source, ":/")
	if !ok {
		return ""
	}
	return collect.Shortened(strings.Trim(server, "[]"))
}

// connected is what mountstats says of the mount.
func (n *nfsMount) connected(s mountStats, reason string) {
	if reason == "" && !s.seen {
		reason = "the file does not show this mount"
	}
	if reason == "" && s.transports == 0 {
		reason = "the file shows no transports of this mount"
	}
	if reason != "" {
		for _, key := range []string{"mount.nfs.transports", "mount.nfs.connections", "mount.nfs.retransmits"} {
			n.Add(collect.Unknown(key, MountStatsPath, reason))
		}
		return
	}
	n.Add(collect.ListOf("mount.nfs.transports", s.connected, MountStatsPath))
	n.Add(collect.Whole("mount.nfs.connections", int64(len(s.connected)), MountStatsPath))
	n.Add(collect.Whole("mount.nfs.retransmits", s.retransmits, MountStatsPath))
}

// mountStats is what is read of one mount's statistics.
type mountStats struct {
	seen bool
	// transports are all that there are, connected the kinds of those that were ever connected.
	transports  int
	connected   []string
	retransmits int64
	// Each are all of them with what they sent.
	Each []NFSTransport
	// Read and written are the bytes that went over the wire, for reads and by writes; moved says that they are known.
	Read, Written int64
	Moved         bool
}

// maxTransports is more than a mount can have: 16 connections to each of 16 addresses.
const maxTransports = 1024

// ParseMountStats reads the NFS mounts of /proc/self/mountstats, by mount point. A mount's lines follow the line that
// begins with "device". From a line "xprt:" it uses the kind and the number of connections made, the third number for
// tcp and rdma and the second for local; udp has no connections. A trunked mount has one line for each address. The
// lines of operations after "per-op statistics" begin with the calls made and the requests sent for them, which are
// more if some were sent again.
//
// In the line "bytes:" the fifth and sixth numbers are the bytes read from the server and written to it, direct I/O
// included.
//
//	device 192.0.2.1:/srv mounted on /mnt with fstype nfs4 statvers=1.1
//		bytes:	5319491584 1610612736 0 0 5319491584 1610612736 0 0
//		xprt:	tcp 832 0 1 0 11 6428 6428 0 12154 0 24 26 5726
//		xprt:	rdma 0 0 1 0 22 1733 1733 0 1733 0 0 0 1 0 0 0 0 0 0 0 0 0 0 0 0
//		per-op statistics
//			READ: 1298 1298 0 207680 1210710248 79 7654 8407 0
//
// Sources: the kernel's fs/nfs/super.c (nfs_show_stats), net/sunrpc/xprtsock.c and xprtrdma/transport.c (print_stats),
// net/sunrpc/stats.c (rpc_clnt_show_stats).
func ParseMountStats(data []byte) map[string]mountStats {
	found := map[string]mountStats{}
	point, operations := "", false
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "device "); ok {
			point, operations = "", false
			if p, ok := mountPointIn(rest); ok {
				point = p
				found[point] = mountStats{seen: true}
			}
			continue
		}
		if point == "" {
			continue
		}
		s := found[point]
		fields := strings.Fields(collect.Shortened(line))
		switch {
		case len(fields) == 0:
			continue
		case fields[0] == "per-op":
			operations = true
			continue
		case operations && len(fields) > 2:
			calls, err := strconv.ParseInt(fields[1], 10, 64)
			sent, err2 := strconv.ParseInt(fields[2], 10, 64)
			if err == nil && err2 == nil && calls >= 0 && sent > calls && s.retransmits < 1<<60 && sent < 1<<60 {
				s.retransmits += sent - calls
			}
		case fields[0] == "bytes:" && len(fields) > 6:
			s.Read, s.Written, s.Moved = collect.Integer(fields[5]), collect.Integer(fields[6]), true
		case fields[0] == "xprt:" && len(fields) > 1 && s.transports < maxTransports:
			s.transports++
			s.Each = append(s.Each, NFSTransport{Kind: fields[1], Sent: sentOver(fields[1:])})
			if everConnected(fields[1:]) {
				s.connected = append(s.connected, fields[1])
			}
		}
		found[point] = s
	}
	return found
}

// mountPointIn takes the mount point out of a line's rest: "192.0.2.1:/srv mounted on /mnt with fstype nfs4
// statvers=1.1". White space in paths is written as octal numbers, as in mountinfo.
func mountPointIn(rest string) (string, bool) {
	f := strings.Fields(rest)
	if len(f) < 7 || f[1] != "mounted" || f[2] != "on" || f[4] != "with" || f[5] != "fstype" {
		return "", false
	}
	if f[6] != "nfs" && f[6] != "nfs4" {
		return "", false
	}
	return collect.Unescape(f[3]), true
}

func everConnected(fields []string) bool {
	at := 3
	switch fields[0] {
	case "udp":
		return true
	case "local":
		at = 2
	}
	return len(fields) > at && collect.Integer(fields[at]) > 0
}

// sentOver is how many calls went over a transport: the sixth number of tcp and rdma, the second of udp.
func sentOver(fields []string) int64 {
	at := 6
	if fields[0] == "udp" {
		at = 3
	}
	if len(fields) <= at {
		return 0
	}
	return collect.Integer(fields[at])
}

const (
	nfsdDir       = "/proc/fs/nfsd"
	nfsdStatsPath = "/proc/net/rpc/nfsd"
)

// CollectNFSServer is what this machine serves over NFS; nothing where the server is not loaded.
func CollectNFSServer(r collect.Reader, _ collect.Scope) []lab.Fact {
	if len(r.Names(nfsdDir)) == 0 && !r.Exists(nfsdStatsPath) {
		return nil
	}
	t := &collect.Thing{}
	t.Add(nfsdThreads(r))
	ports, err := r.Text(nfsdDir + "/portlist")
	if err != nil {
		t.Add(collect.Unknown("nfsd.ports", nfsdDir+"/portlist", collect.Why(err)))
	} else {
		t.Add(collect.ListOf("nfsd.ports", parsePortList(ports), nfsdDir+"/portlist"))
	}
	t.Add(nfsdGrace(r))
	t.Add(r.Whole("nfsd.grace.time", nfsdDir+"/nfsv4gracetime"))
	exports(r, t)
	return t.Facts
}

// nfsdGrace reports whether the server waits for clients to reclaim what they had open: /proc/fs/nfsd/v4_end_grace
// reads N until that has ended, then Y. Source: the kernel's fs/nfsd/nfsctl.c (write_v4_end_grace).
func nfsdGrace(r collect.Reader) lab.Fact {
	const key, file = "nfsd.grace", nfsdDir + "/v4_end_grace"
	text, err := r.Text(file)
	if err != nil {
		return collect.Unknown(key, file, collect.Why(err))
	}
	ended, ok := catalogue.ParseFlag(strings.TrimSpace(text))
	if !ok {
		return collect.Unknown(key, file, "neither Y nor N: "+collect.OneLine(text))
	}
	return collect.OnOff(key, !ended, file)
}

// nfsdThreads are read where only root may, or else from the statistics, whose line "th" begins with the number:
//
//	rc 0 1247 90371
//	th 8 0 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000
//	net 91618 0 91618 3
//
// Source: the kernel's fs/nfsd/stats.c.
func nfsdThreads(r collect.Reader) lab.Fact {
	const key = "nfsd.threads"
	f := r.Whole(key, nfsdDir+"/threads")
	if f.Unknown == "" {
		return f
	}
	text, err := r.Text(nfsdStatsPath)
	if err != nil {
		return f
	}
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "th" {
			if n, err := strconv.ParseInt(fields[1], 10, 64); err == nil {
				return collect.Whole(key, n, nfsdStatsPath)
			}
		}
	}
	return f
}

// parsePortList reads the transports that the server listens on, each once: IPv4 and IPv6 have a line each. Source:
// the kernel's fs/nfsd/nfsctl.c (write_ports) and net/sunrpc/svc_xprt.c (svc_xprt_names).
//
//	rdma 20049
//	tcp 2049
//	tcp 2049
func parsePortList(text string) []string {
	var ports []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(collect.OneLine(line)); len(f) == 2 && len(ports) < 64 {
			ports = append(ports, f[0]+" "+f[1])
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// exports are read from what exportfs keeps, or, where that is not readable or kept elsewhere, from what the kernel has
// been asked for so far.
func exports(r collect.Reader, t *collect.Thing) {
	var failed error
	for _, file := range []string{"/var/lib/nfs/etab", nfsdDir + "/exports", "/proc/fs/nfs/exports"} {
		data, err := r.Bytes(file)
		if err != nil {
			if failed == nil || errors.Is(failed, fs.ErrNotExist) {
				failed = err
			}
			continue
		}
		all, sync, async, root := parseExports(string(data))
		t.Add(collect.Whole("nfsd.exports", int64(all), file))
		t.Add(collect.Whole("nfsd.exports.sync", int64(sync), file))
		t.Add(collect.Whole("nfsd.exports.async", int64(async), file))
		t.Add(collect.Known("nfsd.exports.root", cmp.Or(root, catalogue.None), file))
		return
	}
	for _, key := range []string{"nfsd.exports", "nfsd.exports.sync", "nfsd.exports.async", "nfsd.exports.root"} {
		t.Add(collect.Unknown(key, "/var/lib/nfs/etab", collect.Why(failed)))
	}
}

// maxExports is how many paths are counted.
const maxExports = 1 << 16

// parseExports counts the exported paths, paths that are sync to all clients, and paths that are async to some, and
// finds the root of the NFSv4 tree (fsid=0). It does not count the root that the server generates (v4root). Source:
// exports(5) and nfs-utils' support/export/xtab.c; the kernel's fs/nfsd/export.c prints the same without a type of
// security.
//
//	/srv/vm	192.0.2.0/24(rw,sync,wdelay,hide,nocrossmnt,secure,no_root_squash,no_all_squash,no_subtree_check,sec=sys)
//	/srv/scratch	192.0.2.0/24(rw,async,wdelay,hide,nocrossmnt,secure,root_squash,no_all_squash,no_subtree_check,sec=sys)
//	# Version 1.1
func parseExports(text string) (all, sync, async int, root string) {
	unsafe := map[string]bool{}
	for line := range strings.Lines(text) {
		path, client, ok := strings.Cut(strings.TrimSpace(line), "\t")
		_, options, ok2 := strings.Cut(client, "(")
		if !ok || !ok2 || !strings.HasPrefix(path, "/") || len(unsafe) == maxExports {
			continue
		}
		options, _, _ = strings.Cut(options, ")")
		if collect.HasOption(options, "v4root") {
			continue
		}
		unsafe[path] = unsafe[path] || collect.HasOption(options, "async")
		if collect.HasOption(options, "fsid=0") || collect.HasOption(options, "fsid=root") {
			root = collect.OneLine(path)
		}
	}
	for _, is := range unsafe {
		if is {
			async++
		}
	}
	return len(unsafe), len(unsafe) - async, async, root
}
