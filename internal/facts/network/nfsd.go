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

// nfsdGrace says whether the server waits for clients to reclaim what they had open: /proc/fs/nfsd/v4_end_grace reads N
// until that has ended, then Y. Source: the kernel's fs/nfsd/nfsctl.c (write_v4_end_grace).
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

// parseExports counts the exported paths, those that are sync to all clients, and those that are async to some, and
// finds the one that is the root of the NFSv4 tree (fsid=0). The root that the server makes up by itself (v4root) is
// none of them. Source: exports(5) and nfs-utils' support/export/xtab.c; the kernel's fs/nfsd/export.c prints the same
// without a type of security.
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
