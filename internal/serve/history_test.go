package serve

import (
	"errors"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/summarytest"
)

// followed is a store with a run a day of a suite, n in all, with 1% of noise. From the middle on the level is factor
// times what it was, and the machine has another kernel and another drive. Change puts a run right for a test.
func followed(t testing.TB, n int, suite string, factor float64,
	change func(i int, run *lab.Run)) (a *app.App, ids []string) {
	t.Helper()
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		run, repetitions := summarytest.Run(t, "measured")
		run.ID, run.Suite, run.Created = fmt.Sprintf("HST%07d", i+1), suite, run.Created.AddDate(0, 0, i)
		level, kernel, serial := 1+0.01*r.NormFloat64(), "6.1.0", "S3CR3TBEFORE"
		if i >= n/2 {
			level, kernel, serial = level*factor, "6.12.9", "S3CR3TAFTER"
		}
		if change != nil {
			change(i, &run)
		}
		w, err := store.Open(dir).Create(run)
		if err != nil {
			t.Fatal(err)
		}
		known := []lab.Fact{{Key: "kernel.release", Value: kernel},
			{Key: "disk.serial", About: "nvme0n1", Value: serial}}
		err = w.Facts(run.Targets[0].Role, store.Before, facts.Document{Schema: facts.DocumentSchema, Facts: known})
		if err != nil {
			t.Fatal(err)
		}
		for rep, err := range repetitions {
			if err != nil {
				t.Fatal(err)
			}
			for name := range rep.Values {
				rep.Values[name] *= level
			}
			if err := w.Repetition(rep); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(w.Commit(), w.Close(func(*lab.Run) {})); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, run.ID)
	}
	a = &app.App{Environment: app.Environment{Env: func(string) string { return "" }, Stdout: io.Discard,
		Stderr: io.Discard}, StoreDir: dir, ConfigFile: "none"}
	return a, ids
}

func TestHistory(t *testing.T) {
	a, ids := followed(t, 24, "nightly", 0.8, nil)
	at := served(t, Options{App: a})
	list := pageOf(t, at, "/history")
	for _, want := range []string{`href="/history/nightly"`, `<td class="number">24</td>`, "/runs/" + ids[23],
		`<a href="/history" aria-current="page">History</a>`} {
		if !strings.Contains(list, want) {
			t.Errorf("the list of suites has no %q", want)
		}
	}
	page := pageOf(t, at, "/history/nightly")
	around := `href="/compare?run=` + ids[11] + "&amp;run=" + ids[12] + `"`
	for _, want := range []string{`<h1>Changed: `, `action="/history/nightly"`, "data-drawing=", around,
		`href="/runs/` + ids[0] + `"`, `<option value="randread 4k q1">`, "<svg", "/static/uplot.js"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of the suite has no %q", want)
		}
	}
	charts, rows := strings.Count(page, "<figure class=\"chart\""), strings.Count(page, "<tr><td><a href=\"/runs/")
	if charts == 0 || rows != charts*24 {
		t.Errorf("%d charts have %d rows with links to runs; each of 24 runs has one in each", charts, rows)
	}
	turns := strings.Split(page, `<ul class="turns">`)
	if len(turns) != charts+1 || !strings.Contains(turns[1], "kernel.release: 6.1.0, then 6.12.9") {
		t.Errorf("%d of %d charts say what changed", len(turns)-1, charts)
	}
	if strings.Contains(page, "S3CR3T") || strings.Contains(page, "S6CKNN0T700123") {
		t.Error("the page has the serial number of a disk")
	}
	if strings.Contains(page, "<style") || strings.Contains(page, " style=") || strings.Contains(page, "<script>") {
		t.Error("the page has what its policy forbids")
	}
	for _, query := range []string{"cell=randwrite-deep", "metric=read.latency.p99", "since=" + ids[18],
		"since=2026-11-25", "margin=30%25", "cell=none+such&metric=read.iops"} {
		body := pageOf(t, at, "/history/nightly?"+query)
		name, value, _ := strings.Cut(query, "=")
		value, _, _ = strings.Cut(value, "&")
		value = strings.NewReplacer("%25", "%", "+", " ").Replace(value)
		if !strings.Contains(body, `name="`+name+`" value="`+html.EscapeString(value)+`"`) {
			t.Errorf("%s: the form has another value", query)
		}
		n := strings.Count(body, "<figure class=\"chart\"")
		if none := strings.HasPrefix(query, "cell=none"); none != (n == 0) ||
			none != strings.Contains(body, "Nothing to show") {
			t.Errorf("%s: %d charts", query, n)
		}
		if query == "cell=randwrite-deep" && n != 1 {
			t.Errorf("%s: %d charts", query, n)
		}
	}
	body := pageOf(t, at, "/history/nightly?since="+ids[18])
	if strings.Contains(body, ids[17]) || !strings.Contains(body, ids[18]) {
		t.Error("since a run, the one before it is there, or it isn't")
	}
	file := a.StoreDir + "/runs/" + ids[0] // a run, but not for those who ask from elsewhere
	for path, status := range map[string]int{"/history/none": 404, "/history/": 404, "/history/nightly/x": 404,
		"/history/nightly?since=never": 400, "/history/nightly?since=" + file: 400, "/?since=" + file: 400,
		"/history/nightly?margin=x": 400, "/history/nightly?margin=0": 400, "/history/%2e%2e": 404} {
		got, body := answer(t, at, http.MethodGet, path)
		if got.StatusCode == http.StatusTemporaryRedirect || got.StatusCode == http.StatusMovedPermanently {
			continue // of a path that is cleaned
		}
		if got.StatusCode != status || !strings.Contains(body, "<h1>") {
			t.Errorf("%s: %s, want %d\n%s", path, got.Status, status, body)
		}
	}
	if _, body := answer(t, at, http.MethodGet, "/history/none"); !strings.Contains(body,
		"no run of a suite none has ended here") || !strings.Contains(body, "there are runs of nightly") {
		t.Errorf("of a suite that is unknown it says\n%s", body)
	}
	for _, name := range []string{"uplot.js", "axes.js", "history.js", "overtime.js", "charts.css"} {
		if got, body := answer(t, at, http.MethodGet, "/static/"+name); got.StatusCode != 200 || len(body) < 1000 {
			t.Errorf("%s: %s, %d bytes", name, got.Status, len(body))
		}
	}
}

