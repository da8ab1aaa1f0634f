package facts

import (
	"slices"
	"strconv"
	"strings"

	"headroom/internal/facts/catalogue"
	"headroom/internal/lab"
)

func known(key, value, source string) lab.Fact {
	return lab.Fact{Key: key, Value: value, Source: source}
}

func unknown(key, source, reason string) lab.Fact {
	return lab.Fact{Key: key, Source: source, Unknown: reason}
}

// whole writes a Whole.
func whole(key string, n int64, source string) lab.Fact {
	return known(key, strconv.FormatInt(n, 10), source)
}

// onOff writes a Flag.
func onOff(key string, on bool, source string) lab.Fact {
	if on {
		return known(key, "on", source)
	}
	return known(key, "off", source)
}

// listOf writes a List, with the words in the order given.
func listOf(key string, words []string, source string) lab.Fact {
	if len(words) == 0 {
		return known(key, catalogue.None, source)
	}
	return known(key, strings.Join(words, ", "), source)
}

// sorted is listOf with the words in order and each only once.
func sorted(key string, words []string, source string) lab.Fact {
	words = slices.Clone(words)
	slices.Sort(words)
	return listOf(key, slices.Compact(words), source)
}

// about says which thing of several the facts are about.
func about(thing string, facts ...lab.Fact) []lab.Fact {
	for i := range facts {
		facts[i].About = thing
	}
	return facts
}

// thing gathers the facts about one thing of several: an interface, a port, a mount. Without a name they are about the
// machine.
type thing struct {
	name  string
	facts []lab.Fact
}

func (t *thing) add(facts ...lab.Fact) {
	t.facts = append(t.facts, about(t.name, facts...)...)
}
