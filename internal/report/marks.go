package report

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/validity"
)

// Mark is a kind of warning with the number under which a report shows it: "!1" beside a tainted number, and again
// before the sentences.
type Mark struct {
	// Number is 0 where a table has room for other warnings only and counts this one.
	Number int
	Code   string
	// taints of all warnings with the code.
	taints []string
	// Texts that the code came with, in order of their first cell.
	Texts []MarkedText
}

// MarkedText is one sentence with the cells that it was said of; none for a warning about the run.
type MarkedText struct {
	Text  string
	cells []*summary.Cell
	// names of the cells, with parameters where the run has several cells of the job.
	names []string
	// repetitions of each of the cells that it occurred in.
	repetitions []int
}

func (m Mark) Sign() string { return "!" + strconv.Itoa(m.Number) }

// AddMark adds a warning about a cell that is called by a name, nil for one about the whole run.
func AddMark(all []Mark, w summary.Warning, c *summary.Cell, name string) []Mark {
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
	if t := &(*texts)[j]; c != nil {
		t.cells, t.names, t.repetitions = append(t.cells, c), append(t.names, name),
			append(t.repetitions, w.Repetitions)
	}
	return all
}

// about names the cells of a text: "randread, randwrite and 4 more", with how many of their repetitions had it when it
// was not all of them.
func (t MarkedText) about(most int) string {
	if len(t.cells) == 0 {
		return "the whole run"
	}
	var names []string
	for i, c := range t.cells {
		if i == most && len(t.cells) > most+1 {
			names = append(names, strconv.Itoa(len(t.cells)-most)+" more")
			break
		}
		name := t.names[i]
		if t.repetitions[i] > 0 && t.repetitions[i] < c.N {
			name += " (" + strconv.Itoa(t.repetitions[i]) + " of " + prose.Count(c.N, "repetition") + ")"
		}
		names = append(names, name)
	}
	return prose.List(names)
}

// Signs are the signs of some codes, in the order of their numbers.
func Signs(all []Mark, codes []string) string {
	var signs []string
	for _, m := range all {
		if slices.Contains(codes, m.Code) {
			signs = append(signs, m.Sign())
		}
	}
	return strings.Join(signs, " ")
}

// MaxMarks is how many warnings a table for the terminal prints: more than that are read by nobody.
const MaxMarks = 3

// Explained says whether headroom explain knows the code of a warning.
func Explained(code string) bool { return CheckTitle(code) != "" }

// CheckTitle is the title of a warning; empty for a code that is not in the list of checks.
func CheckTitle(code string) string {
	for _, c := range validity.Checks() {
		if c.Code == code {
			return c.Title
		}
	}
	return ""
}

// Names of the cells that a mark is about and that are kept, each once.
func (m Mark) Names(keep func(*summary.Cell) bool) []string {
	var all []string
	for _, t := range m.Texts {
		for i, name := range t.names {
			if !slices.Contains(all, name) && keep(t.cells[i]) {
				all = append(all, name)
			}
		}
	}
	return all
}
