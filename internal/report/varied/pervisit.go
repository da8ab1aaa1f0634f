package varied

import (
	"fmt"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/unit"
)

// perVisitText prints how much visits differ and how many repetitions each should have; nothing if that was not
// measured.
func perVisitText(p *plan.PerVisit, title func(plan.VisitMetric) string) []string {
	if p == nil {
		return nil
	}
	one, noun := "a visit", "visit"
	if p.Boots {
		one, noun = "a boot", "boot"
	}
	n := p.Metrics[0]
	if n.Between == nil || n.Within == nil {
		return []string{fmt.Sprintf("%s: too few to tell how many repetitions %s is worth.",
			prose.Capital(prose.Count(p.Visits, noun)), one)}
	}
	text := fmt.Sprintf("%ss differ by %s, loads within %s by %s", prose.Capital(noun),
		unit.RoundPercent(*n.Between), one, unit.RoundPercent(*n.Within))
	if *n.Between == 0 {
		text = fmt.Sprintf("%ss differ by no more than loads within one let expect, %s", prose.Capital(noun),
			unit.RoundPercent(*n.Within))
	}
	if len(p.Metrics) > 1 {
		text += fmt.Sprintf(" (%s, the least sure of %s)", title(n), prose.Count(len(p.Metrics), "number"))
	}
	costs := ""
	if p.VisitSeconds != nil {
		getting := map[bool]string{true: one, false: "getting to " + one}[p.Boots]
		costs = fmt.Sprintf("; %s takes %s, %s %s", getting, seconds(*p.VisitSeconds), oneOfEach(p),
			seconds(*p.RepetitionSeconds))
	}
	switch {
	case costs == "":
		text += ". How long they take is not recorded, so how many repetitions pay off is unknown"
	case n.Repeat == 1:
		text += ": --repeat 1 is enough"
	case n.Repeat > 1:
		text += fmt.Sprintf(": --repeat %d gives the narrowest intervals for the time", n.Repeat)
	default:
		text += fmt.Sprintf(": %s are too few to tell which --repeat is best%s", prose.Count(p.Visits, noun),
			betweenRepeats(n))
	}
	return []string{text + costs + "."}
}

// betweenRepeats returns the range of --repeat that may be the best.
func betweenRepeats(n plan.VisitMetric) string {
	switch {
	case n.From > 0 && n.To > 0:
		return fmt.Sprintf(", from %d to %d", n.From, n.To)
	case n.From > 1:
		return fmt.Sprintf(", from %d on", n.From)
	}
	return ""
}

// oneOfEach describes one repetition: of a load, or of several.
func oneOfEach(p *plan.PerVisit) string {
	var loads []string
	for _, n := range p.Metrics {
		if !slices.Contains(loads, n.Cell) {
			loads = append(loads, n.Cell)
		}
	}
	if len(loads) == 1 {
		return "a load"
	}
	return fmt.Sprintf("one repetition of the %d loads", len(loads))
}

func seconds(s float64) string { return unit.Duration(time.Duration(s * float64(time.Second))) }
