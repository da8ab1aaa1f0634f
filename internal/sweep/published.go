package sweep

import (
	"math"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// Published holds published figures of merit next to the figures of the same loads here. The machines differ, so only
// the shape of a factor's effect can agree, not a speed.
type Published struct {
	Source string `json:"source"`
	// Factor is the factor that the source varies. Share is the share of the best result that counts as enough there.
	Factor string          `json:"factor"`
	Share  float64         `json:"share"`
	Loads  []PublishedLoad `json:"loads"`
	// Missing is how many of the source's loads were not measured here.
	Missing int `json:"missing"`
}

// PublishedLoad is a load that the source also has.
type PublishedLoad struct {
	Cell  string `json:"cell"`
	Title string `json:"title"`
	// Gain is the published gain of the best level over the baseline, as a share. Measured is the gain here, of the
	// level with the best mean.
	Gain     float64 `json:"gain"`
	Measured *Ratio  `json:"here,omitempty"`
	// Bounds bound the gain here as ratios, whichever level is really the best. They are absent if a level has no
	// interval.
	stat.Bounds
	// Agrees is the position of the published gain: within these bounds, above or below; empty without bounds.
	Agrees string `json:"agrees,omitempty"`
	// Smallest is the smallest level that is enough there, and SmallestMeasured here. Between bounds the latter.
	Smallest         string  `json:"smallest"`
	SmallestMeasured string  `json:"smallest_here"`
	Between          Between `json:"between"`
}

// AddPublished adds a source's published results for the loads of the document. Loads are the same if operation, block
// size, queue depth and number of jobs agree.
func (d *Document) AddPublished(m reference.Scores) {
	p := &Published{Source: m.Source, Factor: m.Factor, Share: m.Share, Loads: []PublishedLoad{}}
	for _, row := range m.Rows {
		if row.Params[operation] == reference.TotalOf {
			continue
		}
		found := false
		for i := range d.Cells {
			c := &d.Cells[i]
			if !sameLoad(c.Params, row.Params) || c.Gain == nil {
				continue
			}
			found = true
			one := PublishedLoad{Cell: c.Cell, Title: c.Title, Gain: row.Gain, Measured: c.Gain, Smallest: row.Smallest,
				SmallestMeasured: c.SmallestForShare, Between: c.SmallestBetween,
				Bounds: c.gainOfAny(d.Baseline)}
			if one.Known() {
				switch v := 1 + row.Gain; { // printed figures are rounded to whole per cent
				case v > *one.Hi+0.005:
					one.Agrees = "above"
				case v < *one.Lo-0.005:
					one.Agrees = "below"
				default:
					one.Agrees = "within"
				}
			}
			p.Loads = append(p.Loads, one)
		}
		if !found {
			p.Missing++
		}
	}
	d.Published = p
}

// gainOfAny bounds the gain of the level that is really the best, which may be the baseline: at least the largest lower
// bound of any level, at most the largest upper bound.
func (c *Cell) gainOfAny(baseline string) stat.Bounds {
	lo, hi := 1.0, 1.0
	for _, p := range c.Levels {
		switch r := p.ToBaseline; {
		case p.Level == baseline || p.Value == nil:
		case r == nil || !r.Known():
			return stat.Bounds{}
		case c.Better == lab.Lower:
			lo, hi = max(lo, 1 / *r.Hi), max(hi, 1 / *r.Lo)
		default:
			lo, hi = max(lo, *r.Lo), max(hi, *r.Hi)
		}
	}
	return stat.BoundsOf(lo, hi)
}

// sameLoad compares the parameters that the source's tables distinguish. One job and a depth of one are fio's defaults.
func sameLoad(here, there map[string]string) bool {
	number := func(params map[string]string, name string) float64 {
		text, ok := params[name]
		if !ok || text == "" {
			return 1
		}
		v, err := unit.ParseBytes(text)
		if err != nil {
			return math.NaN()
		}
		return float64(v)
	}
	for name := range there {
		switch name {
		case operation:
			if here[name] != there[name] {
				return false
			}
		default:
			if number(here, name) != number(there, name) {
				return false
			}
		}
	}
	return true
}
