package results

import (
	"cmp"
	"fmt"
	"io"
	"iter"
	"strings"

	"headroom/internal/ablation"
	"headroom/internal/app"
	"headroom/internal/bisection"
	"headroom/internal/document"
	"headroom/internal/lab"
	"headroom/internal/report"
	"headroom/internal/store"
	"headroom/internal/sweep"
)

// WriteExperiment writes what a run with several arms was made for: its JSON, or one of the formats that experiments
// have.
func WriteExperiment(p *app.App, b *store.Bundle, format string, w io.Writer, o report.Options) error {
	if format == "table" {
		w = p.Naming.Writer(w)
	}
	write := writeAblation
	switch b.Run.Experiment.Kind {
	case app.SweepKind:
		write = writeSweep
	case app.BisectKind:
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
	return WriteSweepDocument(d, format, w, o)
}

// WriteSweepDocument writes a sweep in one format.
func WriteSweepDocument(d sweep.Document, format string, w io.Writer, o report.Options) error {
	if o.Scores != nil {
		d.AddPublished(*o.Scores)
	}
	return writeResult(w, ResultDocument{Published: d, Document: func(o report.Options) document.Document {
		return report.SweepDocument(d, o)
	}}, format, o)
}

func writeAblation(b *store.Bundle, format string, w io.Writer, o report.Options) error {
	run, all := redactedRun(b, o)
	repetitions, failed := withoutErrors(all)
	d, err := ablation.FromRun(run, repetitions)
	if err := cmp.Or(*failed, err); err != nil {
		return err
	}
	return writeResult(w, ResultDocument{Published: d, Document: func(o report.Options) document.Document {
		return report.AblationDocument(d, o)
	}}, format, o)
}

func writeBisection(b *store.Bundle, format string, w io.Writer, o report.Options) error {
	d, err := BisectionOf(b, o)
	if err != nil {
		return err
	}
	return writeResult(w, ResultDocument{Published: d, Document: func(o report.Options) document.Document {
		return report.BisectionDocument(d, o)
	}}, format, o)
}

// BisectionOf is what a search for culprits has found.
func BisectionOf(b *store.Bundle, o report.Options) (bisection.Document, error) {
	run, all := redactedRun(b, o)
	repetitions, failed := withoutErrors(all)
	progress, err := bisection.Replay(run, repetitions)
	if err := cmp.Or(*failed, err); err != nil {
		return bisection.Document{}, err
	}
	return progress.Document(), nil
}

// ArmRole names the snapshot of the machine as it was in an arm of a sweep.
func ArmRole(arm string) string { return "arm-" + arm }

// factsByArm are the facts of the machine in each arm, where they were taken down: of a machine that was started again.
func factsByArm(b *store.Bundle) (map[string][]lab.Fact, error) {
	byArm := map[string][]lab.Fact{}
	for _, arm := range b.Run.Arms {
		for f, err := range b.EachFact(ArmRole(arm.ID), store.Before) {
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
