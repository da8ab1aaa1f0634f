package serve

import (
	"time"

	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/visible"
)

// progressPart says how far a run has come. Share of the time that has passed, of 1; 0 where nobody knows.
type progressPart struct {
	Count, Doing, Elapsed, Left string
	Share                       float64
	At                          time.Time
}

// progressOf is nil of a run that does not go on, or does not say how far it is.
func progressOf(b *store.Bundle) *progressPart {
	p, ok := b.Whole().Progress()
	if !ok {
		return nil
	}
	now := time.Now()
	elapsed, left := p.Elapsed+max(0, now.Sub(p.At).Seconds()), p.LeftAt(now)
	part := &progressPart{Count: visible.Line(p.Count), Doing: visible.Line(summary.HiddenIn(b.Whole().Run)(p.Doing)),
		Elapsed: unit.Duration(unit.SecondsToDuration(elapsed).Round(time.Second)),
		Left:    results.LeftText(p, now), At: now}
	if p.Left > 0 && elapsed > 0 {
		part.Share = elapsed / (elapsed + left)
	}
	return part
}
