package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/history"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/golden"
)

// weekly is a history to be put into a store: a run a week of two cells on one machine.
type weekly struct {
	runs int
	// kernel of a run, and how much slower its random reads are, by its number from 0.
	kernel func(run int) string
	factor func(run int) float64
	noise  float64
	// host and place; h1 and /dev/nvme1n1 unless set.
	host string
	seed uint64
}

func (w weekly) fill(t *testing.T, dir string) {
	t.Helper()
	s := store.Open(dir)
	r := rand.New(rand.NewPCG(w.seed, 5))
	begin := time.Date(2026, 7, 4, 3, 0, 0, 0, time.UTC)
	host := w.host
	if host == "" {
		host = "h1"
	}
	for i := range w.runs {
		created := begin.AddDate(0, 0, 7*i)
		known := []lab.Fact{
			{Key: "host.name", Value: host},
			{Key: "kernel.release", Value: w.kernel(i), Source: "/proc/sys/kernel/osrelease"},
			{Key: "kernel.arch", Value: "x86_64"}, {Key: "disk.model", About: "nvme1n1", Value: "PM9A3"},
			{Key: "disk.queue.scheduler", About: "nvme1n1", Value: "none"},
		}
		place := lab.Place{Kind: lab.Device, Path: "/dev/nvme1n1"}
		run := lab.Run{ID: fmt.Sprintf("%s%02dAAAAAA", strings.ToUpper(host), i), Status: lab.Running,
			Source: lab.Measured, Created: created,
			Version: "test", Suite: "nvme",
			Targets: []lab.RunTarget{{Role: "storage", Target: "local", Place: place, Facts: known}},
			Arms:    []lab.Arm{{ID: "1", Role: "storage", Levels: map[string]string{}}},
			Cells: []lab.Cell{
				{ID: "a", Arm: "1", Job: "randread", Engine: "fio",
					Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "128"}},
				{ID: "b", Arm: "1", Job: "write", Engine: "fio",
					Params: map[string]string{"rw": "write", "bs": "1M", "iodepth": "8"}},
			}}
		b, err := s.Create(run)
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range []struct {
			id, metric string
			level      float64
		}{{"a", "read.iops", 1.7e6 * w.factor(i)}, {"b", "write.iops", 3900}} {
			level := cell.level * math.Exp(w.noise*r.NormFloat64())
			for n := range 3 {
				rep := lab.Repetition{Cell: cell.id, Number: n + 1, Start: created,
					Values: map[string]float64{cell.metric: level * math.Exp(0.3*w.noise*r.NormFloat64())}}
				if err := b.Repetition(rep); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := b.Facts("storage", store.Before, facts.Document{Schema: facts.DocumentSchema, Target: "local",
			Taken: created, Facts: known}); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
			t.Fatal(err)
		}
	}
}

func typed(args []string, dir string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	env := func(name string) string {
		if name == "HEADROOM_STORE" {
			return dir
		}
		return ""
	}
	code = Run(context.Background(), app.Environment{Args: append([]string{"headroom"}, args...),
		Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs,
		Env: env, Version: "test"})
	return code, out.String(), errs.String()
}

// at is old before the run with a number, and later from it on.
func at[V any](number int, old, later V) func(int) V {
	return func(run int) V {
		if run < number {
			return old
		}
		return later
	}
}

func TestHistory(t *testing.T) {
	kernel := at(13, "6.1.0-38-amd64", "6.12.9-amd64")
	for _, c := range []struct {
		name string
		weekly
		args []string
		code int
	}{
		{"update", weekly{runs: 23, kernel: kernel, factor: at(13, 1, 0.929), noise: 0.005, seed: 1}, nil, 3},
		{"accepted", weekly{runs: 23, kernel: kernel, factor: at(13, 1, 0.929), noise: 0.005, seed: 1},
			[]string{"--since", "H113"}, 0},
		{"better", weekly{runs: 23, kernel: kernel, factor: at(13, 1, 1.08), noise: 0.005, seed: 2}, nil, 0},
		{"newest", weekly{runs: 20, kernel: at(19, "6.1.0-38-amd64", "6.12.9-amd64"), factor: at(19, 1, 0.85),
			noise: 0.005, seed: 3}, nil, 3},
		{"steady", weekly{runs: 20, kernel: kernel, factor: at(99, 1.0, 1), noise: 0.003, seed: 4}, nil, 0},
		{"noisy", weekly{runs: 20, kernel: kernel, factor: at(99, 1.0, 1), noise: 0.06, seed: 5}, nil, 5},
		{"few", weekly{runs: 2, kernel: kernel, factor: at(99, 1.0, 1), noise: 0.005, seed: 6}, nil, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.fill(t, dir)
			code, out, errs := typed(append([]string{"history", "nvme", "--fail-on", "regression"}, c.args...), dir)
			if code != c.code {
				t.Errorf("exit %d, want %d: %s", code, c.code, errs)
			}
			text := out + "\n== stderr, exit " + fmt.Sprint(code) + "\n" + errs
			golden.Equal(t, filepath.Join("testdata", "history", c.name+".txt"), text)
			for line := range strings.Lines(out) {
				if len([]rune(strings.TrimRight(line, "\n"))) > 80 {
					t.Errorf("wider than 80 columns: %s", line)
				}
			}
		})
	}
}

