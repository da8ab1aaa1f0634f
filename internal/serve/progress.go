package serve

import (
	"time"

	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// progressPart is the progress of a run. Share of the time that has passed, of 1; 0 if that is not known.
type progressPart struct {
	Count, Doing, Elapsed, Left string
	Share                       float64
	At                          time.Time
}

// progressOf returns nil of a run that has ended, or that does not write its progress.
func progressOf(b *store.Bundle) *progressPart {
	p, ok := b.Whole().Progress()
	if !ok {
		return nil
	}
	now := time.Now()
	elapsed, left := p.Elapsed+max(0, now.Sub(p.At).Seconds()), p.LeftAt(now)
	part := &progressPart{Count: prose.Inline(p.Count), Doing: prose.Inline(summary.HiddenIn(b.Whole().Run)(p.Doing)),
		Elapsed: unit.Duration(unit.SecondsToDuration(elapsed).Round(time.Second)),
		Left:    results.LeftText(p, now), At: now}
	if p.Left > 0 && elapsed > 0 {
		part.Share = elapsed / (elapsed + left)
	}
	return part
}
