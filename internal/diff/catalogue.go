package diff

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
)

// definitions is the catalogue of facts.
type definitions struct{ catalogue.Index }

func (d definitions) lookup(key string) catalogue.Definition {
	if def, ok := d.Lookup(key); ok {
		return def
	}
	return catalogue.Definition{Key: key}
}

// comparable reports whether a key's values can be a difference. Values that change on their own, or that identify
// something, can't.
func (d definitions) comparable(key string) bool {
	switch d.lookup(key).Mark {
	case catalogue.Moving, catalogue.Identity, catalogue.Address, catalogue.Name:
		return false
	}
	return true
}

// listLimit is the length up to which a list is shown whole.
const listLimit = 6

// values prepares two values for comparison: flags become "on" or "off" whatever their notation, and of long lists only
// the elements that the other side lacks are kept.
func (d definitions) values(key, a, b string) (string, string) {
	if strings.HasPrefix(key, sysctlPrefix) {
		// The kernel separates numbers by tabs, which some tools replace.
		return strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " ")
	}
	switch d.lookup(key).Kind {
	case catalogue.Flag:
		return flag(a), flag(b)
	case catalogue.List:
		listA, listB := catalogue.ParseList(a), catalogue.ParseList(b)
		slices.Sort(listA)
		slices.Sort(listB)
		if slices.Equal(listA, listB) {
			return a, a
		}
		if len(listA) > listLimit || len(listB) > listLimit {
			return without(listA, listB), without(listB, listA)
		}
	}
	return a, b
}

func flag(value string) string {
	if on, ok := catalogue.ParseFlag(value); ok && on {
		return "on"
	} else if ok {
		return "off"
	}
	return value
}

func without(list, others []string) string {
	in := make(map[string]bool, len(others))
	for _, o := range others {
		in[o] = true
	}
	kept := slices.DeleteFunc(slices.Clone(list), func(v string) bool { return in[v] })
	if len(kept) == 0 {
		return "nothing that the other side has not"
	}
	return "only here: " + strings.Join(kept, ", ")
}
