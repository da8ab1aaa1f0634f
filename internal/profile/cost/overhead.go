package cost

import (
	"math"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
)

// overhead compares profiled loads with the measured repetitions next to them.
func (w *work) overhead(o Options) {
	for _, part := range []profile.Part{profile.Time, profile.Calls} {
		metric, logs := "", []float64(nil)
		for _, l := range w.loads {
			if l.Part != part || l.Failed != "" {
				continue
			}
			for _, m := range o.Measured {
				if m.Cell != l.Cell || m.Arm != l.Arm || m.Number != l.Number {
					continue
				}
				// A load that was ended may have reported nothing.
				of := o.metric(l)
				if ratio := l.Values[of] / m.Values[of]; ratio > 0 && !math.IsInf(ratio, 0) {
					metric, logs = of, append(logs, math.Log(ratio))
				}
			}
		}
		if len(logs) == 0 {
			continue
		}
		if w.Overhead == nil {
			w.Overhead = map[profile.Part]Overhead{}
		}
		w.Overhead[part] = Overhead{Metric: metric, Ratio: exponential(*ofAnySign(logs))}
	}
}

func (o Options) metric(l profile.Load) string {
	if o.Deciding != nil {
		return o.Deciding(l.Cell)
	}
	for _, metric := range lab.Primary(nil, l.Values) {
		return metric
	}
	return ""
}

// exponential converts logarithms to ratios.
func exponential(e LoadMean) LoadMean {
	out := LoadMean{Mean: math.Exp(e.Mean)}
	if e.Low != nil {
		low, high := math.Exp(*e.Low), math.Exp(*e.High)
		out.Low, out.High = &low, &high
	}
	for _, v := range e.Values {
		out.Values = append(out.Values, math.Exp(v))
	}
	return out
}
