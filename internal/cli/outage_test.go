package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// measuredLoad is a load of a saved run: values of its repetitions by metric, and how many more of them failed.
type measuredLoad struct {
	job    string
	params map[string]string
	own    map[string]lab.MetricInfo
	values map[string][]float64
	failed int
}

// readLoad is a load of random reads with its IOPS.
func readLoad(iops ...float64) measuredLoad {
	return measuredLoad{job: "randread", params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "32"},
		values: map[string][]float64{"read.iops": iops}}
}

// writeLoad is a load of writes that is always as fast.
func writeLoad() measuredLoad {
	return measuredLoad{job: "write", params: map[string]string{"rw": "write", "bs": "1M", "iodepth": "8"},
		values: map[string][]float64{"write.iops": times(10, 3900)}}
}

// times is a value so many times.
func times(n int, v float64) []float64 { return slices.Repeat([]float64{v}, n) }

// failing is a load of which repetitions failed, beside those that it has.
func (l measuredLoad) failing(repetitions int) measuredLoad {
	l.failed = repetitions
	return l
}

// named is a load under another name.
func (l measuredLoad) named(job string) measuredLoad {
	l.job = job
	return l
}

// notReached is a load that was planned and never began.
func (l measuredLoad) notReached() measuredLoad {
	l.values = nil
	return l
}

