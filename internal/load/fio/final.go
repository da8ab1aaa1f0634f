package fio

import "maps"

// Final removes the documents that a later one replaces: with --status-interval, fio repeatedly prints the totals since
// its start. A document replaces the previous one if both have the same jobs, none of which has done less, and if the
// time between the two equals the time for which fio continued. Documents of separate runs stay, even if the same job
// was run twice.
func Final(docs []Document) []Document {
	final := make([]Document, 0, len(docs))
	for i, d := range docs {
		if i+1 == len(docs) || !d.continuedBy(docs[i+1]) {
			final = append(final, d)
		}
	}
	return final
}

// How much the clocks can differ, in seconds: run times are in milliseconds, the time since fio's start in whole
// seconds, rounded up.
const (
	busySlack    = 0.25
	elapsedSlack = 1.01
)

func (d Document) continuedBy(next Document) bool {
	if d.Version != next.Version || d.Time.IsZero() || next.Time.Before(d.Time) || len(d.Jobs) != len(next.Jobs) {
		return false
	}
	for i, j := range d.Jobs {
		n := next.Jobs[i]
		if j.Name != n.Name || j.Group != n.Group || j.Host != n.Host || !maps.Equal(j.Options, n.Options) {
			return false
		}
		for name, dir := range j.Directions {
			if n.Directions[name].IOs < dir.IOs {
				return false
			}
		}
	}
	between := next.Time.Sub(d.Time).Seconds()
	if near(between, next.busy()-d.busy(), busySlack) {
		return true
	}
	// The time after the last I/O (of end_fsync, for example) is not run time. A second run of the same job starts
	// counting again, so that its elapsed time is not longer.
	elapsed := next.elapsed() - d.elapsed()
	return elapsed >= 1 && near(between, elapsed, elapsedSlack)
}

func near(a, b, slack float64) bool { return a-b < slack && b-a < slack }

// busy returns the time in seconds that the document covers: the run times of the groups, which run one after the
// other.
func (d Document) busy() float64 {
	byGroup := map[int]float64{}
	for _, j := range d.Jobs {
		byGroup[j.Group] = max(byGroup[j.Group], j.Seconds)
	}
	total := 0.0
	for _, seconds := range byGroup {
		total += seconds
	}
	return total
}

func (d Document) elapsed() float64 {
	longest := 0.0
	for _, j := range d.Jobs {
		longest = max(longest, j.Elapsed)
	}
	return longest
}
