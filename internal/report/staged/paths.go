package staged

import (
	"headroom/internal/report"
	"headroom/internal/stages"
)

// stagePathTexts say the same of stages.
func stagePathTexts(d *stages.Document) []string {
	var all report.PathSentences
	for _, r := range d.Rows {
		all.Add(r.Title+" in "+r.Stage, r.Paths)
	}
	return all.Texts()
}
