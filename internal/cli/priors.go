package cli

import (
	"fmt"
	"strings"

	"headroom/internal/bisection"
	"headroom/internal/diff"
)

// recordPriors takes down what a search leaves out, and what is known of its settings, so that it stays the same search
// when it goes on with a newer headroom.
func (x *experiment) recordPriors() error {
	x.run.Experiment.Excluded = x.options.excluded
	if x.kind != bisectKind || x.options.noPriors {
		return nil
	}
	knowledge, err := diff.Load()
	if err != nil {
		return err
	}
	x.run.Experiment.Priors = bisection.Priors(knowledge, x.run.Experiment)
	return nil
}

// priorText are the candidates that are thought likely before anything is measured; empty where all are alike.
func (x *experiment) priorText() string {
	var parts []string
	for _, s := range x.hunted.Expected() {
		parts = append(parts, fmt.Sprintf("%s %.0f%%", x.candidateText(s), 100*s.Probability))
	}
	if len(parts) == 0 {
		return ""
	}
	return "most likely at first, by what is known of them: " + strings.Join(parts, ", ") +
		" (--no-priors forgets that)"
}
