package diagnosis

import (
	"iter"
	"slices"
	"strconv"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/stat"
)

// FactsOfLoads returns the figures of a run's loads, as facts for rules: how busy fio's processes were, and what share
// of their time flushes took; with a role, only the loads of that target. The values are medians over repetitions.
func FactsOfLoads(run lab.Run, role string, repetitions iter.Seq2[lab.Repetition, error]) ([]lab.Fact, error) {
	values, counts := map[string]map[string][]float64{}, map[string]int{}
	err := run.Read(repetitions, func(_ lab.Cell, r lab.Repetition) error {
		if values[r.Cell] == nil {
			values[r.Cell] = map[string][]float64{}
		}
		counts[r.Cell]++
		for metric, v := range r.Values {
			values[r.Cell][metric] = append(values[r.Cell][metric], v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all []lab.Fact
	for _, c := range run.Cells {
		of := func(metric string) (float64, bool) {
			list := values[c.ID][metric]
			return stat.Median(list), len(list) > 0
		}
		add := func(key string, v float64) {
			all = append(all, lab.Fact{Key: key, About: loadName(c.ID, c.Arm),
				Value: strconv.FormatFloat(v, 'g', 4, 64), Source: prose.Count(counts[c.ID], "repetition")})
		}
		elsewhere := slices.ContainsFunc(run.Arms, func(a lab.Arm) bool {
			return a.ID == c.Arm && a.Role != role && role != ""
		})
		if values[c.ID] == nil || elsewhere {
			continue
		}
		user, known := of("cpu.user")
		if system, also := of("cpu.system"); lab.ByFio(c.Engine) && (known || also) {
			jobs, err := strconv.ParseFloat(c.Params["numjobs"], 64)
			if err != nil || jobs < 1 {
				jobs = 1
			}
			add("measured.busy", min(1, (user+system)/jobs))
		} else {
			all = append(all, lab.Fact{Key: "measured.busy", About: loadName(c.ID, c.Arm),
				Unknown: "its CPU time is not known"})
		}
		if share, known := lab.FlushShare(c.Params, of); known {
			time, _ := of(lab.Latency(lab.Sync, "mean"))
			add("measured.flush.share", share)
			add("measured.flush.time", time)
		}
	}
	return all, nil
}
