package progress

import (
	"time"

	"github.com/headroom/headroom/internal/runner"
)

// profiling adds the time of profiled loads to what another source knows.
type profiling struct {
	Source
	// later is what those take that have not begun.
	later time.Duration
}

// WithProfiles has a source know of profiled loads, which take so long altogether.
func WithProfiles(s Source, all time.Duration) Source {
	if all == 0 {
		return s
	}
	return &profiling{s, all}
}

func (p *profiling) Update(e runner.Progress) {
	if e.Profiling {
		p.later -= e.Left
	}
	p.Source.Update(e)
}

func (p *profiling) Left(e runner.Progress) (time.Duration, bool) {
	left, known := p.Source.Left(e)
	return left + max(0, p.later), known
}
