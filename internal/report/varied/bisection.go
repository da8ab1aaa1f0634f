package varied

import (
	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/report"
)

// Search makes the document of a search for the settings or steps that make the slow state slow: the answer, a picture
// and a table of every measurement with the likeliest culprits after it, the proof of the answer, and all differences.
func Search(d bisection.Document, o report.Options) document.Document {
	names, metric := namesOf(d), metricOf(d)
	answer, tables := answerText{d, names, metric}, searchTables{d, names, metric}
	out := document.Document{Title: "Search for culprits among " + names.differing(), Data: tables.data()}
	add := func(blocks ...document.Block) { out.Blocks = append(out.Blocks, blocks...) }
	add(report.Sentences(document.Answer, answer.answer())...)
	add(searchPlots{d, names, metric}.plots(), document.Sentence{Role: document.More, Text: answer.ends()})
	add(report.Sentences(document.Detail, answer.before())...)
	if len(d.Steps) > 0 {
		add(tables.steps())
	}
	add(report.Sentences(document.Detail, proofText{d, names, metric}.left())...)
	var marks []report.Mark
	for _, w := range d.Warnings {
		marks = report.AddMark(marks, w, "the whole run")
	}
	add(report.WarningBlocks(marks)...)
	add(document.Folded{Title: "All that differs", Blocks: []document.Block{tables.differences()}},
		document.Sentence{Role: document.Reading, Text: searchReading})
	add(report.SavedAs(d.Run, o)...)
	return out
}

// searchReading explains the figures.
const searchReading = "Intervals hold with 95%. A percentage next to a setting is the probability that it is a " +
	"culprit, after all measurements up to there; a likely answer is proved by separate measurements."
