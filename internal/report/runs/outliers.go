package runs

import (
	"fmt"

	"github.com/headroom/headroom/internal/summary"
)

// maxOutliers is how many outliers are described in words.
const maxOutliers = 10

// outlierTexts describes which targets differ from the others.
func outlierTexts(s *summary.Run) []string {
	d := s.Outliers
	if d == nil {
		return nil
	}
	texts := []string{d.Text}
	for i, o := range d.Found {
		if i == maxOutliers {
			texts = append(texts, fmt.Sprintf("%d more: --json has all of them.", len(d.Found)-i))
			break
		}
		texts = append(texts, o.Text+".")
	}
	return texts
}
