package rule

// nearest returns the known name that takes the fewest changes of a letter to reach, or "" when that would be another
// word rather than a slip. Keys are long, so a third of their letters may be wrong, and two of a short one's.
func nearest(name string, known []string) string {
	best, limit := "", max(min(2, len(name)/2), len(name)/3)
	if len(name) > 100 {
		return ""
	}
	for _, k := range known {
		if d := distance(name, k); d <= limit {
			best, limit = k, d-1
		}
	}
	return best
}

// distance counts the letters that must be put in, left out or replaced to get from a to b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			corner, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, corner+cost)
		}
	}
	return row[len(b)]
}
