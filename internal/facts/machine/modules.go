package machine

import (
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

// SetAtLoad stands behind the source of a parameter that nobody can write to once the module is there. Where such a one
// changes all the same, the module counts something in it.
const SetAtLoad = " (read-only)"

// CollectModules lists the modules that are loaded and every parameter that can be read, of those built in, too. A
// parameter that can only be written is left out: it has no value.
func CollectModules(r collect.Reader, _ collect.Scope) []lab.Fact {
	modules := r.Names(modulesDir)
	type parameter struct {
		key, file string
		atLoad    bool // nobody can write to it
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