// saveRuns saves a run a day of a suite on one machine, each with its loads.
func saveRuns(t *testing.T, dir string, runs [][]measuredLoad) {
	t.Helper()
	s := store.Open(dir)
	for i, loads := range runs {
		created := time.Date(2026, 7, 4, 3, 0, 0, 0, time.UTC).AddDate(0, 0, i)
		run := lab.Run{ID: fmt.Sprintf("RUN%02dAAAAA", i), Status: lab.Running, Source: lab.Measured, Created: created,
			Version: "test", Suite: "nightly", Targets: []lab.RunTarget{{Role: "storage", Target: "local",
				Place: lab.Place{Kind: lab.Device, Path: "/dev/nvme1n1"}}},
			Arms: []lab.Arm{{ID: "1", Role: "storage", Levels: map[string]string{}}}}
		status, reached, failed := lab.Complete, 0, 0
		for n, l := range loads {
			run.Cells = append(run.Cells, lab.Cell{ID: fmt.Sprint(n), Arm: "1", Job: l.job, Engine: "fio",
				Params: l.params, Metrics: l.own, Repetitions: 3})
			if len(l.values)+l.failed == 0 {
				status = lab.Interrupted
			}
		}
		b, err := s.Create(run)
		if err != nil {
			t.Fatal(err)
		}
		for n, l := range loads {
			most := 0
			for _, values := range l.values {
				most = max(most, len(values))
			}
			for k := range most + l.failed {
				rep := lab.Repetition{Cell: fmt.Sprint(n), Number: k + 1, Start: created, Values: map[string]float64{}}
				for metric, values := range l.values {
					if k < len(values) {
						rep.Values[metric] = values[k]
					}
				}
				reached++
				if k >= most {
					failed++
					rep.Warnings = []lab.Warning{{Code: "no-result", Text: "fio failed", Taints: []string{"*"}}}
				}
				if err := b.Repetition(rep); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		if status == lab.Complete && failed == reached {
			status = lab.Failed
		}
		if err := b.Close(func(r *lab.Run) { r.Status = status }); err != nil {
			t.Fatal(err)
		}
	}
}

// goodRuns are runs of two loads that are as fast each time.
func goodRuns(runs int) [][]measuredLoad {
	var all [][]measuredLoad
	for i := range runs {
		v := 1e5 * (1 + 0.001*float64(i%3))
		all = append(all, []measuredLoad{readLoad(v, v*1.001, v*0.999), writeLoad()})
	}
	return all
}

// What a gate on a history says of every way in which a load of the newest run can be without a number, and what it
// exits with: 3 for an outage, 5 for what is unknown, 0 for what was left out.
func TestHistoryGateOnOutages(t *testing.T) {
	stood := readLoad(0, 0, 0)
	failed := readLoad().failing(3)
	lower := func(values ...float64) measuredLoad {
		return measuredLoad{job: "check", params: map[string]string{},
			own:    map[string]lab.MetricInfo{"errors": {Better: lab.Lower, Decides: true}},
			values: map[string][]float64{"errors": values}}
	}
	paced := func(iops float64, latency ...float64) measuredLoad {
		l := measuredLoad{job: "paced", params: map[string]string{"rw": "randread", "rate_iops": "1000"},
			values: map[string][]float64{"read.iops": {iops, iops, iops}}}
		if len(latency) > 0 {
			l.values["read.latency.mean"] = latency
		}
		return l
	}
	withFirst := func(runs [][]measuredLoad, first measuredLoad) [][]measuredLoad {
		for i := range runs {
			runs[i] = append([]measuredLoad{first}, runs[i]...)
		}
		return runs
	}
	for _, c := range []struct {
		name string
		runs [][]measuredLoad
		code int
		want string // part of the output, with single spaces
	}{
		{"as before", goodRuns(12), 0, "has no regression"},
		{"measured 0", append(goodRuns(12), []measuredLoad{stood, writeLoad()}), 3, "randread 4k q32 (it measured 0)"},
		{"measured 0 three times", append(goodRuns(12), []measuredLoad{stood, writeLoad()}, []measuredLoad{stood,
			writeLoad()},
			[]measuredLoad{stood, writeLoad()}), 3,
			"Failed, or measured 0, and so without a level: randread 4k q32 in 3 runs, the last of them RUN14"},
		{"failed", append(goodRuns(12), []measuredLoad{failed, writeLoad()}), 3, "randread 4k q32 (the load failed)"},
		{"all loads failed", append(goodRuns(12), []measuredLoad{failed, writeLoad().notReached().failing(3)}), 3,
			"randread 4k q32 (the load failed) and write 1M q8 (the load failed)"},
		{"0 in one of three", append(goodRuns(12), []measuredLoad{readLoad(1e5, 1e5, 0), writeLoad()}), 5,
			"? 1 of 3 repetitions measured 0"},
		{"one of three failed", append(goodRuns(12), []measuredLoad{readLoad(1e5, 1e5).failing(1), writeLoad()}), 5,
			"? 1 of 3 repetitions failed"},
		{"cut off", append(goodRuns(12), []measuredLoad{writeLoad(), readLoad().notReached()}), 5,
			"the newest run ended before it"},
		{"cut off at once", append(goodRuns(12), []measuredLoad{readLoad().notReached(), writeLoad().notReached()}), 5,
			"the newest run ended before it"},
		{"left out", append(goodRuns(12), []measuredLoad{writeLoad()}), 0, "no longer measured"},
		{"failed, then left out", append(goodRuns(12), []measuredLoad{failed, writeLoad()},
			[]measuredLoad{writeLoad()}), 5,
			"no longer measured; the load failed in run"},
		{"measured 0, then left out", append(goodRuns(12), []measuredLoad{stood, writeLoad()},
			[]measuredLoad{writeLoad()}), 5,
			"no longer measured; it measured 0 in run"},
		{"failed, then as before", append(append(goodRuns(12), []measuredLoad{failed, writeLoad()}), goodRuns(1)...), 0,
			"Failed, or measured 0, and so without a level: randread 4k q32 in RUN12"},
		{"renamed", append(goodRuns(12), []measuredLoad{readLoad(1e5, 1e5, 1e5).named("reads"), writeLoad()}), 5,
			"reads 4k q32"},
		{"another value", append(goodRuns(12), []measuredLoad{{job: "randread", params: readLoad().params,
			values: map[string][]float64{"read.latency.mean": {1e-3}}}, writeLoad()}), 5,
			"the newest run has no value of it"},
		{"never measured", withFirst(goodRuns(12), failed.named("new")), 5, "no run has measured it"},
		{"nothing was ever measured", [][]measuredLoad{{failed}, {failed}}, 5, "No load has been measured in any"},
		{"0 of what is better the less there is", append(withFirst(goodRuns(12), lower(3, 3, 3)),
			[]measuredLoad{lower(0, 0, 0), readLoad(1e5, 1e5, 1e5), writeLoad()}), 0, "has no regression"},
		{"a load of a fixed rate that stands", append(withFirst(goodRuns(12), paced(1000, 1e-3, 1e-3, 1e-3)),
			[]measuredLoad{paced(0), readLoad(1e5, 1e5, 1e5), writeLoad()}), 3, "paced (it measured 0)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			saveRuns(t, dir, c.runs)
			code, out, errs := typed([]string{"history", "nightly", "--fail-on", "regression"}, dir)
			words := strings.Join(strings.Fields(out), " ")
			if code != c.code || !strings.Contains(words, c.want) {
				t.Errorf("exit %d, want %d and %q:\n%s%s", code, c.code, c.want, out, errs)
			}
			for line := range strings.Lines(out) {
				if len([]rune(strings.TrimRight(line, "\n"))) > 80 {
					t.Errorf("wider than 80 columns: %s", line)
				}
			}
			page, _, errs := typed([]string{"history", "nightly", "--format", "html"}, dir)
			if page != 0 {
				t.Errorf("as a page: exit %d, %s", page, errs)
			}
		})
	}
}

// What a gate on a comparison says of every way in which a load of the new run can be without a number.
func TestCompareGateOnOutages(t *testing.T) {
	stood, failed := readLoad(0, 0, 0), readLoad().failing(3)
	base := []measuredLoad{readLoad(times(10, 1e5)...), writeLoad()}
	mixed := func(values map[string][]float64) measuredLoad {
		return measuredLoad{job: "mixed", params: map[string]string{"rw": "randrw", "bs": "4k"}, values: values}
	}
	both := map[string][]float64{"read.iops": times(10, 7e4), "write.iops": times(10, 3e4)}
	for _, c := range []struct {
		name      string
		base, new []measuredLoad
		code      int
		want      string
	}{
		{"the same", base, base, 0, ": same in all"},
		{"measured 0", base, []measuredLoad{stood, writeLoad()}, 3, "; measured 0: randread"},
		{"measured 0 before", []measuredLoad{stood, writeLoad()}, base, 5, "incomparable in 1"},
		{"measured 0 on both sides", []measuredLoad{stood, writeLoad()}, []measuredLoad{stood, writeLoad()}, 5,
			"incomparable in 1"},
		{"failed", base, []measuredLoad{failed, writeLoad()}, 3, "; failed: randread"},
		{"failed before", []measuredLoad{failed, writeLoad()}, base, 0, "1 job: same"},
		{"all loads failed", base, []measuredLoad{failed, writeLoad().notReached().failing(3)}, 3,
			"has no number of RUN14; failed: randread and write"},
		{"failed under another name", base, []measuredLoad{failed.named("reads"), writeLoad()}, 3,
			"; failed: randread"},
		{"0 in one of ten", base, []measuredLoad{readLoad(append(times(9, 1e5), 0)...), writeLoad()}, 5,
			"incomparable in 1"},
		{"one of ten failed", base, []measuredLoad{readLoad(times(9, 1e5)...).failing(1), writeLoad()}, 5,
			"; failed in some repetitions: randread"},
		{"cut off", base, []measuredLoad{writeLoad(), readLoad().notReached()}, 5, "; not reached: randread"},
		{"left out", base, []measuredLoad{writeLoad()}, 0, "1 job: same"},
		{"another load", base, []measuredLoad{readLoad(times(10, 1e5)...).named("reads"), writeLoad()}, 0,
			": same in all"},
		{"another value", base, []measuredLoad{{job: "randread", params: readLoad().params,
			values: map[string][]float64{"read.latency.p99": times(10, 1e-3)}}, writeLoad()}, 5,
			"; without a number of the base's kind: randread"},
		{"no writes any more", []measuredLoad{mixed(both)},
			[]measuredLoad{mixed(map[string][]float64{"read.iops": times(10, 7e4)})}, 5,
			"; without a number of the base's kind: mixed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			saveRuns(t, dir, append(goodRuns(14), c.base, c.new)) // which tell how far sessions differ
			for _, failOn := range []string{"slower", "different", "undecided"} {
				code, out, errs := typed([]string{"compare", "RUN14AAAAA", "RUN15AAAAA", "--fail-on", failOn}, dir)
				want := c.code
				if failOn == "undecided" && want == 3 {
					want = 5
				}
				words := strings.Join(strings.Fields(out), " ")
				if code != want || !strings.Contains(words, c.want) {
					t.Errorf("--fail-on %s: exit %d, want %d and %q:\n%s%s", failOn, code, want, c.want, out, errs)
				}
			}
		})
	}
}
