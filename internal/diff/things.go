package diff

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

// thing is one disk, NIC or other device, with its facts by key.
type thing struct {
	about string
	facts map[string]lab.Fact
	taken bool
}

const underTest = ".under-test"

// thingOf returns the thing that a fact is about. Facts of a run's own place have the thing in the key:
// "disk.under-test.2.queue.scheduler" is disk.queue.scheduler of "under-test.2".
func thingOf(f lab.Fact) (class, about, key string) {
	class = catalogue.ClassOf(f.Key)
	if class == "" {
		return "", "", f.Key
	}
	if f.About != "" {
		return class, f.About, f.Key
	}
	before, after, ok := strings.Cut(f.Key, underTest)
	if !ok || before != class {
		return "", "", f.Key
	}
	rest := strings.TrimLeft(after, ".0123456789")
	about = strings.Trim(strings.TrimPrefix(underTest, ".")+strings.TrimSuffix(after, rest), ".")
	return class + underTest, about, class + "." + rest
}

// unpairedWeight returns the weight of a thing that only one side has.
func unpairedWeight(class string) float64 {
	switch class {
	case "disk", "volume", "nic", "port", "drive", "multipath", "iscsi":
		return 0.05
	case "mount", "node", "guest":
		return 0.02
	}
	return 0.004
}

