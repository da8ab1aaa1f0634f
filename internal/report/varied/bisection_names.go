package varied

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/unit"
)

// bisectionText is a search for culprits in words.
type bisectionText struct {
	bisection.Document
	marks []report.Mark
	// short names of kernels that are given by their paths.
	short map[string]string
}

func newBisectionText(d bisection.Document) bisectionText {
	t := bisectionText{Document: d, short: map[string]string{}}
	if d.Series && len(d.Candidates) > 0 {
		levels := []string{d.Candidates[0].Good}
		for _, c := range d.Candidates {
			levels = append(levels, c.Bad)
		}
		for i, name := range bisection.LevelNames(d.Candidates[0].Factor, levels) {
			t.short[levels[i]] = name
		}
	}
	for _, w := range d.Warnings {
		t.marks = report.AddMark(t.marks, summary.Warning{Warning: w.Warning, Repetitions: w.Repetitions},
			&summary.Cell{N: w.N},
			"the whole run")
	}
	return t
}

// name of a candidate at the slow state's level, without its scheme where all have the same.
func (t bisectionText) name(factor, level string) string {
	scheme, _, _ := strings.Cut(factor, ":")
	same := !slices.ContainsFunc(t.Candidates, func(c bisection.Candidate) bool {
		return !strings.HasPrefix(c.Factor, scheme+":")
	})
	if same {
		factor = strings.TrimPrefix(factor, scheme+":")
	}
	switch {
	case factor == "":
		return t.level(level)
	case level == "":
		return factor
	case level == "absent":
		return "no " + factor
	}
	return factor + "=" + t.level(level)
}

// level as people tell it from others.
func (t bisectionText) level(level string) string {
	if name, ok := t.short[level]; ok {
		return name
	}
	return level
}

// step of a series, in words.
func (t bisectionText) step(good, bad string) string {
	return "from " + t.level(good) + " to " + t.level(bad)
}

func (t bisectionText) culprits() string {
	var names []string
	for _, c := range t.Culprits {
		names = append(names, t.name(c.Factor, c.Bad))
	}
	return prose.List(names)
}

// titled is a state with what it is called: a commit with its subject.
func titled(level, title string) string {
	if title == "" {
		return level
	}
	return level + " (" + title + ")"
}

// maxNamed is how many of those that nothing tells apart are named in the answer; the others are among what can't be
// measured.
const maxNamed = 3

// oneOf is a culprit that is one of several.
func (t bisectionText) oneOf(c bisection.Culprit) string {
	if len(c.Among) > maxNamed {
		return fmt.Sprintf("one of the %d commits after %s up to %s", len(c.Among), c.Good, c.Bad)
	}
	var names []string
	for _, s := range c.Among {
		names = append(names, titled(s.Level, s.Title))
	}
	last := len(names) - 1
	return "commit " + strings.Join(names[:last], ", ") + " or " + names[last]
}

// states are how many there are of a series.
func (t bisectionText) states(n int) string {
	if t.Candidates[0].Title != "" {
		return prose.Count(n, "commit")
	}
	return prose.Count(n, "state")
}

// between which two states it looked.
func (t bisectionText) between() string {
	if t.Series {
		return t.state(0) + " to " + t.state(len(t.Candidates))
	}
	return "the fast state to the slow one"
}

// state of a series after so many steps.
func (t bisectionText) state(steps int) string {
	if steps == 0 {
		return t.level(t.Candidates[0].Good)
	}
	return t.level(t.Candidates[steps-1].Bad)
}

func (t bisectionText) valueTitle() string {
	if t.Metric == "" {
		return "result"
	}
	return report.MetricTitle(t.Metric, false)
}

func (t bisectionText) value(v float64) string { return unit.Value(t.unit(), v) }

func (t bisectionText) unit() lab.Unit {
	if t.Metric == "" {
		return lab.Count
	}
	return t.Unit
}

// tried is a bundle in words: by what is applied, or by what is left out, whichever is shorter.
func (t bisectionText) tried(s bisection.StepResult) string {
	text := t.mixture(s.Applied)
	if t.Series {
		text = t.state(len(s.Applied))
	}
	if s.Purpose == "proof" {
		text = "proof: " + text
	}
	return text
}

// The ends of a search.
const (
	slowState = "slow"
	fastState = "fast"
)

func (t bisectionText) mixture(applied []int) string {
	switch n, all := len(applied), len(t.Candidates); {
	case n == all:
		return slowState
	case n == 0:
		return fastState
	case n <= 2:
		return "fast with " + t.named(applied)
	case n >= all-2:
		return "slow without " + t.named(t.others(applied))
	default:
		return fmt.Sprintf("%d of %d as in slow", n, all)
	}
}

func (t bisectionText) named(numbers []int) string {
	var names []string
	for _, n := range numbers {
		c := t.Candidates[n-1]
		names = append(names, t.name(c.Factor, c.Bad))
	}
	return prose.List(names)
}

func (t bisectionText) others(numbers []int) []int {
	var rest []int
	for i := range t.Candidates {
		if !slices.Contains(numbers, i+1) {
			rest = append(rest, i+1)
		}
	}
	return rest
}

func (t bisectionText) likeliest(s bisection.StepResult, most int) []string {
	var parts []string
	for _, c := range s.Likeliest[:min(most, len(s.Likeliest))] {
		name := t.name(c.Factor, c.Bad)
		switch {
		case c.Title != "":
			name = c.Bad
		case t.Series:
			name = t.step(c.Good, c.Bad)
		}
		parts = append(parts, name+" "+probabilityText(c.Probability))
	}
	return parts
}

// probabilityText has a digit more where it is nearly sure: 61%, 99.2%.
func probabilityText(p float64) string {
	switch {
	case p >= 0.9995:
		return ">99.9%"
	case p >= 0.99:
		return fmt.Sprintf("%.1f%%", 100*p)
	}
	return fmt.Sprintf("%.0f%%", 100*p)
}
