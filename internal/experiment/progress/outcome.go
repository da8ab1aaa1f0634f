package progress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/unit"
)

// outcomeText is a repetition in a few words.
func outcomeText(c *runner.Cell, r lab.Repetition) string {
	var parts []string
	if c != nil && c.Command != nil {
		for _, name := range lab.Deciding(c.Metrics, c.Params, r.Values) {
			parts = append(parts, name+" "+quantity(c.Metric(name), name, r.Values[name]))
		}
	}
	for _, d := range lab.Directions() {
		iops, ok := r.Values[lab.IOPS(d)]
		if !ok {
			continue
		}
		text := d + " " + unit.IOPS(iops) + " IOPS"
		if bw, ok := r.Values[lab.Bandwidth(d)]; ok {
			text += " " + unit.Bandwidth(bw)
		}
		if p99, ok := r.Values[lab.Latency(d, "p99")]; ok {
			text += " p99 " + unit.Latency(p99)
		}
		parts = append(parts, text)
	}
	for _, d := range []string{lab.Send, lab.Receive} {
		if v, ok := r.Values[lab.Bitrate(d)]; ok {
			parts = append(parts, d+" "+unit.Bitrate(v))
		}
	}
	if v, ok := r.Values[lab.RequestRate]; ok {
		parts = append(parts, "answers "+unit.IOPS(v)+"/s")
	}
	for _, part := range []string{"mean", "p99"} {
		if v, ok := r.Values[lab.Latency(lab.Request, part)]; ok {
			parts = append(parts, part+" "+unit.Latency(v))
		}
	}
	if _, sum := r.Values[lab.StartSkew]; len(parts) == 0 && sum &&
		!slices.ContainsFunc(r.Warnings, func(w lab.Warning) bool { return w.Code == "no-sum" }) {
		parts = []string{"measured"} // loads of several kinds, which have no sum
	}
	if len(parts) == 0 {
		parts = []string{"no result"}
	}
	if n := len(r.Warnings); n == 1 {
		parts = append(parts, "! "+r.Warnings[0].Code)
	} else if n > 1 {
		parts = append(parts, fmt.Sprintf("! %s and %d more", r.Warnings[0].Code, n-1))
	}
	return strings.Join(parts, "  ")
}

func quantity(info lab.MetricInfo, metric string, v float64) string {
	switch {
	case info.Unit == lab.Seconds:
		return unit.Latency(v)
	case info.Unit == lab.BitsPerSecond:
		return unit.Bitrate(v)
	case info.Unit == lab.BytesPerSecond:
		return unit.Bandwidth(v)
	case strings.HasSuffix(metric, ".iops"):
		return unit.IOPS(v) + " IOPS"
	case info.Unit == lab.PerSecond:
		return unit.IOPS(v) + "/s"
	default:
		return fmt.Sprintf("%.4g %s", v, info.Unit)
	}
}
