package staged

import (
	"math"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/soak"
)

// soaked is a run of two directions in rounds of a minute. Writes lose most of their rate once a cache is full.
func soaked(rounds int, reads, writes func(i int) float64) soak.Document {
	run := lab.Run{ID: "7KQ4M2X9TD", Targets: []lab.RunTarget{{Target: "ssh://db1",
		Place: lab.Place{Kind: lab.Directory, Path: "/srv"}}},
		Cells: []lab.Cell{{Job: "mixed", Repetitions: rounds, Params: map[string]string{"rw": "randrw",
			"runtime": "60s"}}}}
	var all []lab.Repetition
	for i := range rounds {
		values := map[string]float64{"read.iops": reads(i), "write.iops": writes(i)}
		if i == 3 {
			values = map[string]float64{} // failed
		}
		all = append(all, lab.Repetition{Start: time.Unix(int64(60*i), 0), Values: values})
	}
	return soak.Analyse(run, all, []lab.CountedWarning{lab.Warning{Code: "store-on-device",
		Text: "the results are on the same disk", Taints: []string{}}.In("", 0, 0).CountedWarning,
		lab.Warning{Code: "generator-bound", Text: "fio had no CPU left",
			Taints: []string{"write.iops"}}.In("", 2, rounds).CountedWarning})
}

func fullCache() soak.Document {
	wobble := func(v float64, i int) float64 { return v * (1 + 0.02*math.Sin(float64(7*i*i))) }
	return soaked(120, func(i int) float64 { return wobble(21000, i) }, func(i int) float64 {
		if i < 34 {
			return wobble(9000, i)
		}
		return wobble(2100, i)
	})
}

// oddSoak has unusual values, and a long name.
func oddSoak() soak.Document {
	d := soaked(3, func(int) float64 { return 0 }, func(i int) float64 { return math.Pow(1000, float64(i)) })
	d.Job = strings.Repeat("name", 50)
	return d
}
