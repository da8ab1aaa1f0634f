package runs

import (
	"slices"

	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// pathTexts say what share of each load went over each of several ways.
func pathTexts(s *summary.Run) []string {
	whole := slices.ContainsFunc(s.Cells, func(c summary.Cell) bool { return c.Role == summary.AllTargets })
	var all report.PathSentences
	names := summary.CellNames(s)
	for i := range s.Cells {
		c := &s.Cells[i]
		if whole && c.Role != summary.AllTargets {
			continue // of several pairs each counts what all of them send over a port
		}
		all.Add(names[c.ID], c.Paths)
	}
	return all.Texts()
}
