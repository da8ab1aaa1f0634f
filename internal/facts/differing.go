package facts

import (
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// notThere is the reason of an unknown fact that only another machine has.
const notThere = "it is not there"

// Differing returns the facts that differ from another machine's, and, as unknown facts, those that only the other
// machine has. Their strings are copies, which do not keep the contents of the source files in memory.
func Differing(other, own []lab.Fact) []lab.Fact {
	type name struct{ key, about string }
	theirs := make(map[name]lab.Fact, len(other))
	for _, f := range other {
		theirs[name{f.Key, f.About}] = f
	}
	var kept []lab.Fact
	for _, f := range own {
		at := name{f.Key, f.About}
		if o, has := theirs[at]; !has || o.Value != f.Value || o.Unknown != f.Unknown {
			f.Key, f.About, f.Value, f.Source, f.Unknown = strings.Clone(f.Key), strings.Clone(f.About),
				strings.Clone(f.Value), strings.Clone(f.Source), strings.Clone(f.Unknown)
			kept = append(kept, f)
		}
		delete(theirs, at)
	}
	for _, f := range other {
		if _, missing := theirs[name{f.Key, f.About}]; missing {
			kept = append(kept, lab.Fact{Key: f.Key, About: f.About, Unknown: notThere})
		}
	}
	return kept
}

// Completed returns all facts of a machine, from the facts of another machine and the facts that differ from them.
func Completed(other, differing []lab.Fact) []lab.Fact {
	type name struct{ key, about string }
	own := map[name]bool{}
	var all []lab.Fact
	for _, f := range differing {
		own[name{f.Key, f.About}] = true
		if f.Unknown != notThere {
			all = append(all, f)
		}
	}
	for _, f := range other {
		if !own[name{f.Key, f.About}] {
			all = append(all, f)
		}
	}
	return all
}
