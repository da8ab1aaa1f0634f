package rule

import (
	"fmt"
	"strings"
)

// setEffect says what a finding may cost: figures as they were published, with where and by whom. What is published
// about one machine is never said of another.
func (f *Finding) setEffect(r *Rule) {
	f.Effects = r.Effects
	published := r.published()
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

// MainEffect is the first published figure; the others are in the rule.
func (f Finding) MainEffect() string {
	more := len(f.Effects) - 1
	if more < 1 {
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
