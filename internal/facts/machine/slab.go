package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

const (
	// maxSlabs bounds the caches that are looked at; a large machine has 300, and links to them.
	maxSlabs = 2000
	// maxSlabNames is how many caches are named in full.
	maxSlabNames = 20
)

// CollectSlab names the slab caches whose objects are checked on every allocation. That is set for all by slab_debug=
// (slub_debug= before 6.9) or for some by name, and only root may look. Source: the kernel's
// Documentation/admin-guide/mm/slab.rst, Documentation/mm/slub.rst before 6.14.
func CollectSlab(r collect.Reader, _ collect.Scope) []lab.Fact {
	const key, dir = "memory.slab_debug", "/sys/kernel/slab"
	entries, err := r.Entries(dir)
	// Caches of equal layout are merged, and the other names are links.
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() })
	entries = entries[:min(len(entries), maxSlabs)]
	type cache struct {
		name string
		err  error // why it is unknown
	}
	caches := collect.Spread(len(entries), func(i int) []cache {
		on, err := slabDebugged(r, dir+"/"+entries[i].Name())
		if err == nil && !on {
			return nil
		}
		return []cache{{entries[i].Name(), err}}
	})
	var debugged []string
	var closed error
	for _, c := range caches {
		if closed = c.err; closed != nil {
			break
		}
		debugged = append(debugged, c.name)
	}
	if err == nil && len(entries) > 0 && closed == nil {
		if more := len(debugged) - maxSlabNames; more > 0 {
			debugged = append(debugged[:maxSlabNames], fmt.Sprintf("and %d more", more))
		}
		return []lab.Fact{collect.ListOf(key, debugged, dir)}
	}
	for _, name := range []string{"slab_debug", "slub_debug"} {
		if value, ok := BootArgument(r, name); ok {
			return []lab.Fact{collect.Known(key, "all ("+name+"="+value+")", CmdlinePath)}
		}
	}
	switch {
	case closed != nil:
		err = closed
	case err == nil:
		err = fs.ErrNotExist
	}
	return []lab.Fact{collect.Unknown(key, dir, collect.Why(err))}
}

// slabDebugged says whether any check is on for a cache. The error says that it is unknown; a kernel without
// SLUB_DEBUG has none of the files, and none of the checks.
func slabDebugged(r collect.Reader, dir string) (bool, error) {
	for _, attribute := range []string{"sanity_checks", "red_zone", "poison", "store_user"} {
		text, err := r.Text(dir + "/" + attribute)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if text == "1" {
			return true, nil
		}
	}
	return false, nil
}
