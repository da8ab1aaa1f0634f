package machine

import (
	"io/fs"
	"path"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// maxSysctls is the number of sysctls that are read at most. A large machine has 1,500 without those of interfaces.
const maxSysctls = 20000

// sysctlSkipped says which parts of /proc/sys are left out, by path below it; a folder goes with all that is in it.
//
//   - what moves by itself: counters, and numbers that the kernel hands out
//   - what is secret or names one machine: keys, seeds, host names (host.name is a fact of its own)
//   - what does something when it is looked at: binfmt_misc is mounted on first sight, vm.stat_refresh interrupts every CPU
//   - sched_domain, with a folder for every level of every CPU before Linux 5.13
func sysctlSkipped(name string) bool {
	switch name {
	case "fs/binfmt_misc", "fs/quota", "fs/aio-nr", "fs/dentry-negative", "fs/dentry-state",
		"fs/file-nr", "fs/inode-nr",
		"fs/inode-state",
		"kernel/domainname", "kernel/hostname", "kernel/hung_task_detect_count", "kernel/hung_task_warnings",
		"kernel/ns_last_pid", "kernel/perf_event_max_sample_rate", "kernel/pty/nr",
		"kernel/random", "kernel/sched_domain", "kernel/spl/hostid", "kernel/spl/kmem", "kernel/tainted",
		"net/core/netdev_rss_key", "net/ipv4/tcp_fastopen_key", "net/netfilter/nf_conntrack_count", "vm/stat_refresh":
		return true
	}
	// Interfaces have trees of their own; what holds for all of them is in these two.
	dir, last := path.Split(name)
	switch dir {
	case "net/ipv4/conf/", "net/ipv4/neigh/", "net/ipv6/conf/", "net/ipv6/neigh/", "net/mpls/conf/":
		return last != "all" && last != "default"
	case "sunrpc/svc_rdma/": // rdma_stat_read and its like stand beside settings; net/sunrpc/xprtrdma/svc_rdma.c
		return strings.HasPrefix(last, "rdma_stat_")
	}
	// RFC 7217's seed of addresses; the kernel answers with an error while none is set.
	return last == "stable_secret"
}

// CollectSysctl reads all of /proc/sys: "net/ipv4/tcp_rmem" is the fact sysctl.net.ipv4.tcp_rmem, its runs of white
// space one space each.
func CollectSysctl(r collect.Reader, _ collect.Scope) []lab.Fact {
	const root = "proc/sys"
	type file struct {
		name string // below root
		err  error  // why its folder can't be listed
	}
	var files []file
	err := fs.WalkDir(r.FS, root, func(name string, entry fs.DirEntry, err error) error {
		if name == root {
			return err
		}
		below := strings.TrimPrefix(name, root+"/")
		switch {
		case sysctlSkipped(below) && entry.IsDir():
			return fs.SkipDir
		case sysctlSkipped(below):
			return nil
		case len(files) >= maxSysctls:
			return fs.SkipAll
		case err != nil || !entry.IsDir():
			files = append(files, file{below, err})
		}
		return nil
	})
	if err != nil {
		return []lab.Fact{collect.Unknown("sysctl.all", "/"+root, collect.Why(err))}
	}
	return collect.Spread(len(files), func(i int) []lab.Fact {
		key, name := sysctlKey(files[i].name), "/"+root+"/"+files[i].name
		if err := files[i].err; err != nil {
			return []lab.Fact{collect.Unknown(key, name, collect.Why(err))}
		}
		if f, ok := setting(r, key, name); ok {
			return []lab.Fact{f}
		}
		return nil
	})
}

// sysctlKey writes a path the way sysctl(8) does: slashes become dots, and a dot in a name (of an interface) a slash.
func sysctlKey(below string) string {
	return "sysctl." + strings.Map(func(c rune) rune {
		switch {
		case c == '/':
			return '.'
		case c == '.':
			return '/'
		case c <= ' ':
			return '_'
		}
		return c
	}, below)
}
