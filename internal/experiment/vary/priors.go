package vary

import (
	"fmt"
	"strings"

	"headroom/internal/app"
	"headroom/internal/bisection"
	"headroom/internal/diff"
)

// recordPriors takes down what a search leaves out, and what is known of its settings, so that it stays the same search
// when it goes on with a newer headroom.
func (x *Experiment) recordPriors() error {
	x.Run.Experiment.Excluded = x.options.Excluded
	if x.kind != app.BisectKind || x.options.NoPriors {
		return nil
	}
	knowledge, err := diff.Load()
	if err != nil {
		return err
	}
	x.Run.Experiment.Priors = bisection.Priors(knowledge, x.Run.Experiment)
	return nil
}

// priorText are the candidates that are thought likely before anything is measured; empty where all are alike.
func (x *Experiment) priorText() string {
	var parts []string
	for _, s := range x.searchState.Expected() {
		parts = append(parts, fmt.Sprintf("%s %.0f%%", x.candidateText(s), 100*s.Probability))
	}
	if len(parts) == 0 {
		return ""
	}
	return "most likely at first, by what is known of them: " + strings.Join(parts, ", ") +
		" (--no-priors forgets that)"
}
