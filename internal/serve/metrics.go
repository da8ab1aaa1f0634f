package serve

import (
	"bytes"
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/runs"
	"github.com/headroom/headroom/internal/results"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/summary"
)

// What Prometheus knows the two formats by. The text is both at once, as the writer of runs explains.
const (
	openMetricsType = "application/openmetrics-text"
	openMetrics     = "1.0.0"
	textType        = "text/plain"
	textFormat      = "0.0.4"
)

// exporter answers Prometheus.
type exporter struct {
	library library
	turns   turns
	// rendered are the samples of runs, by their IDs.
	rendered cache[*runs.Families]
}

// answer answers Prometheus: the figures of the newest run of each suite, target and place, and of the store. What
// went before is in Prometheus, which has asked before.
func (e *exporter) answer(w http.ResponseWriter, r *http.Request) {
	kind := textType + "; version=" + textFormat + "; charset=utf-8"
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if q := wanted(accept, openMetricsType, openMetrics); q > 0 && q >= wanted(accept, textType, textFormat) {
		kind = openMetricsType + "; version=" + openMetrics + "; charset=utf-8"
	}
	e.turns.answer(w, r, content{kind, func() ([]byte, error) {
		var body bytes.Buffer
		err := e.write(&body)
		return body.Bytes(), err
	}, func(err error) []byte { return []byte(errorPage(err).Title + "\n") }})
}

// wanted is how much an Accept header asks for a format by name, from 0 to 1. Of a version that isn't ours nothing is.
func wanted(accept, kind, version string) (most float64) {
	for part := range strings.SplitSeq(accept, ",") {
		name, parameters, err := mime.ParseMediaType(part)
		if err != nil || name != kind || parameters["version"] != "" && parameters["version"] != version {
			continue
		}
		q, err := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64)
		if err == nil && q <= 1 {
			most = max(most, q)
		}
	}
	return most
}

// write writes what there is to say of the store, and the samples of its newest runs, as headroom export writes
// them. A run that can't be read costs its own samples alone, and is counted.
func (e *exporter) write(w *bytes.Buffer) error {
	rows, damaged := e.library.store.List()
	if damaged != nil && len(rows) == 0 {
		return damaged
	}
	bundles, unread := e.library.newest(rows)
	samples := &runs.Families{}
	read := slices.DeleteFunc(slices.Clone(bundles), func(b *store.Bundle) bool {
		of, err := e.samples(b.Run.ID)
		if err == nil {
			samples.Append(of)
		}
		return err != nil
	})
	e.rendered.keep(func(id string) bool {
		return slices.ContainsFunc(bundles, func(b *store.Bundle) bool { return b.Run.ID == id })
	})
	all := storeFamilies(rows, read, unread+len(bundles)-len(read)+countErrors(damaged))
	all.Append(samples)
	return all.Write(w)
}

// samples returns the samples of a run. Prometheus asks every minute for runs that do not change, and one of tens of
// thousands of repetitions takes seconds to read.
func (e *exporter) samples(id string) (*runs.Families, error) {
	stamp, err := e.library.store.Stamp(id) // before it is read
	if err != nil {
		return nil, err
	}
	return e.rendered.get(id, stamp, func() (*runs.Families, error) {
		b, err := e.library.store.Find(id)
		if err != nil {
			return nil, err
		}
		return results.RunSamples(e.library.app, b, report.Options{Names: true}) // as lists name them
	})
}

// storeFamilies are samples of the store as a whole. A status is there also when no run has it, or an alert on it would
// never end.
func storeFamilies(rows []store.Row, newest []*store.Bundle, unreadable int) *runs.Families {
	all := &runs.Families{}
	for _, status := range []lab.Status{lab.Complete, lab.Failed, lab.Interrupted, lab.Running} {
		n := 0
		for _, r := range rows {
			if r.Status == status {
				n++
			}
		}
		all.Add("headroom_store_runs", "", "Runs in the store.", float64(n), "status", string(status))
	}
	all.Add("headroom_store_unreadable_runs", "", "Runs in the store that can't be read.", float64(unreadable))
	seen := map[string]bool{}
	for _, b := range newest {
		name := cmp.Or(b.Run.Suite, b.Run.Label) // an import has no suite, and goes by its label
		suite := summary.HiddenIn(b.Run)(name)
		if seen[suite] {
			continue
		}
		seen[suite] = true
		all.Add("headroom_store_newest_run_timestamp_seconds", "seconds",
			"When the newest complete run of a suite was started, but for experiments.", float64(b.Run.Created.Unix()),
			"suite", suite)
	}
	return all
}

// countErrors is how many errors were joined.
func countErrors(err error) int {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		return len(all.Unwrap())
	}
	if err != nil {
		return 1
	}
	return 0
}