// Machines are followed apart, and a document says everything that the table does.
func TestHistoryOfTwoMachines(t *testing.T) {
	dir := t.TempDir()
	weekly{runs: 20, kernel: at(10, "6.1.0", "6.12.9"), factor: at(10, 1, 0.9), noise: 0.01, seed: 7}.fill(t, dir)
	weekly{runs: 20, kernel: at(10, "6.1.0", "6.12.9"), factor: at(99, 1.0, 1), noise: 0.01, seed: 8,
		host: "h2"}.fill(t, dir)
	code, out, errs := typed([]string{"history", "nvme", "--json"}, dir)
	if code != 0 {
		t.Fatal(errs)
	}
	var d history.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil {
		t.Fatal(err)
	}
	if d.Schema != history.Schema || d.Verdict != history.Regression || len(d.Series) != 2 {
		t.Fatalf("%s, %s, %d series", d.Schema, d.Verdict, len(d.Series))
	}
	i := slices.IndexFunc(d.Series, func(s history.Series) bool { return s.Host == "h1" })
	h1, h2 := d.Series[i], d.Series[1-i]
	if len(h2.Events) > 0 || len(h1.Events) != 1 || h1.Events[0].Run != "H110AAAAAA" ||
		h1.Events[0].Before != "H109AAAAAA" {
		t.Fatalf("h1 %+v, h2 %+v", h1.Events, h2.Events)
	}
	e := h1.Events[0]
	if len(e.Differences) == 0 || e.Differences[0].Fact != "kernel.release" || e.Differences[0].A != "6.1.0" ||
		e.Differences[0].B != "6.12.9" {
		t.Errorf("differences %+v", e.Differences)
	}
	c := h1.Cells[e.Cells[0]].Changes[0]
	if c.Verdict != "worse" || *c.Lo > 0.9 || *c.Hi < 0.9 || c.P > 0.05 {
		t.Errorf("%+v", c)
	}
}

func TestHistoryPage(t *testing.T) {
	dir := t.TempDir()
	weekly{runs: 20, kernel: at(10, "6.1.0", "6.12.9<b>"), factor: at(10, 1, 0.9), noise: 0.01, seed: 10}.fill(t, dir)
	page := filepath.Join(dir, "page.html")
	if code, _, errs := typed([]string{"history", "nvme", "-o", page}, dir); code != 0 {
		t.Fatal(errs)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<!doctype html>", "<svg", "read IOPS</text>", "month, UTC</text>",
		"6.12.9&lt;b&gt;", "worse"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if reads, writes := strings.Count(string(text), "<circle"), strings.Count(string(text), "l3.8,3.8"); reads != 20 ||
		writes != 20 {
		t.Errorf("%d and %d points, want 20 of reads and as many of writes", reads, writes)
	}
	for _, never := range []string{"6.12.9<b>", "NaN", "http://", "<script"} {
		if strings.Contains(string(text), never) {
			t.Errorf("the page has %s", never)
		}
	}
}

// A page is for others, and hides the name of the machine that a table has.
func TestHistoryPageHidesNames(t *testing.T) {
	dir := t.TempDir()
	weekly{runs: 4, kernel: at(9, "6.1.0", "6.12.9"), factor: at(9, 1.0, 1), noise: 0.01, seed: 12,
		host: "node"}.fill(t, dir)
	for format, named := range map[string]bool{"table": true, "html": false, "markdown": false, "csv": false} {
		code, out, errs := typed([]string{"history", "nvme", "--format", format}, dir)
		if code != 0 || strings.Contains(out, "nvme on node, ") != named ||
			strings.Contains(out, "nvme on hidden-") == named {
			t.Errorf("%s: exit %d, %s\n%s", format, code, errs, out)
		}
	}
}

// One run alone is a history too, in which nothing can be found.
func TestHistoryOfOneRun(t *testing.T) {
	dir := t.TempDir()
	weekly{runs: 1, kernel: at(1, "a", "b"), factor: at(1, 1.0, 1), noise: 0.01, seed: 11}.fill(t, dir)
	code, out, errs := typed([]string{"history", "nvme", "--json", "--fail-on", "regression"}, dir)
	var d history.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 5 || d.Verdict != history.Undecided {
		t.Fatalf("exit %d, %v, %s: %s", code, err, d.Verdict, errs)
	}
	if n := d.Series[0].Cells[0].Newest; n.Alarm != nil || n.Against != 0 {
		t.Errorf("%+v", n)
	}
}

func TestHistoryRefuses(t *testing.T) {
	dir := t.TempDir()
	weekly{runs: 3, kernel: at(1, "a", "b"), factor: at(1, 1.0, 1), noise: 0.01, seed: 9}.fill(t, dir)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"history"}, "takes the name of a suite"},
		{[]string{"history", "nvmee"}, "there are runs of nvme"},
		{[]string{"history", "nvme", "--since", "tomorrow"}, "is no time"},
		{[]string{"history", "nvme", "--since", "2030-01-01"}, "is as new as that"},
		{[]string{"history", "nvme", "--margin", "300%"}, "is no share"},
		{[]string{"history", "nvme", "--margin", "NaN"}, "is no share"},
		{[]string{"history", "nvme", "--margin", "1e-17"}, "less than a millionth"},
		{[]string{"history", "nvme", "--alpha", "NaN"}, "is no probability"},
		{[]string{"history", "nvme", "--alpha", "1e-300"}, "is no probability"},
		{[]string{"history", "nvme", "--fail-on", "slower"}, "knows no"},
		{[]string{"history", "nvme", "--alpha", "5"}, "is no probability"},
		{[]string{"history", "nvme", "--cell", "trim"}, "has that in its name"},
		{[]string{"history", "nvme", "--metric", "read.watts"}, "or that metric"},
	} {
		if code, _, errs := typed(c.args, dir); code != 2 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: exit %d, %s", c.args, code, errs)
		}
	}
}
