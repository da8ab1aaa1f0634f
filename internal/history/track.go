package history

import (
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// tracks are the cells of all runs with one track a metric, in the order in which the newest run that has them does;
// and the loads of which no run has a level.
func tracks(runs []Run, o Options) ([]Track, []Unmeasured) {
	var out []Track
	at := map[string]int{}
	for _, r := range slices.Backward(runs) {
		for _, c := range r.Cells {
			for _, metric := range trackedMetrics(c, o.Metric) {
				key := key(c) + "\x00" + metric
				i, known := at[key]
				if !known {
					i = len(out)
					at[key] = i
					info := lab.MetricOf(c.Own, metric)
					out = append(out, Track{Job: c.Job, Params: orEmpty(c.Params), Levels: orEmpty(c.Levels),
						Role: c.Role, Metric: metric,
						Unit: info.Unit, Better: info.Better, Changes: []Change{}})
				}
				if p, ok := point(r.ID, c, metric); ok {
					out[i].Points = append(out[i].Points, p)
				}
			}
		}
	}
	for i := range out {
		slices.Reverse(out[i].Points)
	}
	out = slices.DeleteFunc(out, func(t Track) bool { return len(t.Points) == 0 })
	nameAll(out)
	never := addAbsences(out, runs)
	out = slices.DeleteFunc(out, func(t Track) bool { return !strings.Contains(t.Name+" "+t.Metric, o.Cell) })
	return out, slices.DeleteFunc(never, func(u Unmeasured) bool { return !strings.Contains(u.Name, o.Cell) })
}

func orEmpty(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// trackedMetrics are the metrics of a cell to follow.
func trackedMetrics(c Cell, metric string) []string {
	if metric == "" {
		return lab.Deciding(c.Own, c.Params, c.Values)
	}
	if len(c.Values[metric]) == 0 {
		return nil
	}
	return []string{metric}
}

func zeros(values []float64) int {
	n := 0
	for _, v := range values {
		if v == 0 {
			n++
		}
	}
	return n
}

// key is the same for cells that may be compared: the same job with the same parameters.
func key(c Cell) string {
	var b strings.Builder
	b.WriteString(c.Job + "\x00" + c.Role)
	for _, m := range []map[string]string{c.Params, c.Levels} {
		b.WriteString("\x00")
		for _, name := range slices.Sorted(maps.Keys(m)) {
			b.WriteString("\x00" + name + "\x00" + m[name])
		}
	}
	return b.String()
}

// confidence asked for of a run's own interval.
const confidence = 0.95

func point(run string, c Cell, metric string) (Point, bool) {
	values := c.Values[metric]
	i := stat.MedianInterval(values, confidence)
	if !(i.Center > 0) { // a level of zero has no ratio to any other
		return Point{}, false
	}
	p := Point{Run: run, Center: i.Center, Bounds: stat.BoundsOf(i.Lo, i.Hi), N: len(values), Failed: c.Failed,
		Zero: zeros(values)}
	for _, w := range c.Warnings.List {
		if w.Tainted(metric) {
			p.Warnings = append(p.Warnings, w.Code)
		}
	}
	return p, true
}

func (t *Track) centers() []float64 {
	values := make([]float64, len(t.Points))
	for i, p := range t.Points {
		values[i] = p.Center
	}
	return values
}

// edges of the segments between the changes: 0, the changes, the number of points.
func (t *Track) edges() []int {
	edges := []int{0}
	for _, c := range t.Changes {
		edges = append(edges, c.Index)
	}
	return append(edges, len(t.Points))
}

// sizedName is the words of a job's name and its sizes: randread, 4k, q32.
func sizedName(job string, params map[string]string) []string {
	words := []string{job}
	for _, p := range []struct{ param, prefix string }{{"bs", ""}, {"iodepth", "q"}, {"numjobs", "x"}} {
		if v := params[p.param]; v != "" && !(p.param == "numjobs" && v == "1") {
			words = append(words, p.prefix+v)
		}
	}
	return words
}

// nameAll gives each track a name that no other has: the job, the sizes as engineers write them, what else differs
// between tracks of the same job, and the metric where a cell has several.
func nameAll(all []Track) {
	for i := range all {
		t := &all[i]
		words := sizedName(t.Job, t.Params)
		several := false
		extra := map[string]bool{}
		for _, other := range all {
			if other.Job != t.Job {
				continue
			}
			sameParams := maps.Equal(other.Params, t.Params)
			several = several || sameParams && maps.Equal(other.Levels, t.Levels) && other.Role == t.Role &&
				other.Metric != t.Metric
			for name := range t.Params {
				extra[name] = extra[name] || other.Params[name] != t.Params[name]
			}
		}
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			if extra[name] && !slices.Contains([]string{"bs", "iodepth", "numjobs"}, name) {
				words = append(words, name+"="+t.Params[name])
			}
		}
		for _, name := range slices.Sorted(maps.Keys(t.Levels)) {
			words = append(words, name+"="+t.Levels[name])
		}
		if several {
			direction, _, _ := strings.Cut(t.Metric, ".")
			words = append(words, direction)
		}
		t.Name = strings.Join(words, " ")
	}
}
