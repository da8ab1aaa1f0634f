package serve

import (
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/testing/summarytest"
)

// wasRecorded says whether values are those of a repetition, to six digits.
func wasRecorded(recorded map[string][][]float64, values []float64) bool {
	for _, repetitions := range recorded {
		if slices.ContainsFunc(repetitions, func(of []float64) bool {
			return slices.EqualFunc(of, values, func(a, b float64) bool { return report.SixDigits(a) == b })
		}) {
			return true
		}
	}
	return false
}

// The page of a cell has each metric that was written down over the time of its loads, and all of it.
func TestOverTime(t *testing.T) {
	a, all := saved(t, 1, nil)
	at := served(t, Options{App: a})
	_, repetitions := summarytest.Run(t, "measured")
	values, cell := map[string][][]float64{}, ""
	for rep, err := range repetitions {
		if err != nil {
			t.Fatal(err)
		}
		if cell == "" && len(rep.Series) > 0 {
			cell = rep.Cell
		}
		for _, s := range rep.Series {
			if rep.Cell == cell {
				values[s.Metric] = append(values[s.Metric], s.Values)
			}
		}
	}
	body := pageOf(t, at, overTimeAddress(all[0].ID, cell))
	charts := regexp.MustCompile(`data-drawing="([^"]*)"`).FindAllStringSubmatch(body, -1)
	if len(charts) == 0 || len(charts) != len(values) || strings.Count(body, "<svg") != len(charts) {
		t.Fatalf("%d charts of %d metrics", len(charts), len(values))
	}
	for _, of := range charts {
		var d overTimeDrawing
		if err := json.Unmarshal([]byte(html.UnescapeString(of[1])), &d); err != nil {
			t.Fatal(err)
		}
		for _, l := range d.Lines {
			if len(l.Values) != len(l.At) || l.Name == "" || !wasRecorded(values, l.Values) {
				t.Errorf("%+v", l)
			}
		}
	}
	if run := pageOf(t, at, "/runs/"+all[0].ID); !strings.Contains(run, `href="`+overTimeAddress(all[0].ID, cell)+`"`) {
		t.Error("the run does not lead to it")
	}
	for _, path := range []string{"/runs/" + all[0].ID + "/cells/none", "/runs/ZZZZZZZZZZ/cells/" + cell} {
		if got, _ := answer(t, at, http.MethodGet, path); got.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", path, got.Status)
		}
	}
}
