package varied

import (
	"maps"
	"testing"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// Each kind of search for the best or the guilty setting comes in every format.
func TestVariedInEveryFormat(t *testing.T) {
	for name, build := range map[string]func(report.Options) document.Document{
		"ablation":     func(o report.Options) document.Document { return Ablation(hardened(twoCells(), costly), o) },
		"ablation-odd": func(o report.Options) document.Document { return Ablation(oddAblation(), o) },
		"search":       func(o report.Options) document.Document { return Search(bisectionDocument(), o) },
		"search-commits": func(o report.Options) document.Document {
			one, _ := commitBisections()
			return Search(one, o)
		},
		"sweep":         func(o report.Options) document.Document { return Sweep(bySuite(10, "2k"), o) },
		"sweep-kernel":  func(o report.Options) document.Document { return Sweep(byKernel(), o) },
		"sweep-rate":    func(o report.Options) document.Document { return Sweep(byRate(), o) },
		"sweep-word":    func(o report.Options) document.Document { return Sweep(byWord(0.2), o) },
		"sweep-means":   func(o report.Options) document.Document { return Sweep(byMeans(t), o) },
		"sweep-odd":     func(o report.Options) document.Document { return Sweep(oddSweep(3), o) },
		"sweep-nothing": func(o report.Options) document.Document { return Sweep(nothingSwept(), o) },
	} {
		rendertest.InEveryFormat(t, name, func(o render.Options) document.Document {
			return build(report.Options{Options: o})
		})
	}
}

// variedPages are documents with pictures, usual and odd.
func variedPages(*testing.T) map[string]document.Document {
	documents := oddSearches()
	maps.Copy(documents, wideSweeps())
	maps.Copy(documents, map[string]document.Document{
		"ablation":              Ablation(hardened(twoCells(), costly), report.Options{}),
		"odd ablation":          Ablation(oddAblation(), report.Options{}),
		"ablation of 200 cells": Ablation(hardened(manyCells(200), costly), report.Options{}),
	})
	return documents
}

// Pages of usual and odd results have pictures that stay in their frames.
func TestVariedPictures(t *testing.T) { rendertest.CheckPictures(t, variedPages(t)) }

// A name that is a formula is none in a file that a spreadsheet reads.
func TestNoExperimentHasAFormula(t *testing.T) {
	swept := bySuite(10)
	swept.Factor = rendertest.Formula
	for i := range swept.Cells {
		swept.Cells[i].Job = rendertest.Formula
	}
	ablated := hardened(twoCells(), costly)
	for i := range ablated.Settings {
		ablated.Settings[i].Factor, ablated.Settings[i].Cost = rendertest.Formula, rendertest.Formula
	}
	searched := bisectionDocument()
	for i := range searched.Candidates {
		searched.Candidates[i].Factor = rendertest.Formula
	}
	for name, d := range map[string]document.Document{"sweep": Sweep(swept, report.Options{}),
		"ablation": Ablation(ablated, report.Options{}), "search": Search(searched, report.Options{})} {
		rendertest.CheckFormulas(t, name, func(o render.Options) string { return rendertest.Written(t, d, "csv", o) })
	}
}
