package machine

import (
	"io/fs"
	"path"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

const (
	modulesPath = "/proc/modules"
	modulesDir  = "/sys/module"
)

// maxParameters is the number of module parameters that are read at most. Machines with everything loaded have 2,000.
const maxParameters = 20000

// SetAtLoad is appended to the source of a parameter that is read-only once the module is loaded. If such a parameter
// changes anyway, it is a counter of the module.
const SetAtLoad = " (read-only)"

// CollectModules lists the modules that are loaded and every parameter that can be read, of those built in, too. A
// parameter that can only be written is left out: it has no value.
func CollectModules(r collect.Reader, _ collect.Scope) []lab.Fact {
	modules := r.Names(modulesDir)
	type parameter struct {
		key, file string
		atLoad    bool // read-only after loading
	}
	parameters := collect.Spread(len(modules), func(i int) []parameter {
		dir := modulesDir + "/" + modules[i] + "/parameters"
		entries, _ := r.Entries(dir)
		var found []parameter
		for _, e := range entries {
			if !parameterSkipped(modules[i], e.Name()) {
				info, err := e.Info()
				found = append(found, parameter{"module." + modules[i] + "." + e.Name(), dir + "/" + e.Name(),
					err == nil && info.Mode().Perm()&0o222 == 0})
			}
		}
		return found
	})
	parameters = parameters[:min(len(parameters), maxParameters)]
	return append([]lab.Fact{loadedModules(r)}, collect.Spread(len(parameters), func(i int) []lab.Fact {
		f, ok := setting(r, parameters[i].key, parameters[i].file)
		if !ok {
			return nil
		}
		if parameters[i].atLoad {
			f.Source += SetAtLoad
		}
		return []lab.Fact{f}
	})...)
}

// parameterSkipped leaves out what names one machine, and the counters of modules that keep them among their
// parameters.
func parameterSkipped(module, parameter string) bool {
	switch module + "." + parameter {
	case "nfs.nfs4_unique_id", "spl.spl_hostid":
		return true
	}
	return strings.HasPrefix(module, "damon_") && (strings.HasPrefix(parameter, "nr_") ||
		strings.HasPrefix(parameter, "bytes_") ||
		parameter == "kdamond_pid" || strings.HasPrefix(parameter, "estimated_") ||
		strings.HasPrefix(parameter, "memory_idle_"))
}

func loadedModules(r collect.Reader) lab.Fact {
	text, err := r.Text(modulesPath)
	if err != nil {
		return collect.Unknown("kernel.modules", modulesPath, collect.Why(err))
	}
	return collect.Sorted("kernel.modules", parseModules(text), modulesPath)
}

// parseModules reads the names in /proc/modules.
//
//	nvme 65536 4 - Live 0x0000000000000000
//	nvme_core 245760 6 nvme, Live 0x0000000000000000
//	zfs 6647808 6 - Live 0x0000000000000000 (POE)
func parseModules(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if name, _, ok := strings.Cut(line, " "); ok && name != "" && name == collect.OneLine(name) {
			names = append(names, name)
		}
	}
	return names
}

// setting is a small file of /proc/sys or /sys/module as a fact on one line; false when the file is only there to be
// written to.
func setting(r collect.Reader, key, name string) (lab.Fact, bool) {
	text, err := r.Text(name)
	if err == nil {
		return collect.Known(key, collect.OrNone(text), name), true
	}
	if info, serr := r.Stat(name); serr == nil {
		if mode := info.Mode().Perm(); mode&0o222 != 0 && mode&0o444 == 0 {
			return lab.Fact{}, false
		}
	}
	return collect.Unknown(key, name, collect.Why(err)), true
}

// maxSysctls is the largest number of sysctls that are read. A large machine has 1,500 without sysctls of interfaces.
const maxSysctls = 20000

// sysctlSkipped reports whether a part of /proc/sys is left out, by path below it; a folder includes all its contents.
//
//   - values that change without intervention: counters, and numbers that the kernel hands out
//   - secrets and names of the machine: keys, seeds, host names (host.name is a separate fact)
//   - files with side effects of reading: binfmt_misc is mounted on first sight, vm.stat_refresh interrupts every CPU
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
	// Interfaces have separate trees; values for all interfaces are in these two.
	dir, last := path.Split(name)
	switch dir {
	case "net/ipv4/conf/", "net/ipv4/neigh/", "net/ipv6/conf/", "net/ipv6/neigh/", "net/mpls/conf/":
		return last != "all" && last != "default"
	case "sunrpc/svc_rdma/": // counters such as rdma_stat_read are next to settings; net/sunrpc/xprtrdma/svc_rdma.c
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
