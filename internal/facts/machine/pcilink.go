package machine

import (
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// PCILinks are the speed and the width of a function's link, now and at most.
func PCILinks(r collect.Reader, role, dir string) []lab.Fact {
	sleeps := sleeping(r, dir)
	var facts []lab.Fact
	for _, l := range [][2]string{{"speed", "current_link_speed"}, {"width", "current_link_width"},
		{"max_speed", "max_link_speed"}, {"max_width", "max_link_width"}} {
		key, file := role+".link."+l[0], dir+"/"+l[1]
		if sleeps {
			facts = append(facts, collect.Unknown(key, file, asleep))
		} else {
			facts = append(facts, pciLink(r, key, file))
		}
	}
	return facts
}

// pciLink is a speed or a width of a PCI Express link. A function inside a processor or a chipset has none: the kernel
// then prints "Unknown" or a width of 0 or 255. One that has lost its power answers with all bits set, a width of 63.
func pciLink(r collect.Reader, key, file string) lab.Fact {
	f := r.Fact(key, file)
	if f.Value == "63" {
		return collect.Unknown(key, file, "the device does not answer: all bits are set")
	}
	if f.Value == "Unknown" || f.Value == "Unknown speed" || f.Value == "0" || f.Value == "255" {
		return collect.Unknown(key, file, "the function has no link of its own")
	}
	return f
}
