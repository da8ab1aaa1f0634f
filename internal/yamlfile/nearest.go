package yamlfile

import (
	"slices"
	"strings"
)

// DidYouMean returns a hint for an unknown name; empty if no known name is similar.
func DidYouMean(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return "did you mean " + near + "?"
	}
	return ""
}

// Nearest returns the known name that most likely was meant, or "". One edit is taken for a typing error in names of
// four letters and more, two in names of eight and more: shorter names are too similar to each other.
func Nearest(name string, known []string) string {
	name = strings.ToLower(name)
	limit := 0
	switch n := len(name); {
	case n >= 8:
		limit = 2
	case n >= 4:
		limit = 1
	}
	best := ""
	for _, k := range known {
		if d := Distance(name, k, limit); d <= limit && d > 0 {
			best, limit = k, d-1
		}
	}
	return best
}

// Distance counts the letters inserted, left out, replaced or swapped with their neighbour between a and b (optimal
// string alignment). It gives up above the limit and then returns limit+1.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	var before []int // the row before the last one
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		if slices.Min(row) > limit {
			return limit + 1
		}
		before, last = last, row
	}
	return last[len(b)]
}
