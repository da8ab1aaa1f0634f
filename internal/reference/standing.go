package reference

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// Standing is a measured figure next to a published one.
type Standing struct {
	Reference string  `json:"reference"`
	Job       string  `json:"job"`
	Metric    string  `json:"metric"`
	Published float64 `json:"published"`
	Measured  float64 `json:"measured"`
	// Ratio of measured to published.
	Ratio float64 `json:"ratio"`
	Comparability
	// Doubts about the published figure, and its place in the source.
	Doubts []string `json:"doubts,omitempty"`
	Where  string   `json:"where"`
}

// Standings compares the figures of a measurement (by metric, in base units) with all references that have a load of
// its kind, the most comparable first.
func Standings(references []Reference, m Measurement, values map[string]float64) []Standing {
	var out []Standing
	for _, r := range references {
		for _, result := range r.Results {
			c, ok := r.Compare(result, m)
			if !ok {
				continue
			}
			for _, metric := range slices.Sorted(maps.Keys(result.Values)) {
				if direction, ok := strings.CutSuffix(metric, ".bandwidth"); ok && result.Values[lab.IOPS(direction)] >
					0 {
					continue // it is the same figure times the block size
				}
				here := counterpart(metric, values)
				measured := values[here]
				if measured <= 0 {
					continue
				}
				s := Standing{Reference: r.Name, Job: result.Job, Metric: here, Published: result.Values[metric],
					Measured: measured,
					Ratio:    measured / result.Values[metric], Comparability: c, Where: result.Where}
				for _, w := range r.Warnings {
					if w.Tainted(metric) {
						s.Doubts = append(s.Doubts, w.Text)
					}
				}
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Standing) int {
		return cmp.Or(cmp.Compare(rank(a.Grade), rank(b.Grade)), cmp.Compare(len(a.Doubts), len(b.Doubts)),
			cmp.Compare(len(a.Differences), len(b.Differences)))
	})
	return out
}

// counterpart returns the metric that a published one is compared with: the same metric, or, if the source does not
// state the direction, that of the only direction that was measured. It is empty if there is none.
func counterpart(metric string, values map[string]float64) string {
	quantity, undirected := strings.CutPrefix(metric, lab.Mixed+".")
	if _, ok := values[metric]; ok || !undirected {
		return metric
	}
	found := ""
	for _, direction := range []string{lab.Read, lab.Write} {
		if values[direction+"."+quantity] <= 0 {
			continue
		}
		if found != "" {
			return ""
		}
		found = direction + "." + quantity
	}
	return found
}

// rank returns the position of a grade, the best first.
func rank(g Grade) int { return slices.Index([]Grade{SameConditions, Close, OrderOfMagnitude}, g) }

// StandingsSchema names the published JSON document of a run compared with references.
const StandingsSchema = "headroom/standings/v1"

// RunStandings compares a run with published results.
type RunStandings struct {
	Schema string          `json:"schema"`
	Run    string          `json:"run"`
	Cells  []LoadStandings `json:"cells"`
}

// LoadStandings are the standings of one load.
type LoadStandings struct {
	Job       string            `json:"job"`
	Params    map[string]string `json:"params"`
	Standings []Standing        `json:"standings"`
}
