package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"time"

	"github.com/headroom/headroom/internal/stat/changepoint"
	"github.com/headroom/headroom/internal/testing/figure"
)

// otava asks the published package at its defaults.
//
//go:embed changepoints.py
var otava string

// question is a kind of series: n runs at 1% noise, with a step at an index, or none.
type question struct {
	model model
	n, at int
	step  float64
}

func questions() []question {
	var all []question
	for _, m := range models() {
		for _, n := range []int{20, 50, 100} {
			all = append(all, question{m, n, n / 2, 0})
			for _, step := range []float64{0.02, 0.05, 0.10} {
				all = append(all, question{m, n, n / 2, step})
			}
			all = append(all, question{m, n, n - 6, 0.05})
		}
	}
	return all
}

func (q question) series(r *rand.Rand) []float64 {
	values := q.model.values(r, q.n, 1000, 0.01)
	for i := q.at; i < q.n; i++ {
		values[i] *= 1 + q.step
	}
	return values
}

// near is how far from the step a point may be to count as found.
const near = 2

func changes(trials int, python string) error {
	fmt.Printf("change points: %d series each, 1%% noise; found is within %d runs of the step\n", trials, near)
	for _, q := range questions() {
		r := rand.New(rand.NewPCG(uint64(q.n), uint64(1e4*q.step)))
		series := make([][]float64, trials)
		for i := range series {
			series[i] = q.series(r)
		}
		begin := time.Now()
		ours := ask(series, 0.05)
		if err := q.record("headroom, 5% of series", ours, time.Since(begin)); err != nil {
			return err
		}
		if python == "" {
			continue
		}
		begin = time.Now()
		theirs, err := askOtava(python, series)
		if err != nil {
			return err
		}
		if err := q.record("Apache Otava, P 0.001", theirs, time.Since(begin)); err != nil {
			return err
		}
	}
	const watchedShare = 5 // 45 looks a series
	return watched(trials/watchedShare, python)
}

func askOtava(python string, series [][]float64) ([][]int, error) {
	in, err := json.Marshal(series)
	if err != nil {
		return nil, err
	}
	c := exec.Command(python, "-c", otava)
	c.Stdin, c.Stderr = bytes.NewReader(in), os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("asking otava: %w", err)
	}
	var points [][]int
	return points, json.Unmarshal(out, &points)
}

func (q question) record(who string, points [][]int, took time.Duration) error {
	wrong, found, misplaced := 0, 0, 0
	for _, series := range points {
		nearest := q.n
		for _, p := range series {
			nearest = min(nearest, max(p-q.at, q.at-p))
		}
		extra := len(series)
		switch {
		case q.step == 0 || len(series) == 0:
		case nearest <= near:
			found, extra = found+1, extra-1
		default:
			misplaced, extra = misplaced+1, extra-1
		}
		if extra > 0 {
			wrong++
		}
	}
	what := "no step"
	if q.step > 0 {
		what = fmt.Sprintf("%g%% step before the last %d", 100*q.step, q.n-q.at)
	}
	what = fmt.Sprintf("%d runs, %s, %s", q.n, q.model.name, what)
	called := func(kind string) string { return figure.Name("sidebyside/changes", kind, what, who) }
	return errors.Join(
		record(figure.Share(called("found"), found, len(points), figure.Higher).Saying("%s: %s: found", what, who)),
		record(figure.Share(called("misplaced"), misplaced, len(points), figure.Lower).Saying("%s: %s: misplaced", what,
			who)),
		record(figure.Share(called("false"), wrong, len(points), figure.Lower).Saying("%s: %s: false points besides",
			what, who)),
		record(figure.Figure{Name: called("time"), Unit: "s", Center: took.Seconds() / float64(len(points)),
			N: len(points), Better: figure.Lower}.Saying("%s: %s: time of a series", what, who)),
	)
}

// watched is how often a history without any change shows one at some time when it is looked at after every run for a
// year. What is claimed of one look is not claimed of forty-five.
func watched(trials int, python string) error {
	const first, last = 8, 52
	for _, m := range models() {
		r := rand.New(rand.NewPCG(52, 1))
		var looks [][]float64
		for range trials {
			s := m.values(r, last, 1000, 0.01)
			for n := first; n <= last; n++ {
				looks = append(looks, s[:n])
			}
		}
		each := last - first + 1
		ever := func(who string, points [][]int) error {
			n := 0
			for i := 0; i < len(points); i += each {
				for _, p := range points[i : i+each] {
					if len(p) > 0 {
						n++
						break
					}
				}
			}
			return record(figure.Share(figure.Name("sidebyside/watched", m.name, who), n, trials, figure.Lower).
				Saying("no step, %s, looked at after each of %d to %d runs: %s: a false point at some time",
					m.name, first, last, who))
		}
		for _, alpha := range []float64{0.05, 0.01, 0.002} {
			if err := ever(fmt.Sprintf("headroom, alpha %g", alpha), ask(looks, alpha)); err != nil {
				return err
			}
		}
		if python == "" {
			continue
		}
		theirs, err := askOtava(python, looks)
		if err != nil {
			return err
		}
		if err := ever("Apache Otava", theirs); err != nil {
			return err
		}
	}
	return nil
}

// ask is headroom's answer for each series.
func ask(series [][]float64, alpha float64) [][]int {
	search := changepoint.NewChangeSearch(alpha, 1)
	points := make([][]int, len(series))
	for i, s := range series {
		for _, p := range search.ChangePoints(s) {
			points[i] = append(points[i], p.Index)
		}
	}
	return points
}