// What names are made of is no part of pages and addresses.
// A margin is a share that can be told from nothing, in pages and in the API.
func TestMarginsOfAddresses(t *testing.T) {
	a, ids := followed(t, 3, "nightly", 1, nil)
	at := served(t, Options{App: a})
	for _, of := range []string{"/history/nightly?", "/api/v1/history/nightly?",
		"/compare?run=" + ids[0] + "&run=" + ids[1] + "&", "/api/v1/compare?run=" + ids[0] + "&run=" + ids[1] + "&"} {
		for _, margin := range []string{"1e-17", "1e-300", "NaN", "Inf", "-1", "0", "1"} {
			if got, _ := answer(t, at, http.MethodGet, of+"margin="+margin); got.StatusCode != http.StatusBadRequest {
				t.Errorf("%smargin=%s: %s", of, margin, got.Status)
			}
		}
	}
}

func TestHistoryOfHostileNames(t *testing.T) {
	for _, suite := range []string{`<script>alert("x")</script>`, `a/b//../c`, `"onmouseover="alert(1)`,
		"%2e%2e/?cell=x#y",
		"javascript:alert(1)", "ünï\x1b[31m code", "."} {
		a, ids := followed(t, 3, suite, 1, func(_ int, r *lab.Run) {
			r.Label = suite
			r.Targets[0].Target = suite
			for i := range r.Cells {
				r.Cells[i].Job = suite
				r.Cells[i].Warnings = append(r.Cells[i].Warnings, lab.Warning{Code: "x", Taints: []string{"*"}})
			}
		})
		at := served(t, Options{App: a})
		list := pageOf(t, at, "/history")
		_, to, linked := strings.Cut(list, `<td class="words"><a href="`)
		to, _, _ = strings.Cut(to, `"`)
		if suite == "." {
			if linked {
				t.Errorf("%q leads to %s", suite, to)
			}
			continue
		}
		if !strings.HasPrefix(to, "/history/") {
			t.Fatalf("%q leads to %q", suite, to)
		}
		page := pageOf(t, at, html.UnescapeString(to))
		if !strings.Contains(page, "/runs/"+ids[2]) {
			t.Errorf("%q: its page has no link to its newest run", suite)
		}
		for _, body := range []string{list, page} {
			for _, bad := range []string{"<script>", `"onmouseover=`} {
				if strings.Contains(body, bad) {
					t.Errorf("%q: the page has %q", suite, bad)
				}
			}
		}
	}
}

