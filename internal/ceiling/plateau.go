package ceiling

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

const (
	// level is how close to the best a cell must be to belong to its plateau: the difference between repeated runs of
	// one load on a quiet machine.
	level = 0.05
	// minLevel cells make a plateau: two can agree by chance, unless they are alike at the rate of a link.
	minLevel = 3
	// near is how far from a plateau a ceiling can be and still be named as its reason.
	near = 0.10
)

// Point is the result of one cell in one metric.
type Point struct {
	Cell  string
	Value float64
	// Varies has the settings that can differ between cells: iodepth, numjobs, bs, target, levels of factors.
	Varies   map[string]string
	Ceilings []Ceiling
}

// Plateau is several cells that agree at the top although their loads differ: the limit is not the load.
type Plateau struct {
	Metric string
	// Value is the highest of its cells.
	Value float64
	Cells []string
	// Of is the number of cells that were examined.
	Of int
	// Whatever are the settings that differ between its cells.
	Whatever []string
	// Nearest ceiling, of the whole or of a part; Known is false if there is none. Reached is set if it is close enough
	// to be the reason.
	Nearest Ceiling
	Known   bool
	Reached bool
}

// FindPlateau finds the plateau of a metric; false if there is none.
func FindPlateau(metric string, points []Point) (Plateau, bool) {
	p := Plateau{Metric: metric, Of: len(points)}
	for _, x := range points {
		p.Value = max(p.Value, x.Value)
	}
	seen := map[string]map[string]bool{}
	nearest := math.Inf(1)
	for _, x := range points {
		if !(x.Value > 0) || x.Value < p.Value*(1-level) {
			continue
		}
		p.Cells = append(p.Cells, x.Cell)
		for key, v := range x.Varies {
			if seen[key] == nil {
				seen[key] = map[string]bool{}
			}
			seen[key][v] = true
		}
		for _, c := range x.Ceilings {
			if away := math.Abs(math.Log(p.Value / c.Value)); c.Metric == metric && c.Value > 0 && away < nearest {
				p.Nearest, p.Known, nearest = c, true, away
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(seen)) {
		if len(seen[key]) > 1 {
			p.Whatever = append(p.Whatever, key)
		}
	}
	p.Reached = p.Known && p.Value >= p.Nearest.Value*(1-near) && p.Value <= p.Nearest.Value*(1+near)
	return p, (len(p.Cells) >= minLevel || p.alike(seen["rw"])) && len(p.Whatever) > 0
}

// String describes it in a sentence.
func (p Plateau) String() string {
	direction, _, _ := strings.Cut(p.Metric, ".")
	text := fmt.Sprintf("%ss stop at %s in %d of %d cells, whatever %s", direction, amount(p.Metric, p.Value),
		len(p.Cells), p.Of,
		strings.Join(p.Whatever, " and "))
	text = strings.ToUpper(text[:1]) + text[1:]
	switch {
	case !p.Known:
		return text + cmp.Or(p.reason(), "; no ceiling is known that could be the reason") + "."
	case p.Reached:
		what := p.Nearest.Limiter
		if p.Nearest.Part != "" {
			what += " (" + p.Nearest.Part + ")"
		}
		return text + ": " + unit.Percent(p.Value/p.Nearest.Value) + " of the " + amount(p.Metric, p.Nearest.Value) +
			" of " + what + "."
	default:
		return fmt.Sprintf("%s; the nearest known ceiling is %s of %s, so that something else decides%s.", text,
			amount(p.Metric, p.Nearest.Value), p.Nearest.Limiter, p.reason())
	}
}

// Metrics returns the metrics in which plateaus are searched for.
func Metrics() []string {
	var all []string
	for _, d := range directions() {
		all = append(all, lab.Bandwidth(d), lab.IOPS(d))
	}
	return all
}

const (
	// belowLink is how far below the link's rate a load at its limit can be: 111 to 118 MB/s over 1 Gbit/s.
	belowLink = 0.06
	// belowDiskLink is the same for SATA, whose handshakes are not counted: SSDs reach 530 to 560 MB/s.
	belowDiskLink = 0.11
	jumbo         = 9000
)

// usualLinks returns the names of links with a rate of about value B/s; empty for none. It is for results without a
// known link.
func usualLinks(value float64) string {
	var found []string
	for _, gigabits := range []float64{1, 2.5, 10, 25} {
		least, _, _ := Ethernet(gigabits*1e9, commonMTU)
		_, most, _ := Ethernet(gigabits*1e9, jumbo)
		if value >= least*(1-belowLink) && value <= most {
			found = append(found, bitRate(gigabits*1e9)+" Ethernet")
		}
	}
	for _, gigabits := range []float64{3, 6} {
		least, _, _ := DiskLink{Gigabits: gigabits}.Rate()
		if value >= least*(1-belowDiskLink) && value <= least {
			found = append(found, "SATA at "+bitRate(gigabits*1e9))
		}
	}
	return strings.Join(found, " or ")
}

// reason returns a possible cause of a plateau without a known ceiling.
func (p Plateau) reason() string {
	if link := p.usual(); link != "" {
		return "; that is what " + link + " carries: if the data goes over such a link, it is the reason"
	}
	return ""
}

func (p Plateau) usual() string {
	if !strings.HasSuffix(p.Metric, ".bandwidth") {
		return ""
	}
	return usualLinks(p.Value)
}

// alike reports whether random and sequential I/O run at the rate of a link, which is unusual for drives: two cells are
// enough then.
func (p Plateau) alike(patterns map[string]bool) bool {
	random, sequential := false, false
	for rw := range patterns {
		random = random || strings.HasPrefix(rw, "rand")
		sequential = sequential || !strings.HasPrefix(rw, "rand")
	}
	return random && sequential && len(p.Cells) == 2 && p.usual() != ""
}
