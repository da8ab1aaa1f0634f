package sweep

import (
	"math"

	"headroom/internal/reference"
	"headroom/internal/unit"
)

// Published are figures of merit that somebody published, beside those of the same loads here. They are of another machine: what agrees is how a
// factor works, not how fast anything is.
type Published struct {
	Source string `json:"source"`
	// Factor that the source varies, and the share of the best that is enough there.
	Factor string          `json:"factor"`
	Share  float64         `json:"share"`
	Loads  []PublishedLoad `json:"loads"`
	// Missing is how many of the source's loads were not measured here.
	Missing int `json:"missing"`
}

// PublishedLoad is a load that the source has, too.
type PublishedLoad struct {
	Cell  string `json:"cell"`
	Title string `json:"title"`
	// Gain of the best level over the baseline there, as a share, and Here, with its interval.
	Gain float64 `json:"gain"`
	Here *Ratio  `json:"here,omitempty"`
	// Agrees says how the gain there lies to that here: within its interval, above or below it; empty where there is no interval.
	Agrees string `json:"agrees,omitempty"`
	// Smallest level that is enough there and here, and the levels here between which it surely lies.
	Smallest     string  `json:"smallest"`
	SmallestHere string  `json:"smallest_here"`
	Between      Between `json:"between"`
}

// Beside adds what a source published of the loads of the document. Loads are the same where they do the same in blocks of the same size, as deep,
// in as many jobs.
func (d *Document) Beside(m reference.Merits) {
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
			one := PublishedLoad{Cell: c.Cell, Title: c.Title, Gain: row.Gain, Here: c.Gain, Smallest: row.Smallest, SmallestHere: c.SmallestForShare, Between: c.SmallestBetween}
			if c.Gain.Known() {
				switch v := 1 + row.Gain; { // what is printed is rounded to whole per cent
				case v > *c.Gain.Hi+0.005:
					one.Agrees = "above"
				case v < *c.Gain.Lo-0.005:
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

// sameLoad compares what the source's tables tell apart; one job and a depth of one are fio's defaults.
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
