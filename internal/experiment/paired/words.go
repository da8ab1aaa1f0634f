package paired

import (
	"fmt"
	"math"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/stat"
)

// OutcomeWord returns the verdict on a metric.
func OutcomeWord(info lab.MetricInfo, m plan.PairedMetric, ending plan.Ending) string {
	switch word := decisionWord(info, m.Decision); {
	case m.Zeros:
		return word + ", since a value of 0 has no ratio:"
	case m.Decision != stat.Undecided || ending != plan.Futile:
		return word
	}
	return "undecided, and hardly to be decided within the pairs allowed:"
}

// decisionWord returns a decision in the words of a metric: speeds are faster or slower, others better or worse.
func decisionWord(info lab.MetricInfo, d stat.Decision) string {
	if d == stat.Same || d == stat.Undecided {
		return d.String()
	}
	words := [2]string{"worse", "better"}
	if info.Unit == lab.PerSecond || info.Unit == lab.BytesPerSecond {
		words = [2]string{"slower", "faster"}
	}
	if (d == stat.Above) == (info.Better == lab.Higher) {
		return words[1]
	}
	return words[0]
}

// ChangeText returns a change with its interval, in percent: "-19.8% [-24.1%, -15.2%]".
func ChangeText(c stat.Change) string {
	if math.IsNaN(c.Ratio) {
		return ""
	}
	text := percentText(c.Ratio)
	if c.Estimate().Informative() {
		text += fmt.Sprintf(" [%s, %s]", percentText(c.Lo), percentText(c.Hi))
	}
	return text
}

func percentText(ratio float64) string { return fmt.Sprintf("%+.1f%%", 100*(ratio-1)) }
