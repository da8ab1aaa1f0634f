package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/validity"
)

// Mark is a kind of warning with the number that a report gives it: "!1" next to a tainted number, and again before the
// sentences.
type Mark struct {
	// Number is 0 if a table has room for other warnings only and counts this one.
	Number int
	Code   string
	// taints of all warnings with the code.
	taints []string
	// Texts that the code came with, in order of their first cell.
	Texts []MarkedText
}

// MarkedText is one sentence with its subjects; none for a warning about the run.
type MarkedText struct {
	Text  string
	about []about
}

// about is a subject of a warning, with how many of its n repetitions have it. The name of a cell has parameters where
// the run has several cells of the job.
type about struct {
	name           string
	repetitions, n int
}

func (m Mark) Sign() string { return "!" + strconv.Itoa(m.Number) }

// AddMark adds a warning about the subject with a name; the name is empty for the whole run.
func AddMark(all []Mark, w lab.CountedWarning, name string) []Mark {
	i := slices.IndexFunc(all, func(m Mark) bool { return m.Code == w.Code })
	if i < 0 {
		i = len(all)
		all = append(all, Mark{Number: i + 1, Code: w.Code})
	}
	for _, taint := range w.Taints {
		if !slices.Contains(all[i].taints, taint) {
			all[i].taints = append(all[i].taints, taint)
		}
	}
	texts := &all[i].Texts
	j := slices.IndexFunc(*texts, func(t MarkedText) bool { return t.Text == w.Text })
	if j < 0 {
		j = len(*texts)
		*texts = append(*texts, MarkedText{Text: w.Text})
	}
	if t := &(*texts)[j]; name != "" {
		t.about = append(t.about, about{name, w.Repetitions, w.N})
	}
	return all
}

// aboutText names the subjects of a text: "randread, randwrite and 4 more", with the number of repetitions if not all
// had it.
func (t MarkedText) aboutText(most int) string {
	if len(t.about) == 0 {
		return "the whole run"
	}
	var names []string
	for i, a := range t.about {
		if i == most && len(t.about) > most+1 {
			names = append(names, strconv.Itoa(len(t.about)-most)+" more")
			break
		}
		name := a.name
		if a.repetitions > 0 && a.repetitions < a.n {
			name += " (" + strconv.Itoa(a.repetitions) + " of " + prose.Count(a.n, "repetition") + ")"
		}
		names = append(names, name)
	}
	return prose.List(names)
}

// Signs returns the signs of some codes, in the order of their numbers.
func Signs(all []Mark, codes []string) string {
	var signs []string
	for _, m := range all {
		if slices.Contains(codes, m.Code) {
			signs = append(signs, m.Sign())
		}
	}
	return strings.Join(signs, " ")
}

// MaxMarks is how many warnings a table for the terminal prints: users do not read more.
const MaxMarks = 3

// Explained reports whether headroom explain knows the code of a warning.
func Explained(code string) bool { return CheckTitle(code) != "" }

// CheckTitle returns the title of a warning; empty for a code that is not in the list of checks.
func CheckTitle(code string) string {
	for _, c := range validity.Checks() {
		if c.Code == code {
			return c.Title
		}
	}
	return ""
}

// Names returns the names of a mark's subjects, each once.
func (m Mark) Names() []string {
	var all []string
	for _, t := range m.Texts {
		for _, a := range t.about {
			if !slices.Contains(all, a.name) {
				all = append(all, a.name)
			}
		}
	}
	return all
}
