package compared

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/stat"
)

// longName is unrealistically long, and has no place for a line break.
var longName = strings.Repeat("sequentialreadsofonemebibyte", 8)[:200]

// comparedWith compares a run of some jobs, each with its level, with one that has other levels.
func comparedWith(t testing.TB, base, next string, jobs []comparedJob, levels func(i int) float64) compare.Document {
	t.Helper()
	knowledge, err := diff.Load()
	if err != nil {
		t.Fatal(err)
	}
	changed := make([]comparedJob, len(jobs))
	for i, j := range jobs {
		changed[i] = comparedJob{j.name, j.params, map[string]float64{}, j.noise, j.warnings}
		for metric, v := range j.levels {
			changed[i].levels[metric] = v * levels(i)
		}
	}
	return compare.Compare(knowledge, comparedRun("BASEBASEBA", base, jobs, nil),
		[]compare.Run{comparedRun("NEXTNEXTNE", next, changed, nil)}, compare.Options{})
}

// oddComparison has what usual comparisons lack: one repetition, fifty times as much and nothing at all, names of 200
// characters, and noise that leaves everything undecided.
func oddComparison(t testing.TB) compare.Document {
	read := map[string]float64{"read.iops": 1000}
	d := comparedWith(t, longName, longName+" of another kind", []comparedJob{
		{longName, "rw=read bs=1m", read, 0.01, nil},
		{"fifty times", "rw=randread bs=4k", map[string]float64{"read.iops": 123456, "read.latency.mean": 80e-6}, 0.01,
			nil},
		{"nothing", "rw=randwrite bs=4k", map[string]float64{"write.iops": 50}, 0.01, nil},
		{"anything", "rw=randwrite bs=8k", map[string]float64{"write.iops": 1e9}, 0.7, nil},
		{"the same", "rw=randrw bs=4k", map[string]float64{"read.iops": 1, "write.iops": 1e7}, 0.001, nil},
		{"<b>&'\"", "rw=read bs=4k", read, 0.002, nil},
	}, func(i int) float64 { return []float64{0.98, 51, 0, 1.4, 1, 1.02}[i] })
	once := comparedWith(t, "once", "again", []comparedJob{{"once", "rw=read bs=4k", read, 0, nil}},
		func(int) float64 { return 3 }).Cells[0]
	once.Run, once.Change = d.New[0].ID, &compare.Change{RatioEstimate: stat.RatioEstimate{Ratio: 3}, Per: "repetition",
		N: 1}
	once.Base, once.New = compare.Figures{Center: 1000, N: 1}, compare.Figures{Center: 3000, N: 1}
	once.Verdict, once.Why = compare.Undecided, "one repetition says nothing of the spread"
	d.Cells = append(d.Cells, once)
	return d
}

// ofCellsCompared returns a comparison with a number of cells, of which some changed.
func ofCellsCompared(t testing.TB, cells int) compare.Document {
	var jobs []comparedJob
	for i := range cells {
		metric := []string{"read.iops", "write.iops"}[i%2]
		jobs = append(jobs, comparedJob{fmt.Sprint("job-", i), fmt.Sprintf("rw=%s bs=4k iodepth=%d",
			[]string{"randread", "randwrite"}[i%2], i+1), map[string]float64{metric: 1000 + float64(i)},
			0.01 + 0.001*float64(i%7), nil})
	}
	return comparedWith(t, "debian", "talos", jobs, func(i int) float64 { return 1 + 0.1*float64(i%5-2) })
}
