package varied

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/prose"
)

// candidateNames writes the candidates and states of a search in words.
type candidateNames struct {
	candidates []bisection.Candidate
	series     bool
	// short has short names of kernels that are given by their paths.
	short map[string]string
}

func namesOf(d bisection.Document) candidateNames {
	n := candidateNames{candidates: d.Candidates, series: d.Series, short: map[string]string{}}
	if d.Series && len(d.Candidates) > 0 {
		levels := []string{d.Candidates[0].Good}
		for _, c := range d.Candidates {
			levels = append(levels, c.Bad)
		}
		for i, name := range bisection.LevelNames(d.Candidates[0].Factor, levels) {
			n.short[levels[i]] = name
		}
	}
	return n
}

// name returns a candidate at the slow state's level, without its scheme if all have the same.
func (t candidateNames) name(factor, level string) string {
	scheme, _, _ := strings.Cut(factor, ":")
	same := !slices.ContainsFunc(t.candidates, func(c bisection.Candidate) bool {
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

// level returns the shortest distinct name of a level.
func (t candidateNames) level(level string) string {
	if name, ok := t.short[level]; ok {
		return name
	}
	return level
}

// step returns a step of a series in words.
func (t candidateNames) step(good, bad string) string {
	return "from " + t.level(good) + " to " + t.level(bad)
}

// culprits lists all culprits of an answer.
func (t candidateNames) culprits(all []bisection.Culprit) string {
	var names []string
	for _, c := range all {
		names = append(names, t.name(c.Factor, c.Bad))
	}
	return prose.List(names)
}

// state returns the name of a series' state after a number of steps.
func (t candidateNames) state(steps int) string {
	if steps == 0 {
		return t.level(t.candidates[0].Good)
	}
	return t.level(t.candidates[steps-1].Bad)
}

// states counts states of a series.
func (t candidateNames) states(n int) string {
	if t.candidates[0].Title != "" {
		return prose.Count(n, "commit")
	}
	return prose.Count(n, "state")
}

// between names the two ends of the search.
func (t candidateNames) between() string {
	if t.series {
		return t.state(0) + " to " + t.state(len(t.candidates))
	}
	return "the fast state to the slow one"
}

// differing counts the candidates.
func (t candidateNames) differing() string {
	if t.series {
		return prose.Count(len(t.candidates), "step")
	}
	return prose.Count(len(t.candidates), "differing setting")
}

func (t candidateNames) mixture(applied []int) string {
	switch n, all := len(applied), len(t.candidates); {
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

func (t candidateNames) named(numbers []int) string {
	var names []string
	for _, n := range numbers {
		c := t.candidates[n-1]
		names = append(names, t.name(c.Factor, c.Bad))
	}
	return prose.List(names)
}

func (t candidateNames) others(numbers []int) []int {
	var rest []int
	for i := range t.candidates {
		if !slices.Contains(numbers, i+1) {
			rest = append(rest, i+1)
		}
	}
	return rest
}

// tried describes a measured bundle by its applied or its omitted settings, whichever are fewer.
func (t candidateNames) tried(s bisection.StepResult) string {
	text := t.mixture(s.Applied)
	if t.series {
		text = t.state(len(s.Applied))
	}
	if s.Purpose == "proof" {
		text = "proof: " + text
	}
	return text
}

func (t candidateNames) likeliest(s bisection.StepResult, most int) []string {
	var parts []string
	for _, c := range s.Likeliest[:min(most, len(s.Likeliest))] {
		name := t.name(c.Factor, c.Bad)
		switch {
		case c.Title != "":
			name = c.Bad
		case t.series:
			name = t.step(c.Good, c.Bad)
		}
		parts = append(parts, name+" "+probabilityText(c.Probability))
	}
	return parts
}

// titled returns a state with its title: a commit with its subject.
func titled(level, title string) string {
	if title == "" {
		return level
	}
	return level + " (" + title + ")"
}

// The names of the ends of a search.
const (
	slowState = "slow"
	fastState = "fast"
)

// probabilityText has another digit if the probability is nearly 1: 61%, 99.2%.
func probabilityText(p float64) string {
	switch {
	case p >= 0.9995:
		return ">99.9%"
	case p >= 0.99:
		return fmt.Sprintf("%.1f%%", 100*p)
	}
	return fmt.Sprintf("%.0f%%", 100*p)
}
