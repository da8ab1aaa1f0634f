package compared

import (
	"testing"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// Each kind of comparison comes in every format.
func TestComparedInEveryFormat(t *testing.T) {
	for name, build := range map[string]func(report.Options) document.Document{
		"compare":     func(o report.Options) document.Document { return Runs(comparison(t), o) },
		"compare-odd": func(o report.Options) document.Document { return Runs(oddComparison(t), o) },
		"references":  func(report.Options) document.Document { return References(publishedResults()) },
		"reference":   func(report.Options) document.Document { return Reference(publishedResults()[0]) },
		"standings":   func(report.Options) document.Document { return Standings(againstPublished(), "7KQ4") },
		"history":     func(o report.Options) document.Document { return History(updated(t), o) },
		"history-odd": func(o report.Options) document.Document { return History(oddHistory(), o) },
	} {
		rendertest.InEveryFormat(t, name, func(o render.Options) document.Document {
			return build(report.Options{Options: o})
		})
	}
}

// comparedPages are documents with pictures, usual and unusual.
func comparedPages(t *testing.T) map[string]document.Document {
	return map[string]document.Document{
		"history":                 History(updated(t), report.Options{}),
		"odd history":             History(oddHistory(), report.Options{}),
		"history of 200 cells":    History(ofCells(t, 200), report.Options{}),
		"comparison of three":     Runs(comparison(t), report.Options{}),
		"odd comparison":          Runs(oddComparison(t), report.Options{}),
		"comparison of 200 cells": Runs(ofCellsCompared(t, 200), report.Options{}),
		"standings":               Standings(againstPublished(), "7KQ4"),
	}
}

// Pictures of usual and unusual results stay within their frames.
func TestComparedPictures(t *testing.T) { rendertest.CheckPictures(t, comparedPages(t)) }

// A name with the form of a formula is escaped in files for spreadsheets.
func TestNoComparisonHasAFormula(t *testing.T) {
	d := comparison(t)
	d.Base.Name = rendertest.Formula
	for i := range d.Cells {
		d.Cells[i].Job, d.Cells[i].Why = rendertest.Formula, rendertest.Formula
	}
	rendertest.CheckFormulas(t, "comparison", func(o render.Options) string {
		return rendertest.Written(t, Runs(d, report.Options{Options: o}), "csv", o)
	})
}
