package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"headroom/internal/ablation"
	"headroom/internal/bisection"
	"headroom/internal/lab"
	"headroom/internal/reference"
	"headroom/internal/report"
	"headroom/internal/store"
	"headroom/internal/sweep"
)

// reportExperiment shows a saved experiment of a kind. It ends at once when it is interrupted: all that was changed is
// put back by now.
func (p *program) reportExperiment(ctx context.Context, ref, kind string, o experimentOptions) error {
	return p.interruptible(ctx, func() error {
		b, err := p.findExperiment(ref, kind)
		if err != nil {
			return err
		}
		return p.showExperiment(b, o)
	})
}

func (p *program) showExperiment(b *store.Bundle, o experimentOptions) error {
	if measured := o.show == ""; measured && !ownOutput(o.output) && !p.json {
		onTerminal := o
		onTerminal.output = "" // after hours the answer is there even where the file can't be written
		if err := p.showExperiment(b, onTerminal); err != nil {
			return err
		}
	}
	format, err := o.format(p.json)
	if err != nil {
		return err
	}
	return writeExperimentTo(p, o, func(w io.Writer, options report.Options) error {
		return writeExperiment(p, b, format, w, options)
	})
}

// writeExperimentTo writes to the output that was asked for, with the options that go with it.
func writeExperimentTo(p *program, o experimentOptions, write func(io.Writer, report.Options) error) error {
	scores, err := o.publishedScores()
	if err != nil {
		return err
	}
	return writeAtomically(p, o.output, func(w io.Writer) error {
		options, err := reportOptions(p, w, report.Options{RawCells: o.rawCells, Scores: scores})
		if err != nil {
			return err
		}
		return write(w, options)
	})
}

// publishedScores are the published figures of merit that were asked for; nil for none.
func (o *experimentOptions) publishedScores() (*reference.Scores, error) {
	if o.published == "" {
		return nil, nil
	}
	m, err := readPublished(o.published, reference.BuiltInScores, reference.ParseScores)
	return &m, err
}

// writeExperiment writes what a run with several arms was made for: its JSON, or one of the formats that experiments
// have.
func writeExperiment(p *program, b *store.Bundle, format string, w io.Writer, o report.Options) error {
	if format == "table" {
		w = p.naming.writer(w)
	}
	write := writeAblation
	switch b.Run.Experiment.Kind {
	case sweepKind:
		write = writeSweep
	case bisectKind:
		write = writeBisection
	}
	if err := write(b, format, w, o); err != nil || format != "table" {
		return err
	}
	id := o.ShortID(b.Run.ID)
	if b.Run.Status == lab.Interrupted {
		fmt.Fprintln(w, "go on: "+b.Run.MadeBy().Resume(id))
	}
	_, err := fmt.Fprintln(w, "each load in each arm: headroom show "+id+" --cells")
	return err
}

// redactedRun is a run as reports may tell of it: without serial numbers, unless they were asked for.
func redactedRun(b *store.Bundle, o report.Options) (lab.Run, iter.Seq2[lab.Repetition, error]) {
	if o.Serials {
		return b.Run, b.Repetitions()
	}
	return report.Redacted(b.Run, b.Repetitions())
}

func writeSweep(b *store.Bundle, format string, w io.Writer, o report.Options) error {
	byArm, err := factsByArm(b)
	if err != nil {
		return err
	}
	run, repetitions := redactedRun(b, o)
	d, err := report.SweepOf(run, repetitions, byArm, sweep.Settings{})
	if err != nil {
		return err
	}
	return writeSweepDocument(d, format, w, o)
}

func writeSweepDocument(d sweep.Document, format string, w io.Writer, o report.Options) error {
	if o.Scores != nil {
		d.AddPublished(*o.Scores)
	}
	if format == "json" {
		return encodeJSON(w, d)
	}
	formats := report.SweepFormats()
	return formats[slices.IndexFunc(formats, func(f report.SweepFormat) bool { return f.Name == format })].Write(w, d,
		o)
}

func writeAblation(b *store.Bundle, format string, w io.Writer, o report.Options) error {
	run, all := redactedRun(b, o)
	repetitions, failed := withoutErrors(all)
	d, err := ablation.FromRun(run, repetitions)
	if *failed != nil {
		return *failed
	}
	if err != nil {
		return err
	}
	if format == "json" {
		return encodeJSON(w, d)
	}
	formats := report.AblationFormats()
	return formats[slices.IndexFunc(formats, func(f report.AblationFormat) bool { return f.Name == format })].Write(w,
		d, o)
}

func writeBisection(b *store.Bundle, format string, w io.Writer, o report.Options) error {
	d, err := bisectionOf(b, o)
	if err != nil {
		return err
	}
	if format == "json" {
		return encodeJSON(w, d)
	}
	formats := report.BisectionFormats()
	return formats[slices.IndexFunc(formats, func(f report.BisectionFormat) bool { return f.Name == format })].Write(w,
		d, o)
}

// bisectionOf is what a search for culprits has found.
func bisectionOf(b *store.Bundle, o report.Options) (bisection.Document, error) {
	run, all := redactedRun(b, o)
	repetitions, failed := withoutErrors(all)
	progress, err := bisection.Replay(run, repetitions)
	if err := cmp.Or(*failed, err); err != nil {
		return bisection.Document{}, err
	}
	return progress.Document(), nil
}

func (p *program) findExperiment(ref, kind string) (*store.Bundle, error) {
	s, err := p.openStore()
	if err != nil {
		return nil, err
	}
	b, err := s.Find(ref)
	if err == nil && (b.Run.Experiment == nil || b.Run.Experiment.Kind != kind) {
		return nil, usage("run "+s.ShortID(b.Run.ID)+" is no "+lab.Experiment{Kind: kind}.Noun(),
			"headroom show "+s.ShortID(b.Run.ID)+" shows it")
	}
	return b, err
}

// armRole names the snapshot of the machine as it was in an arm of a sweep.
func armRole(arm string) string { return "arm-" + arm }

// factsByArm are the facts of the machine in each arm, where they were taken down: of a machine that was started again.
func factsByArm(b *store.Bundle) (map[string][]lab.Fact, error) {
	byArm := map[string][]lab.Fact{}
	for _, arm := range b.Run.Arms {
		for f, err := range b.EachFact(armRole(arm.ID), store.Before) {
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(f.Key, "cpu.vulnerability.") || strings.HasPrefix(f.Key, "kernel.") {
				byArm[arm.ID] = append(byArm[arm.ID], f)
			}
		}
	}
	return byArm, nil
}

// withoutErrors is a sequence that ends at its first error, which is kept.
func withoutErrors[T any](seq iter.Seq2[T, error]) (iter.Seq[T], *error) {
	var failed error
	return func(yield func(T) bool) {
		for v, err := range seq {
			if failed = err; err != nil || !yield(v) {
				return
			}
		}
	}, &failed
}
