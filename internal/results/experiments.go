package results

import (
	"iter"
	"strings"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/varied"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/sweep"
)

// redactedRun returns a run for reports: without serial numbers, unless they were requested.
func redactedRun(b *store.Bundle, o report.Options) (lab.Run, iter.Seq2[lab.Repetition, error]) {
	if o.Serials {
		return b.Run, b.Repetitions()
	}
	return summary.RedactRun(b.Run, b.Repetitions())
}

func sweepResult(_ *app.App, b *store.Bundle, o report.Options) (ResultDocument, error) {
	byArm, err := factsByArm(b)
	if err != nil {
		return ResultDocument{}, err
	}
	run, repetitions := redactedRun(b, o)
	d, err := sweep.OfRun(run, repetitions, byArm, sweep.Settings{})
	return SweepResult(d, o), err
}

// SweepResult returns the result of a sweep, next to the requested published figures of merit.
func SweepResult(d sweep.Document, o report.Options) ResultDocument {
	if o.Scores != nil {
		d.AddPublished(*o.Scores)
	}
	return ResultDocument{Published: d, Document: func(o report.Options) document.Document {
		return varied.Sweep(d, o)
	}}
}

func ablationResult(_ *app.App, b *store.Bundle, o report.Options) (ResultDocument, error) {
	d, err := ablation.FromRun(redactedRun(b, o))
	if err != nil {
		return ResultDocument{}, err
	}
	err = addFunctionsOfSettings(&d, b)
	return ResultDocument{Published: d, Document: func(o report.Options) document.Document {
		return varied.Ablation(d, o)
	}}, err
}

func bisectionResult(_ *app.App, b *store.Bundle, o report.Options) (ResultDocument, error) {
	d, err := BisectionOf(b, o)
	return ResultDocument{Published: d, Document: func(o report.Options) document.Document {
		return varied.Search(d, o)
	}}, err
}

// BisectionOf returns the result of a search for culprits.
func BisectionOf(b *store.Bundle, o report.Options) (bisection.Document, error) {
	progress, err := bisection.Replay(redactedRun(b, o))
	if err != nil {
		return bisection.Document{}, err
	}
	if progress.Costs, err = Costs(b); err != nil {
		return bisection.Document{}, err
	}
	rules, err := rule.BuiltInSet()
	if err != nil {
		return bisection.Document{}, err
	}
	d := progress.Document()
	d.AddPrices(rules)
	return d, nil
}

// ArmRole names the snapshot of the machine in an arm of a sweep.
func ArmRole(arm string) string { return "arm-" + arm }

// factsByArm returns the facts of the machine in each arm for which they were saved, if arms restarted it.
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
