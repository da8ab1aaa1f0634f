package experiment

import (
	"fmt"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// Cost is the cost of measurements: the time of their loads, 0 if unknown, and what they write if they touch storage.
type Cost struct {
	Time    time.Duration
	Writes  suite.Writes
	Storage bool
	// Profiles describes the loads that are also profiled; empty for none.
	Profiles string
}

// CostOf is what measurements take together, each carried out so many times.
func CostOf(times int, all ...*Measurement) Cost {
	var c Cost
	for _, m := range all {
		w := m.Workload()
		c.Time += time.Duration(times) * w.Time()
		if m.Place().Kind != lab.NoPlace {
			c.Storage, c.Writes = true, c.Writes.And(w.Writes(w.SuiteCells()).Times(times))
		}
	}
	return c
}

// Text adds it to what is measured, with the words in which the time is said: "3 cells; about 2m; writes 1.33 GB". Most
// is set where less may be written.
func (c Cost) Text(what, about string, most bool) string {
	if c.Profiles != "" {
		what += "; " + c.Profiles
	}
	if c.Time > 0 {
		what += "; " + fmt.Sprintf(about, unit.Duration(c.Time))
	}
	if c.Storage {
		what += "; writes " + WrittenText(c.Writes, most)
	}
	return what
}
