package facts

import (
	"iter"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/kernel"
	"github.com/headroom/headroom/internal/lab"
)

// DocumentSchema is the schema of a Document.
const DocumentSchema = "headroom/facts/v1"

// Document is a snapshot of one target as `headroom facts --json` prints it, as bundles keep it, and as
// `headroom facts diff` and `headroom doctor` read it.
type Document struct {
	Schema  string     `json:"schema"`
	Target  string     `json:"target"`
	Taken   time.Time  `json:"taken,omitzero"`
	Version string     `json:"version,omitempty"` // headroom's own
	Facts   []lab.Fact `json:"facts"`
}

// Memory estimates how many bytes facts take.
func Memory(all []lab.Fact) int {
	const fact = 80 // five texts, without their letters
	bytes := fact * len(all)
	for _, f := range all {
		bytes += len(f.Key) + len(f.About) + len(f.Value) + len(f.Source) + len(f.Unknown)
	}
	return bytes
}

// Brief is the facts without those families: what a run's header carries and a report shows.
func Brief(all []lab.Fact) []lab.Fact {
	brief := make([]lab.Fact, 0, len(all)/8)
	for _, f := range all {
		if !catalogue.Bulk(f.Key) {
			brief = append(brief, f)
		}
	}
	return brief
}

// Change is a fact that was one thing before a run and another after it.
type Change struct {
	Before, After lab.Fact
}

// Changes are the settings that differ between two snapshots of one boot of one target. What moves by itself is none,
// and neither is a fact that one of the two could not read: the reason may be the time that a snapshot may take. Nor is
// a mount other than that of the place, or a machine that runs beside: people plug in, mount and remount what the load
// never touches, and start another guest by the name of one. The first snapshot is read one by one, so that it need not
// be in memory beside the second.
func Changes(before iter.Seq[lab.Fact], after []lab.Fact) []Change {
	type name struct{ key, about string }
	at := make(map[name]int, len(after))
	for i, f := range after {
		at[name{f.Key, f.About}] = i
	}
	index := catalogue.NewIndex()
	mounted := "" // where the place is
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
		if d.Mark == catalogue.Moving || strings.HasSuffix(after[i].Source, kernel.SetAtLoad) {
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

// Counters are the keys of what looks like a setting, cannot be set, and yet moved between two snapshots of one boot:
// modules keep counters among their parameters.
func Counters(before, after []lab.Fact) []string {
	at := make(map[string]string, len(after))
	for _, f := range after {
		if strings.HasSuffix(f.Source, kernel.SetAtLoad) && f.Unknown == "" {
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
