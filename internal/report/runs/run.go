package runs

import (
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// Document has a section for each of several runs, and the values of all for other programs.
func Document(runs []summary.Run, o report.Options) document.Document {
	var d document.Document
	var titles []string
	for i := range runs {
		run := runDocument(&runs[i], o)
		titles = append(titles, run.Title)
		d.Blocks = append(d.Blocks, document.Section{Document: run})
		if len(runs) == 1 {
			d = run
		}
	}
	d.Title, d.Data = strings.Join(titles, "; "), runValues(runs)
	return d
}

// runText describes a run in words, numbers and pictures.
type runText struct {
	*summary.Run
	o     report.Options
	rows  []row
	marks []report.Mark
	// shown are the metrics of each cell that the table shows, by the cell's ID.
	shown map[string][]string
	// notes are the codes of warnings that taint none of these.
	notes []string
}

func newRunText(s *summary.Run, o report.Options) runText {
	r := runText{Run: s, o: o, rows: rows(s)}
	r.rankMarks()
	return r
}

// runDocument has the answer, a picture of all loads, the conditions, the table, the warnings, an explanation, and what
// users need to investigate.
func runDocument(s *summary.Run, o report.Options) document.Document {
	r := newRunText(s, o)
	d := document.Document{Title: title(s)}
	add := func(blocks ...document.Block) { d.Blocks = append(d.Blocks, blocks...) }
	say := func(role document.Role, texts ...string) {
		for _, text := range texts {
			if text != "" {
				add(document.Sentence{Role: role, Text: text})
			}
		}
	}
	add(document.Terminal{Blocks: []document.Block{document.Sentence{Role: document.Subject, Text: d.Title}}})
	say(document.Answer, prose.Join(answer(s), r.answerSigns()))
	say(document.More, prose.Join(flushText(r.rows), plateauText(s), singleText(r.rows), r.trust()))
	add(r.overview(), document.Conditions{List: summary.Conditions(s)}, r.table())
	add(r.maps()...)
	if staged, ok := o.Stages[s.ID]; ok {
		add(document.Section{Document: staged})
	}
	add(r.warnings())
	say(document.Detail, slices.Concat(eventTexts(s), precisionTexts(s), outlierTexts(s), pathTexts(s))...)
	say(document.Reading, slices.Concat(readingOfSpread(s), startSkewTexts(s), ceilingTexts(s))...)
	add(r.next()...)
	add(r.pictures())
	add(r.evidence()...)
	return d
}

// next returns the next commands.
func (r runText) next() []document.Block {
	if r.ID == "" {
		return nil
	}
	id := r.o.ID(r.ID)
	var blocks []document.Block
	if r.Status == lab.Interrupted || r.endedByBudget() {
		blocks = append(blocks, document.Command{What: "continue", Text: r.Design.Resume(id)})
	}
	if more := moreTime(r.Run); more > 0 {
		blocks = append(blocks, document.Command{What: "continue",
			Text: "headroom run --resume " + id + " --budget " + briefly(more)})
	}
	blocks = []document.Block{document.Terminal{Blocks: blocks}}
	if r.o.Profiled[r.ID] {
		blocks = append(blocks, report.ProfilesOf(r.ID, r.o))
	}
	return append(blocks, report.SavedAs(r.ID, r.o)...)
}

// endedByBudget reports whether the run's budget ended it before the plan was complete.
func (r runText) endedByBudget() bool {
	return r.Status == lab.Complete && r.EndedAfter != "" && !r.Anytime
}

// briefly formats a time of whole seconds as one types it: 22m rather than 22m0s.
func briefly(d time.Duration) string {
	text := d.String()
	for _, idle := range []struct{ end, left string }{{"m0s", "m"}, {"h0m", "h"}} {
		if stem, found := strings.CutSuffix(text, idle.end); found {
			text = stem + idle.left
		}
	}
	return text
}
