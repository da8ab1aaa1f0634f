package fio

import (
	"math"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// job returns a job that read at 100 I/O/s for 10 s, with these latencies in ns.
func job(name string, group int, l *Latency) Job {
	return Job{
		Name: name, Group: group, Seconds: 10, RunSeconds: 10, UserCPU: 0.1, SystemCPU: 0.2,
		Directions: map[string]Direction{lab.Read: {
			Bytes: 4096_000, IOs: 1000, IOPS: 100, Bandwidth: 409_600, Seconds: 10, Completion: l,
		}},
	}
}

func TestGroupsOfJobs(t *testing.T) {
	few := &Latency{Min: 1e-6, Max: 5e-6, Mean: 2e-6, N: 100, Percentiles: map[float64]float64{0.99: 4e-6},
		Histogram: lab.Histogram{Nanoseconds: []int64{1000, 5000}, Counts: []uint64{75, 25}}}
	many := &Latency{Min: 2e-6, Max: 9e-6, Mean: 4e-6, N: 300,
		Histogram: lab.Histogram{Nanoseconds: []int64{2000, 5000, 9000}, Counts: []uint64{100, 197, 3}}}
	d := Document{Global: map[string]string{"bs": "4k", "rw": "read"}, Jobs: []Job{
		job("a", 0, few), job("b", 0, few), job("a", 0, many), job("a", 1, few),
	}}
	for _, i := range []int{0, 2} {
		d.Jobs[i].Options = map[string]string{"rw": "randread", "name": "a"}
	}
	groups := d.Groups()
	if len(groups) != 3 || groups[0].Name != "a" || len(groups[0].Jobs) != 2 || groups[1].Name != "b" {
		t.Fatalf("got %v", groups)
	}
	if p := groups[0].Params; p["bs"] != "4k" || p["rw"] != "randread" || len(p) != 2 {
		t.Errorf("params %v", p)
	}
	for metric, want := range map[string]float64{
		"read.iops":         200,
		"read.bandwidth":    819_200,
		"read.latency.min":  1e-6,
		"read.latency.max":  9e-6,
		"read.latency.mean": (100*2e-6 + 300*4e-6) / 400,
		// Of 400 operations, 75 take 1 µs, 100 2 µs, 222 5 µs, 3 9 µs: the 200th and the 396th take 5 µs.
		"read.latency.p50":   5e-6,
		"read.latency.p99":   5e-6,
		"read.latency.p99.9": 9e-6,
		"cpu.user":           0.2,
		"cpu.system":         0.4,
		"cpu.per_io":         0.6 * 10 / 2000,
		"elapsed":            10,
	} {
		if got, ok := groups[0].Values[metric]; !ok || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	if groups[0].IOs != 2000 {
		t.Errorf("%d I/Os", groups[0].IOs)
	}
	if few.Histogram.Counts[0] != 75 {
		t.Error("adding up has changed a job's own bins")
	}
}

// TestJobsOfOneName checks that jobs with one name are one load only if their options agree, except for files.
func TestJobsOfOneName(t *testing.T) {
	for _, c := range []struct {
		second map[string]string
		want   int
	}{
		{map[string]string{"rw": "randread", "bs": "4k", "filename": "/b", "name": "test"}, 1},
		{map[string]string{"rw": "randread", "filename": "/b"}, 1}, // bs=4k is for all jobs
		{map[string]string{"rw": "randread", "bs": "256k"}, 2},
		{map[string]string{"rw": "write", "bs": "4k"}, 2},
		{map[string]string{"rw": "randread", "bs": "4k", "rate_iops": "50"}, 2},
	} {
		d := Document{Global: map[string]string{"bs": "4k"}, Jobs: []Job{job("test", 0, nil), job("test", 0, nil)}}
		d.Jobs[0].Options, d.Jobs[1].Options = map[string]string{"rw": "randread", "filename": "/a"}, c.second
		if got := d.Groups(); len(got) != c.want {
			t.Errorf("%v: %d groups", c.second, len(got))
		}
		if d.Together(d.Jobs[0], d.Jobs[1]) != (c.want == 1) {
			t.Errorf("%v: they are together, or not, unlike their groups", c.second)
		}
	}
}

// TestJobsWithoutOptions checks that jobs without printed options, like those of fio's clients, belong to the only load
// with their name, and to none if there are two.
func TestJobsWithoutOptions(t *testing.T) {
	d := Document{Jobs: []Job{job("t", 0, nil), job("t", 0, nil), job("t", 0, nil), job("u", 0, nil)}}
	d.Jobs[1].Options = map[string]string{"rw": "randread", "bs": "4k"}
	all := d.Groups()
	if len(all) != 2 || len(all[0].Jobs) != 3 || all[0].Params["bs"] != "4k" || len(all[1].Params) != 0 {
		t.Errorf("%+v", all)
	}
	if !d.Together(d.Jobs[0], d.Jobs[1]) || d.Together(d.Jobs[0], d.Jobs[3]) {
		t.Error("they are together, or not, unlike their groups")
	}
	d.Jobs[2].Options = map[string]string{"rw": "randread", "bs": "64k"}
	if all := d.Groups(); len(all) != 4 {
		t.Errorf("%d groups of two loads and one that is not known", len(all))
	}
}

// TestUnlikeJobs checks that an entry for jobs of different loads does not have the options of the first.
func TestUnlikeJobs(t *testing.T) {
	entry := func(options map[string]string) Group {
		d := Document{Global: map[string]string{"ioengine": "libaio"}, Jobs: []Job{job("bank-A", 0, nil)}}
		d.Jobs[0].Options = options // of 4,096 bytes
		return d.Groups()[0]
	}
	g := entry(map[string]string{"rw": "read", "bs": "256k", "rate_iops": "100", "group_reporting": "1"})
	if !g.Unlike || g.Name != "bank-A and others" || len(g.Params) != 1 || g.Params["ioengine"] != "libaio" {
		t.Errorf("%q, %v", g.Name, g.Params)
	}
	for _, alike := range []map[string]string{
		{"rw": "read", "bs": "4k", "group_reporting": "1"},
		{"rw": "read", "bs": "256k"}, // of one job, whose file may be small
		{"rw": "read", "bssplit": "4k/50:64k/50", "group_reporting": "1"},
		{"rw": "read", "group_reporting": "1"}, // the header may not have been pasted
	} {
		if g := entry(alike); g.Unlike || g.Name != "bank-A" {
			t.Errorf("%v: %q", alike, g.Name)
		}
	}
}

// Percentiles of several jobs can't be combined; without bins there is none.
func TestNoPercentilesWithoutBins(t *testing.T) {
	l := &Latency{Min: 1e-6, Max: 5e-6, Mean: 2e-6, N: 100, Percentiles: map[float64]float64{0.99: 4e-6, 0.5: 2e-6}}
	one := Document{Jobs: []Job{job("a", 0, l)}}.Groups()[0]
	if one.Values["read.latency.p99"] != 4e-6 || one.Values["read.latency.p50"] != 2e-6 {
		t.Errorf("one job: %v", one.Values)
	}
	if _, ok := one.Values["read.latency.p90"]; ok {
		t.Error("a percentile that fio did not print was made up")
	}
	for metric := range (Document{Jobs: []Job{job("a", 0, l), job("a", 0, l)}}.Groups()[0].Values) {
		if strings.Contains(metric, ".latency.p") {
			t.Errorf("two jobs without bins have %s", metric)
		}
	}
}

func TestWhatWasNotMeasuredIsAbsent(t *testing.T) {
	g := Document{Jobs: []Job{job("a", 0, nil)}}.Groups()[0]
	for metric := range g.Values {
		if strings.Contains(metric, "latency") || strings.HasPrefix(metric, "write") ||
			strings.HasPrefix(metric, "sync") {
			t.Errorf("%s is there", metric)
		}
	}
	if len(g.Errors) > 0 {
		t.Errorf("errors %v", g.Errors)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		job  Job
		want string
	}{
		{Job{Name: "a", Error: 28}, `job "a" failed: no space left on device (errno 28)`},
		{Job{Name: "a", Host: "h:1", Error: 5}, `job "a" on h:1 failed: input/output error (errno 5)`},
		{Job{Name: "a", TotalErrors: 3, FirstError: 5},
			`job "a" continued after 3 failed I/Os, the first of them: input/output error (errno 5)`},
		{Job{Name: "a", TotalErrors: 3}, `job "a" continued after 3 failed I/Os`},
		{Job{Name: "a"}, `job "a" did no I/O`},
	} {
		g := Document{Jobs: []Job{c.job}}.Groups()[0]
		if len(g.Errors) != 1 || g.Errors[0] != c.want {
			t.Errorf("got %q, want %q", g.Errors, c.want)
		}
	}
	if g := (Document{Partial: true, Jobs: []Job{{Name: "a"}}}).Groups()[0]; len(g.Errors) > 0 {
		t.Errorf("what was pasted in part has errors %q", g.Errors)
	}
}

// Before 3.8 there is no job_runtime; then the number of jobs of an entry is computed from the options.
func TestCPUOfOldGroups(t *testing.T) {
	j := job("a", 0, nil)
	j.RunSeconds = 0
	for reporting, want := range map[string]float64{"": 0.4, "1": 0.4, "0": 0.1} {
		j.Options = map[string]string{"numjobs": "4", "group_reporting": reporting}
		if got := (Document{Jobs: []Job{j}}).Groups()[0].Values["cpu.user"]; math.Abs(got-want) > 1e-12 {
			t.Errorf("group_reporting=%q: cpu.user is %v, want %v", reporting, got, want)
		}
	}
}
