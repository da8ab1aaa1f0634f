package ceiling

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestPlateauAtAUsualLink(t *testing.T) {
	cell := func(name, rw string, value float64) Point {
		return Point{Cell: name, Value: value, Varies: map[string]string{"rw": rw}}
	}
	const mib = 1 << 20
	for name, c := range map[string]struct {
		points []Point
		says   string // empty for no plateau
	}{
		"random and sequential writes through one gigabit": {
			[]Point{cell("a", "randwrite", 111.5*mib), cell("b", "write", 112.5*mib)},
			"Writes stop at 118 MB/s in 2 of 2 cells, whatever rw; that is what 1 Gbit/s Ethernet carries: if"},
		"two that are both sequential": {[]Point{cell("a", "write", 117e6), cell("b", "read", 117e6)}, ""},
		"at no link's rate":            {[]Point{cell("a", "randwrite", 200e6), cell("b", "write", 200e6)}, ""},
		"far apart":                    {[]Point{cell("a", "randwrite", 40e6), cell("b", "write", 117e6)}, ""},
		"three at no link's rate": {
			[]Point{cell("a", "randwrite", 200e6), cell("b", "write", 200e6), cell("c", "rw", 200e6)},
			"no ceiling is known that could be the reason."},
		"jumbo frames": {[]Point{cell("a", "randwrite", 1.237e9), cell("b", "write", 1.22e9)}, "10 Gbit/s Ethernet"},
		"a SATA drive": {[]Point{cell("a", "randwrite", 545e6), cell("b", "write", 550e6)}, "SATA at 6 Gbit/s carries"},
		"either": {[]Point{cell("a", "randwrite", 285e6), cell("b", "write", 285e6)},
			"2.5 Gbit/s Ethernet or SATA at 3 Gbit/s"},
		"what a cloud allows": {[]Point{cell("a", "randwrite", 125*mib), cell("b", "write", 125*mib)}, ""},
	} {
		p, ok := FindPlateau(lab.Bandwidth(lab.Write), c.points)
		if ok != (c.says != "") || ok && !strings.Contains(p.String(), c.says) {
			t.Errorf("%s: %v, %s", name, ok, p)
		}
	}
	iops := []Point{cell("a", "randwrite", 117e6), cell("b", "write", 117e6), cell("c", "rw", 117e6)}
	if p, ok := FindPlateau(lab.IOPS(lab.Write), iops); !ok || strings.Contains(p.String(), "Ethernet") {
		t.Errorf("operations are no bytes: %v, %s", ok, p)
	}
}
