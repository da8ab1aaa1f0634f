package collect

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

func Known(key, value, source string) lab.Fact {
	return lab.Fact{Key: key, Value: value, Source: source}
}

func Unknown(key, source, reason string) lab.Fact {
	return lab.Fact{Key: key, Source: source, Unknown: reason}
}

// Whole writes a Whole.
func Whole(key string, n int64, source string) lab.Fact {
	return Known(key, strconv.FormatInt(n, 10), source)
}

// OnOff writes a Flag.
func OnOff(key string, on bool, source string) lab.Fact {
	if on {
		return Known(key, "on", source)
	}
	return Known(key, "off", source)
}

// ListOf writes a List, with the words in the order given.
func ListOf(key string, words []string, source string) lab.Fact {
	if len(words) == 0 {
		return Known(key, catalogue.None, source)
	}
	return Known(key, strings.Join(words, ", "), source)
}

// Sorted is ListOf with the words in order and each only once.
func Sorted(key string, words []string, source string) lab.Fact {
	words = slices.Clone(words)
	slices.Sort(words)
	return ListOf(key, slices.Compact(words), source)
}

// About says which thing of several the facts are about.
func About(thing string, facts ...lab.Fact) []lab.Fact {
	for i := range facts {
		facts[i].About = thing
	}
	return facts
}

// Thing gathers the facts about one thing of several: an interface, a port, a mount. Without a name they are about the
// machine.
type Thing struct {
	Name  string
	Facts []lab.Fact
}

func (t *Thing) Add(facts ...lab.Fact) {
	t.Facts = append(t.Facts, About(t.Name, facts...)...)
}
