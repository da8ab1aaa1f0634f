package storage

import (
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

const arcStatsPath = "/proc/spl/kstat/zfs/arcstats"

// zfsHidden is why nothing lies under a volume or a file system of ZFS.
const zfsHidden = "ZFS does not show in /sys what its pools are made of"

// CollectZFS describes ZFS where its module is loaded.
func CollectZFS(r collect.Reader, _ collect.Scope) []lab.Fact {
	const dir = "/sys/module/zfs"
	if !r.Exists(dir) {
		return nil
	}
	return []lab.Fact{
		r.Fact("zfs.version", dir+"/version"),
		arcLimit(r),
	}
}

// arcLimit is how large the cache may grow: the limit in force, and where that can't be read, the module's parameter,
// of which 0 leaves the choice to ZFS.
func arcLimit(r collect.Reader) lab.Fact {
	const key, parameter = "zfs.arc_max", "/sys/module/zfs/parameters/zfs_arc_max"
	text, err := r.Text(arcStatsPath)
	if limit, ok := parseARCLimit(text); err == nil && ok {
		return collect.Known(key, limit, arcStatsPath)
	}
	f := r.Fact(key, parameter)
	if f.Value == "0" {
		return collect.Unknown(key, parameter, "0: ZFS chooses the limit, and "+arcStatsPath+" does not tell it")
	}
	return f
}

// parseARCLimit reads the largest size out of the statistics of the ARC: name, type, value.
//
//	13 1 0x01 147 39984 6131313131 905511313131
//	name                            type data
//	c_max                           4    135090450432
func parseARCLimit(text string) (string, bool) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "c_max" && catalogue.Whole.Holds(f[2]) {
			return f[2], true
		}
	}
	return "", false
}
