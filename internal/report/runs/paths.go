package runs

import (
	"slices"

	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// pathTexts describes the share of each load on each of several paths.
func pathTexts(s *summary.Run) []string {
	whole := slices.ContainsFunc(s.Cells, func(c summary.Cell) bool { return c.Role == summary.AllTargets })
	var all report.PathSentences
	names := summary.CellNames(s)
	for i := range s.Cells {
		c := &s.Cells[i]
		if whole && c.Role != summary.AllTargets {
			continue // each pair counts what all pairs send over a port
		}
		all.Add(names[c.ID], c.Paths)
	}
	return all.Texts()
}
