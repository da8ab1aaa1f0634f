package cli

import (
	"context"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment/vary"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
)

// reportExperiment shows a saved experiment of a kind. It ends at once when it is interrupted: all that was changed is
// put back by now.
func (p *program) reportExperiment(ctx context.Context, ref, kind string, o vary.Options) error {
	return p.interruptible(ctx, func() error {
		b, err := p.findExperiment(ref, kind)
		if err != nil {
			return err
		}
		return p.showExperiment(b, o)
	})
}

func (p *program) showExperiment(b *store.Bundle, o vary.Options) (err error) {
	s, err := p.App.OpenStore()
	if err != nil {
		return err
	}
	if o.Result.Report.Scores, err = o.PublishedScores(); err != nil {
		return err
	}
	return results.ShowRun(p.App, s, b, o.Result)
}

func (p *program) findExperiment(ref, kind string) (*store.Bundle, error) {
	s, err := p.App.OpenStore()
	if err != nil {
		return nil, err
	}
	b, err := s.Find(ref)
	if err == nil && (b.Run.Experiment == nil || b.Run.Experiment.Kind != kind) {
		return nil, app.Usage("run "+s.ShortID(b.Run.ID)+" is no "+lab.Experiment{Kind: kind}.Noun(),
			"headroom show "+s.ShortID(b.Run.ID)+" shows it")
	}
	return b, err
}
