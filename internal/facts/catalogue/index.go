package catalogue

import (
	"strings"
	"sync"
)

// UnderTestRole is the part that stands for the thing in the keys of a run's own place.
const UnderTestRole = ".under-test"

// Index finds definitions without a walk through the catalogue for each of ten thousand facts. Whoever looks up more
// than one key makes one. The zero Index knows no key.
type Index struct {
	exact    map[string]Definition
	families []Definition
}

// NewIndex is an index of the whole catalogue.
func NewIndex() Index { return index() }

var index = sync.OnceValue(func() Index {
	catalogue := All()
	x := Index{exact: make(map[string]Definition, len(catalogue))}
	for _, d := range catalogue {
		if strings.HasSuffix(d.Key, ".*") {
			x.families = append(x.families, d)
			continue
		}
		x.exact[d.Key] = d
	}
	return x
})

// Lookup finds the definition of a key: by itself, by the family that it belongs to, or, for the place under test, by
// the key of any disk ("disk.under-test.2.queue.scheduler" is a "disk.queue.scheduler").
func (x Index) Lookup(key string) (Definition, bool) {
	if before, after, ok := strings.Cut(key, UnderTestRole); ok {
		key = before + "." + strings.TrimLeft(after, ".0123456789")
	}
	if d, ok := x.exact[key]; ok {
		return d, true
	}
	for _, d := range x.families {
		if strings.HasPrefix(key, strings.TrimSuffix(d.Key, "*")) {
			return d, true
		}
	}
	return Definition{}, false
}

// Secret says whether a fact's whole value names something, as the catalogue marks it.
func (x Index) Secret(key string) bool {
	d, _ := x.Lookup(key)
	switch d.Mark {
	case Identity, Address, Name:
		return true
	}
	// A target of the device mapper and other parts of the place under test are one family.
	last := key[strings.LastIndexByte(key, '.')+1:]
	return last == "serial" || last == "wwid" || last == "uuid" || last == "mac"
}
