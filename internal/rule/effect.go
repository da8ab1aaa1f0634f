package rule

import (
	"fmt"
	"math"
	"strings"
)

// setEffect says what a finding may cost: figures as they were published, with where and by whom, and what was measured
// here when something was. What is published about one machine is never said of another.
func (f *Finding) setEffect(r *Rule, measured map[string]Measured) {
	f.Effects = r.Effects
	published := r.published()
	if m, ok := measured[r.ID]; ok {
		f.Measured = &m
		f.Effect = m.String()
		if published != "" {
			f.Effect += "; " + published
		}
		return
	}
	switch {
	case published != "":
		f.Effect = published + "; not measured here"
	case r.Derivation != "":
		f.Effect = "follows from the facts: " + r.Derivation
	default:
		f.Effect = "no figure is published"
	}
}

// published quotes the figures: "published: up to 60% of throughput (100 Gbit/s NIC; Title)".
func (r *Rule) published() string {
	if len(r.Effects) == 0 {
		return ""
	}
	var quotes []string
	for _, e := range r.Effects {
		source := e.Source.Title
		if source == "" {
			source = e.Source.URL
		}
		if e.Where != "" {
			source = e.Where + "; " + source
		}
		quotes = append(quotes, e.Text+" ("+source+")")
	}
	return "published: " + strings.Join(quotes, "; ")
}

// String says what was measured: "measured here: 12% of read.iops (9% to 15%)".
func (m Measured) String() string {
	percent := func(share float64) string { return fmt.Sprintf("%.0f%%", math.Round(share*100)) }
	return fmt.Sprintf("measured here: %s of %s (%s to %s)", percent(m.Loss), m.Metric, percent(m.Low), percent(m.High))
}

// MainEffect is what was measured here, or the first published figure; the others are in the rule.
func (f Finding) MainEffect() string {
	more := len(f.Effects) - 1
	if f.Measured != nil || more < 1 {
		return f.Effect
	}
	figures := "1 more figure"
	if more > 1 {
		figures = fmt.Sprintf("%d more figures", more)
	}
	first := f.Effects[0]
	return fmt.Sprintf("published: %s (%s; %s); not measured here; %s: headroom rules show %s", first.Text,
		first.Where, first.Source.Title, figures, f.Rule)
}
