package rule

import "headroom/internal/yamlfile"

// nearest returns the known name that takes the fewest changes of a letter to reach, or "" when that would be another
// word rather than a slip. Keys are long, so a third of their letters may be wrong, and two of a short one's.
func nearest(name string, known []string) string {
	best, limit := "", max(min(2, len(name)/2), len(name)/3)
	if len(name) > 100 {
		return ""
	}
	for _, k := range known {
		if d := yamlfile.Distance(name, k, limit); d <= limit {
			best, limit = k, d-1
		}
	}
	return best
}
