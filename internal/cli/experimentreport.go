package cli

import (
	"context"
	"io"

	"headroom/internal/app"
	"headroom/internal/experiment/vary"
	"headroom/internal/lab"
	"headroom/internal/report"
	"headroom/internal/results"
	"headroom/internal/store"
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

func (p *program) showExperiment(b *store.Bundle, o vary.Options) error {
	return writeExperimentTo(p, o, func(format string, w io.Writer, options report.Options) error {
		return results.WriteExperiment(p.App, b, format, w, options)
	})
}

// writeExperimentTo prints a result, and then writes it into a file where one is named: after hours the answer is there
// even where the file can't be written.
func writeExperimentTo(p *program, o vary.Options,
	write func(format string, w io.Writer, o report.Options) error) error {
	file, printed, err := o.Result.Formats(p.JSON)
	if err != nil {
		return err
	}
	scores, err := o.PublishedScores()
	if err != nil {
		return err
	}
	for _, to := range []struct{ output, format string }{{"", printed}, {o.Result.Output, file}} {
		if to.format == "" {
			continue // no file
		}
		err := writeAtomically(p, to.output, func(w io.Writer) error {
			options, err := results.ReportOptions(p.App, w, report.Options{RawCells: o.RawCells, Scores: scores})
			if err != nil {
				return err
			}
			return write(to.format, w, options)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *program) findExperiment(ref, kind string) (*store.Bundle, error) {
	s, err := p.OpenStore()
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