// things pairs the things of each class, and compares the pairs.
func (c *comparison) things() {
	classes := slices.Sorted(maps.Keys(c.a.things))
	classes = append(classes, slices.Sorted(maps.Keys(c.b.things))...)
	slices.Sort(classes)
	grouped := map[string]*candidate{}
	for _, class := range slices.Compact(classes) {
		if class == "busy" {
			continue // processes, which have no counterparts
		}
		thingsA, thingsB := c.a.things[class], c.b.things[class]
		if len(thingsA) == 0 || len(thingsB) == 0 {
			empty := c.a
			if len(thingsA) > 0 {
				empty = c.b
			}
			why := empty.late()
			if why == "" && !c.hasClass(class) {
				why = "no such thing was seen there, or it was not looked for"
			}
			if why != "" {
				c.incomparable(class, "", len(thingsA) == 0, len(thingsB) == 0, why)
				continue
			}
		}
		for _, p := range pair(thingsA, thingsB) {
			if p.a == nil || p.b == nil {
				c.unpaired(class, p)
				continue
			}
			c.compareThing(grouped, p)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(grouped)) {
		d := grouped[key]
		c.addCandidate(d)
		d.order = key
	}
}

// hasClass reports whether both sides looked for things of any class. If so, a side without things of one class is
// known to have none.
func (c *comparison) hasClass(class string) bool {
	return len(c.a.things) > 0 && len(c.b.things) > 0 && !strings.HasSuffix(class, underTest)
}

func (c *comparison) unpaired(class string, p pairing) {
	d := Difference{Kind: "thing", Fact: class, Weight: unpairedWeight(class), Why: "the other side has no counterpart"}
	if p.b == nil {
		d.Name, d.A, d.About = class+" "+p.a.about, p.a.describe(class), []Pair{{A: p.a.about}}
	} else {
		d.Name, d.B, d.About = class+" "+p.b.about, p.b.describe(class), []Pair{{B: p.b.about}}
	}
	c.counts.Facts++
	f := &candidate{Difference: d, entry: &entry{Why: d.Why, Area: "hardware"}}
	c.addCandidate(f)
	f.order = class + "\x00" + d.About[0].A + "\x00" + d.About[0].B
}

// describe returns the thing's name with its model.
func (t *thing) describe(class string) string {
	for _, key := range modelKeys(class) {
		if f := t.facts[key]; f.Value != "" {
			return t.about + " (" + f.Value + ")"
		}
	}
	return t.about
}

func (c *comparison) compareThing(grouped map[string]*candidate, p pairing) {
	keys := slices.Collect(maps.Keys(p.a.facts))
	for key := range p.b.facts {
		if _, both := p.a.facts[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if !c.catalogue.comparable(key) {
			continue
		}
		e := c.lookup(factKind, key)
		a, inA := p.a.facts[key]
		b, inB := p.b.facts[key]
		if e.Weight == 0 || c.missing(key, cmp.Or(p.a.about, p.b.about), a, inA, b, inB) {
			continue
		}
		valueA, valueB := c.catalogue.values(key, a.Value, b.Value)
		if valueA == valueB {
			continue
		}
		c.counts.Facts++
		id := key + "\x00" + valueA + "\x00" + valueB
		d := grouped[id]
		if d == nil {
			d = &candidate{Difference: Difference{Kind: factKind, Fact: key, Name: key, A: valueA, B: valueB}, entry: e}
			d.Weight, d.Slower = e.weigh(valueA, valueB)
			grouped[id] = d
		}
		d.About = append(d.About, Pair{p.a.about, p.b.about})
	}
}

// pairing is a thing of each side; one is nil if there is no counterpart.
type pairing struct{ a, b *thing }

// pair matches the things of a and b: first by serial number or another identity (and also by name, where things share
// an identity), then by place (PCI address), then in order among the same model, then by name, then in order. So hosts
// whose kernels named their devices in another order can be compared.
func pair(a, b []*thing) []pairing {
	var pairs []pairing
	for _, keysOf := range [](func(*thing) []string){named, identities, places, models, names, anything} {
		waiting := map[string][]*thing{}
		for _, t := range b {
			if !t.taken {
				for _, k := range keysOf(t) {
					waiting[k] = append(waiting[k], t)
				}
			}
		}
		for _, t := range a {
			if t.taken {
				continue
			}
			if other := next(waiting, keysOf(t)); other != nil {
				t.taken, other.taken = true, true
				pairs = append(pairs, pairing{t, other})
			}
		}
	}
	for _, t := range a {
		if !t.taken {
			pairs = append(pairs, pairing{a: t})
		}
		t.taken = false
	}
	for _, t := range b {
		if !t.taken {
			pairs = append(pairs, pairing{b: t})
		}
		t.taken = false
	}
	return pairs
}

// next takes the first unmatched thing from the lists of some keys. Each list is shortened as it is read, so that
// thousands of disks of one model don't take quadratic time.
func next(waiting map[string][]*thing, keys []string) *thing {
	for _, k := range keys {
		list := waiting[k]
		for len(list) > 0 && list[0].taken {
			list = list[1:]
		}
		waiting[k] = list
		if len(list) > 0 {
			return list[0]
		}
	}
	return nil
}

func (t *thing) has(keys ...string) []string {
	var found []string
	for _, k := range keys {
		if f, ok := t.facts[k]; ok && f.Unknown == "" && f.Value != "" && f.Value != "none" {
			found = append(found, k+"="+f.Value)
		}
	}
	return found
}

// identities returns unique numbers of a thing. Some things share one: a bridge and its port have one address, and the
// paths to a multipath disk have its number.
func identities(t *thing) []string {
	if kind := t.has("nic.kind"); len(kind) > 0 {
		if mac := t.has("nic.mac"); len(mac) > 0 {
			return []string{mac[0] + " " + kind[0]}
		}
		return nil
	}
	return t.has("disk.wwid", "disk.serial", "nic.mac", "port.guid")
}

// named returns the identities together with the name, for things that share an identity.
func named(t *thing) []string {
	found := identities(t)
	for i := range found {
		found[i] += " " + t.about
	}
	return found
}

// places returns where a thing is plugged in, with its model: another model in the same slot is another thing.
func places(t *thing) []string {
	at := t.has("disk.pci.address", "nic.pci.address", "port.pci.address")
	if len(at) == 0 {
		return nil
	}
	return []string{strings.Join(append(at, models(t)...), " ") + " " + t.about}
}

// modelKeys returns the facts that describe the kind of a thing of a class.
func modelKeys(class string) []string {
	switch strings.TrimSuffix(class, underTest) {
	case "disk":
		return []string{"disk.model"}
	case "nic":
		return []string{"nic.driver"}
	case "port":
		return []string{"port.adapter"}
	case "pci":
		return []string{"pci.id"}
	case "volume":
		return []string{"volume.name"}
	}
	return nil
}

func models(t *thing) []string {
	return slices.Concat(
		together(t.has("disk.model", "disk.size")), together(t.has("nic.driver", "nic.speed.supported", "nic.kind")),
		together(t.has("port.adapter")), together(t.has("pci.id")), together(t.has("volume.name")),
		together(t.has("dimm.size", "dimm.type")))
}

func together(values []string) []string {
	if len(values) == 0 {
		return nil
	}
	return []string{strings.Join(values, " ")}
}

func names(t *thing) []string { return []string{t.about} }

// anything pairs the remaining things in order, for classes in which the model means little. A mount, a guest or a
// volume is identified by its name, so those are never paired this way.
func anything(t *thing) []string {
	for key := range t.facts {
		switch catalogue.ClassOf(key) {
		case "disk", "nic", "port", "node":
			return []string{catalogue.ClassOf(key)}
		}
		return nil
	}
	return nil
}
