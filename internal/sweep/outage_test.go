package sweep

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// A level at which a load failed or measured 0 has no figure, is not recommended for all loads, and is named.
func TestOutagesOfLevels(t *testing.T) {
	type change func(m *Measured)
	always := func(v map[string]float64) change { return func(m *Measured) { m.Values = v } }
	inBlock := func(block int, v map[string]float64) change {
		return func(m *Measured) {
			if m.Block == block {
				m.Values = v
			}
		}
	}
	zero := map[string]float64{"read.iops": 0}
	for _, c := range []struct {
		name    string
		level   int // at which the load changes
		change  change
		want    []Outage
		missing bool // its figure
	}{
		{"none", 2, func(*Measured) {}, nil, false},
		{"measured 0", 2, always(zero), []Outage{{"4", lab.Outage{Metric: "read.iops", Zero: 6, N: 6}}}, true},
		{"measured 0 once", 2, inBlock(3, zero), []Outage{{"4", lab.Outage{Metric: "read.iops", Zero: 1, N: 6}}}, true},
		{"failed", 2, always(nil), []Outage{{"4", lab.Outage{Failed: 6, N: 6}}}, true},
		{"failed once", 2, inBlock(3, nil), nil, false},
		{"the baseline failed", 0, always(nil), []Outage{{"1", lab.Outage{Failed: 6, N: 6}}}, true},
		{"the reference failed", 3, always(nil), []Outage{{"host", lab.Outage{Failed: 6, N: 6}}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 5))
			in := Input{Factor: "guest:iothreads", Levels: threads("1", "2", "4"), Reference: &Arm{Name: "host"},
				Cells: []CellInput{cellOf("reads"), cellOf("others")}}
			for block := 1; block <= 6; block++ {
				for level, rate := range []float64{1000, 1200, 1500, 1600} {
					for _, cell := range []string{"reads", "others"} {
						m := Measured{Level: level, Cell: cell, Block: block, Values: map[string]float64{
							"read.iops": rate * math.Exp(0.01*r.NormFloat64())}}
						if cell == "reads" && level == c.level {
							c.change(&m)
						}
						in.Measured = append(in.Measured, m)
					}
				}
			}
			d := Analyze(in)
			if len(d.Outages) != len(c.want) {
				t.Fatalf("outages %+v", d.Outages)
			}
			for i, want := range c.want {
				want.Cell, want.Title = "reads", "reads"
				if d.Outages[i] != want {
					t.Errorf("outage %+v, want %+v", d.Outages[i], want)
				}
			}
			if len(d.Cells) != 2 || d.Cells[0].Cell != "reads" || d.Blocks != 6 {
				t.Fatalf("%d blocks, cells %+v", d.Blocks, d.Cells)
			}
			if at := min(c.level, 2); (d.Cells[0].Levels[at].Value == nil) != c.missing {
				t.Errorf("at %s %+v", d.Cells[0].Levels[at].Level, d.Cells[0].Levels[at])
			}
			if c.missing && d.Recommended != nil && d.Recommended.Level == d.Levels[c.level].Name {
				t.Errorf("%s is recommended", d.Recommended.Level)
			}
		})
	}
}

// A load that sets its own pace is followed by its latency, and has none where it does nothing. One that failed at
// every level is named, too.
func TestOutagesWithoutFigures(t *testing.T) {
	paced := cellOf("paced", "rate_iops", "1000")
	in := Input{Factor: "guest:iothreads", Levels: threads("1", "2"), Cells: []CellInput{paced, cellOf("broken")}}
	for block := 1; block <= 4; block++ {
		in.Measured = append(in.Measured,
			Measured{Level: 0, Cell: "paced", Block: block, Values: map[string]float64{"read.iops": 1000,
				lab.Latency(lab.Read, "mean"): 1e-3}},
			Measured{Level: 1, Cell: "paced", Block: block, Values: map[string]float64{"read.iops": 0}},
			Measured{Level: 0, Cell: "broken", Block: block}, Measured{Level: 1, Cell: "broken", Block: block})
	}
	d := Analyze(in)
	want := []Outage{{"2", lab.Outage{Cell: "paced", Title: "paced", Metric: "read.latency.mean", Zero: 4, N: 4}},
		{"1", lab.Outage{Cell: "broken", Title: "broken", Failed: 4, N: 4}},
		{"2", lab.Outage{Cell: "broken", Title: "broken", Failed: 4, N: 4}}}
	if len(d.Outages) != len(want) || len(d.Cells) != 0 {
		t.Fatalf("outages %+v, cells %+v", d.Outages, d.Cells)
	}
	for i := range want {
		if d.Outages[i] != want[i] {
			t.Errorf("outage %+v, want %+v", d.Outages[i], want[i])
		}
	}
}
