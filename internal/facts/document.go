package facts

import (
	"iter"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/lab"
)

// DocumentSchema is the schema of a Document.
const DocumentSchema = "headroom/facts/v1"

// Document is a snapshot of one target as printed by `headroom facts --json`, stored in bundles, and read by `headroom
// facts diff` and `headroom doctor`.
type Document struct {
	Schema  string     `json:"schema"`
	Target  string     `json:"target"`
	Taken   time.Time  `json:"taken,omitzero"`
	Version string     `json:"version,omitempty"` // headroom's version
	Facts   []lab.Fact `json:"facts"`
}

// Memory estimates how many bytes facts take.
func Memory(all []lab.Fact) int {
	const fact = 80 // five strings, without their contents
	bytes := fact * len(all)
	for _, f := range all {
		bytes += len(f.Key) + len(f.About) + len(f.Value) + len(f.Source) + len(f.Unknown)
	}
	return bytes
}

// Brief returns the facts without the large families: the facts in a run's header and in a report.
func Brief(all []lab.Fact) []lab.Fact {
	brief := make([]lab.Fact, 0, len(all)/8)
	for _, f := range all {
		if !catalogue.Bulk(f.Key) {
			brief = append(brief, f)
		}
	}
	return brief
}

// Change is a fact whose value differs before and after a run.
type Change struct {
	Before, After lab.Fact
}

// Changes returns the settings that differ between two snapshots of one boot of one target. Values that change on their
// own are omitted, and so is a fact that one of the two could not read, since the reason may be the time limit of the
// snapshot. Mounts other than that of the place are also omitted, and virtual machines on the same host: people plug
// in, mount and remount devices that the load never uses, and start another guest under the same name. The first
// snapshot is read one fact at a time, so that it need not be in memory together with the second.
func Changes(before iter.Seq[lab.Fact], after []lab.Fact) []Change {
	type name struct{ key, about string }
	at := make(map[name]int, len(after))
	for i, f := range after {
		at[name{f.Key, f.About}] = i
	}
	index := catalogue.NewIndex()
	mounted := "" // mount point of the place
	if i, ok := at[name{"filesystem.mount_point", ""}]; ok {
		mounted = after[i].Value
	}
	var changes []Change
	// A device under test has its facts twice: first by its role, then by its name. Both were read from one file.
	type reading struct{ definition, source string }
	underTest := map[reading]bool{}
	for then := range before {
		i, ok := at[name{then.Key, then.About}]
		if !ok || then.Unknown != "" || after[i].Unknown != "" || then.Value == after[i].Value {
			continue
		}
		d, _ := index.Lookup(then.Key)
		if d.Mark == catalogue.Moving || strings.HasSuffix(after[i].Source, machine.SetAtLoad) {
			continue
		}
		switch class := catalogue.ClassOf(then.Key); {
		case class == "mount" && then.About != mounted, class == "guest", class == "drive":
			continue
		}
		r := reading{d.Key, then.Source}
		if strings.Contains(then.Key, catalogue.UnderTestRole) {
			underTest[r] = true
		} else if underTest[r] {
			continue
		}
		changes = append(changes, Change{then, after[i]})
	}
	return changes
}

// Counters returns the keys of apparent settings that can't be set but changed between two snapshots of one boot:
// modules have counters among their parameters.
func Counters(before, after []lab.Fact) []string {
	at := make(map[string]string, len(after))
	for _, f := range after {
		if strings.HasSuffix(f.Source, machine.SetAtLoad) && f.Unknown == "" {
			at[f.Key] = f.Value
		}
	}
	var keys []string
	for _, f := range before {
		if value, ok := at[f.Key]; ok && f.Unknown == "" && value != f.Value {
			keys = append(keys, f.Key)
		}
	}
	return keys
}