// A suite of many cells opens with some of its charts, and has all.
func TestHistoryOfManyCells(t *testing.T) {
	a, _ := followed(t, 2, "large", 1, func(i int, r *lab.Run) {
		for j := range r.Cells {
			r.Cells[j].Params["size"] = fmt.Sprint(i) // a parameter that changes begins another history
		}
	})
	open, folded, ok := strings.Cut(pageOf(t, served(t, Options{App: a}), "/history/large"),
		`<details class="charts-folded"><summary>6 more charts`)
	n, rest := strings.Count(open, `<figure class="chart"`), strings.Count(folded, `<figure class="chart"`)
	if !ok || n != mostOpenCharts || rest != 6 {
		t.Errorf("%d charts are open and %d folded", n, rest)
	}
}

// A run that goes on is no part of a history.
func TestHistoryOfRunsThatEnded(t *testing.T) {
	a, _ := saved(t, 2, func(i int, r *lab.Run) {
		r.Suite = fmt.Sprintf("suite %d", i)
		if i == 1 {
			r.Status, r.Created = lab.Running, time.Now()
		}
	})
	at := served(t, Options{App: a})
	if list := pageOf(t, at, "/history"); !strings.Contains(list, "/history/suite%200") ||
		strings.Contains(list, "suite%201") {
		t.Errorf("%s", list)
	}
	if got, _ := answer(t, at, http.MethodGet, "/history/suite%201"); got.StatusCode != http.StatusNotFound {
		t.Errorf("%s", got.Status)
	}
	empty, _ := saved(t, 0, nil)
	body := pageOf(t, served(t, Options{App: empty}), "/history")
	if !strings.Contains(body, "headroom run quick DIR") {
		t.Errorf("%s", body)
	}
}

// A history is found once; again when a run has come or changed, and by another filter.
func TestHistoryIsFoundOnce(t *testing.T) {
	a, ids := followed(t, 4, "nightly", 1, nil)
	s, err := New(Options{App: a, Store: store.Open(a.StoreDir)})
	if err != nil {
		t.Fatal(err)
	}
	looked := func(f historyFilter) {
		t.Helper()
		o, err := f.options(s.Store)
		if err == nil {
			_, err = s.site.histories.of("nightly", f, o)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	found := func() *cached[followedHistory] { return s.site.histories.cache.known["nightly\x00\x00\x00\x00"] }
	looked(historyFilter{})
	first := found()
	looked(historyFilter{Cell: "read"})
	looked(historyFilter{})
	if len(s.site.histories.cache.known) != 2 || found() != first {
		t.Error("it was found twice, or is that of another filter")
	}
	run, repetitions := summarytest.Run(t, "measured")
	run.ID, run.Suite, run.Status = "HST0000099", "nightly", lab.Running
	w, err := s.Store.Create(run)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close(func(*lab.Run) {}) //nolint:errcheck // it goes on while the history is looked at
	for rep, err := range repetitions {
		if err = errors.Join(err, w.Repetition(rep), w.Commit()); err != nil {
			t.Fatal(err)
		}
		if looked(historyFilter{}); found() != first {
			t.Fatal("it was found again because of a run that goes on")
		}
		break
	}
	b, err := s.Store.Find(ids[2])
	if err == nil {
		err = s.Store.SetLabel(b, "another")
	}
	if err != nil {
		t.Fatal(err)
	}
	if looked(historyFilter{}); found() == first {
		t.Error("it is that of a run before it changed")
	}
	for i := range 2 * mostHistories {
		looked(historyFilter{Margin: fmt.Sprint(i+1, "%")})
	}
	if n := len(s.site.histories.cache.known); n != mostHistories {
		t.Errorf("%d are remembered", n)
	}
}
