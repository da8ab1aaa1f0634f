package serve

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/testing/summarytest"
)

// saved is a store with some runs, the last one newest, which change puts right for a test. One that stays running is
// held until the test ends.
func saved(t testing.TB, n int, change func(i int, run *lab.Run)) (*app.App, []lab.Run) {
	t.Helper()
	dir := t.TempDir()
	var all []lab.Run
	for i := range n {
		run, repetitions := summarytest.Run(t, "measured")
		run.ID = fmt.Sprintf("RNS%07d", i+1)
		run.Label, run.Created = fmt.Sprintf("run %d", i+1), run.Created.Add(time.Duration(i)*time.Hour)
		if change != nil {
			change(i, &run)
		}
		w, err := store.Open(dir).Create(run)
		if err != nil {
			t.Fatal(err)
		}
		for rep, err := range repetitions {
			if err == nil {
				err = w.Repetition(rep)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		if run.Status == lab.Running {
			t.Cleanup(func() { _ = w.Close(func(*lab.Run) {}) })
		} else if err := w.Close(func(*lab.Run) {}); err != nil {
			t.Fatal(err)
		}
		all = append(all, run)
	}
	a := &app.App{Environment: app.Environment{Env: func(string) string { return "" }, Stdout: io.Discard,
		Stderr: io.Discard}, StoreDir: dir, ConfigFile: "none"}
	return a, all
}

// goingOn is a store with a run that is being carried out, of which nothing is saved yet.
func goingOn(t testing.TB) (*app.App, lab.Run, *store.Writer) {
	t.Helper()
	a, all := saved(t, 1, nil)
	run := all[0]
	run.ID, run.Status = "RNS0000099", lab.Running
	w, err := store.Open(a.StoreDir).Create(run)
	if err != nil {
		t.Fatal(err)
	}
	return a, run, w
}

// served is the address of a server.
func served(t testing.TB, o Options) *httptest.Server {
	t.Helper()
	st, err := o.App.OpenStore()
	if err != nil {
		t.Fatal(err)
	}
	o.Store = st
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return servedBy(t, s)
}

func servedBy(t testing.TB, s *Server) *httptest.Server {
	t.Helper()
	at := httptest.NewServer(s.Handler())
	t.Cleanup(at.Close)
	return at
}

// answer to a request for a path, with headers "NAME: VALUE"; redirects are not followed.
func answer(t testing.TB, at *httptest.Server, method, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, at.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		}
		r.Header.Set(name, value)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got, string(body)
}

// pageOf a path that is there.
func pageOf(t testing.TB, at *httptest.Server, path string) string {
	t.Helper()
	got, body := answer(t, at, http.MethodGet, path)
	if got.StatusCode != http.StatusOK || !strings.HasPrefix(got.Header.Get("Content-Type"), "text/html") {
		t.Fatalf("%s: %s\n%s", path, got.Status, body)
	}
	return body
}

func TestList(t *testing.T) {
	a, all := saved(t, 125, func(i int, r *lab.Run) {
		switch i {
		case 7:
			r.Label = `<script>alert("x")</script>`
		case 8:
			r.Status = lab.Interrupted
		case 9:
			r.Warnings = append(r.Warnings, lab.Warning{Code: "throttled"})
		}
	})
	at := served(t, Options{App: a})
	first := pageOf(t, at, "/")
	for _, want := range []string{"125 runs", "/runs/" + all[124].ID, `href="/?page=2"`, `aria-sort="ascending"`} {
		if !strings.Contains(first, want) {
			t.Errorf("the first page has no %q", want)
		}
	}
	if strings.Contains(first, "/runs/"+all[24].ID) || strings.Count(first, `name="run"`) != rowsPerPage {
		t.Error("the first page has runs of the second")
	}
	for query, want := range map[string]int{"q=rns000001+RUN": 10, "q=RUN+12+none": 0, "status=interrupted": 1,
		"warning=throttled": 1, "warning=none-such": 0, "since=RNS0000100": 26, "page=2": 25, "page=99": 25,
		"q=" + all[0].ID: 1, "q=" + url.QueryEscape("<script>"): 1, "suite=none": 0,
		"label=RUN+12": 7, "label=none": 0} {
		body := pageOf(t, at, "/?"+query)
		if got := strings.Count(body, `name="run"`); got != want {
			t.Errorf("%s: %d runs, want %d", query, got, want)
		}
		if strings.Contains(body, "<script>alert") {
			t.Errorf("%s: a label is part of the page", query)
		}
	}
	oldest := pageOf(t, at, "/?sort=-created")
	if !strings.Contains(oldest, "/runs/"+all[0].ID) || !strings.Contains(oldest, `aria-sort="descending"`) {
		t.Error("turned round, the oldest is not first")
	}
	if got, _ := answer(t, at, http.MethodGet, "/?since=never"); got.StatusCode != http.StatusBadRequest {
		t.Errorf("since never: %s", got.Status)
	}
}

func TestEmptyStore(t *testing.T) {
	a, _ := saved(t, 0, nil)
	if body := pageOf(t, served(t, Options{App: a}), "/"); !strings.Contains(body, "headroom run quick DIR") {
		t.Errorf("%s", body)
	}
}

func TestRunAndComparison(t *testing.T) {
	a, all := saved(t, 3, nil)
	at := served(t, Options{App: a})
	for _, path := range []string{"/runs/" + all[0].ID, "/runs/" + strings.ToLower(all[0].ID),
		"/compare?run=" + all[1].ID + "&run=" + all[0].ID,
		"/compare?margin=5%25&run=" + all[0].ID + "&run=" + all[2].ID} {
		body := pageOf(t, at, path)
		if !strings.Contains(body, "<h1>") || !strings.Contains(body, "</html>") || strings.Contains(body, "<style") {
			t.Errorf("%s: %s", path, body)
		}
	}
	for path, status := range map[string]int{"/runs/ZZZZZZZZZZ": 404, "/runs/last": 404, "/runs/run%201": 404,
		"/runs/..%2f..%2f..%2fetc": 404, "/runs/%2fetc%2fpasswd": 404, "/runs/" + all[0].ID + ":none": 404,
		"/runs/" + all[0].ID + ":": 404, "/elsewhere": 404, "/static/none.js": 404, "/static/..%2fserver.go": 404,
		"/compare": 400, "/compare?run=" + all[0].ID: 400, "/compare?run=" + all[0].ID + "&run=ZZZZZZZZZZ": 404,
		"/compare?run=" + all[0].ID + "&run=reference:none":                404,
		"/compare?margin=x&run=" + all[0].ID + "&run=" + all[1].ID:         400,
		"/compare?" + strings.Repeat("run="+all[0].ID+"&", mostCompared+1): 400} {
		if got, body := answer(t, at, http.MethodGet, path); got.StatusCode != status {
			t.Errorf("%s: %s, want %d\n%s", path, got.Status, status, body)
		}
	}
}

// What the machine's hardware is called stays with whoever measured it.
func TestNoSerialNumbers(t *testing.T) {
	a, all := saved(t, 2, func(_ int, r *lab.Run) {
		r.Targets[0].Facts = append(r.Targets[0].Facts, lab.Fact{Key: "disk.serial", About: "nvme0n1",
			Value: "S3CR3TSERIAL"})
		r.Targets[0].Place.Path, r.Label = "/dev/disk/by-id/nvme-MODEL_S3CR3TSERIAL", "of S3CR3TSERIAL"
	})
	at := served(t, Options{App: a})
	for _, path := range []string{"/", "/?sort=machine", "/runs/" + all[0].ID,
		"/compare?run=" + all[0].ID + "&run=" + all[1].ID} {
		if strings.Contains(pageOf(t, at, path), "S3CR3TSERIAL") {
			t.Errorf("%s has the serial number of a disk", path)
		}
	}
}

func TestRefused(t *testing.T) {
	a, all := saved(t, 1, nil)
	at := served(t, Options{App: a})
	host := strings.TrimPrefix(at.URL, "http://")
	at = served(t, Options{App: a, Hosts: []string{host, "localhost:8765"}})
	own := strings.TrimPrefix(at.URL, "http://")
	for _, c := range []struct {
		method, path, header string
		status               int
	}{
		{"GET", "/", "Host: " + own, http.StatusMisdirectedRequest}, // of another port
		{"GET", "/", "Host: evil.example", http.StatusMisdirectedRequest},
		{"GET", "/", "Host: localhost:8765", http.StatusOK},
		{"GET", "/", "Host: LOCALHOST:8765", http.StatusOK},
		{"HEAD", "/", "Host: " + host, http.StatusOK},
	} {
		if got, _ := answer(t, at, c.method, c.path, c.header); got.StatusCode != c.status {
			t.Errorf("%s %s, %s: %s", c.method, c.path, c.header, got.Status)
		}
	}
	at = served(t, Options{App: a})
	run := "/runs/" + all[0].ID
	for _, c := range []struct {
		method, path string
		headers      []string
		status       int
	}{
		{"POST", "/", nil, 405}, {"DELETE", run, nil, 405}, {"PUT", run, nil, 405}, {"OPTIONS", "/", nil, 405},
		{"TRACE", "/", nil, 405},
		{"GET", run, []string{"Origin: http://evil.example"}, 403}, {"GET", run, []string{"Origin: null"}, 403},
		{"GET", run, []string{"Origin: " + at.URL}, 200},
		{"GET", run, []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"}, 403},
		{"GET", run, []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe"}, 403},
		{"GET", run, []string{"Sec-Fetch-Site: same-site", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty"}, 403},
		{"GET", run, []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"},
			200},
	} {
		got, _ := answer(t, at, c.method, c.path, c.headers...)
		if got.StatusCode != c.status {
			t.Errorf("%s %s, %v: %s", c.method, c.path, c.headers, got.Status)
		}
		if p := got.Header.Get("Content-Security-Policy"); strings.Contains(p, "unsafe") ||
			!strings.HasPrefix(p, "default-src 'none'; script-src 'self'") {
			t.Errorf("policy %q", p)
		}
	}
}

func TestToken(t *testing.T) {
	a, all := saved(t, 1, nil)
	at := served(t, Options{App: a, Token: "SECRET"})
	run := "/runs/" + all[0].ID
	for _, path := range []string{"/", run, "/static/serve.js", "/api/v1/runs", "/metrics", "/elsewhere"} {
		for _, headers := range [][]string{nil, {"Authorization: Bearer OTHER"}, {"Authorization: Bearer "},
			{"Cookie: headroom-token=OTHER"}, {"Authorization: SECRET"}} {
			got, body := answer(t, at, http.MethodGet, path, headers...)
			if got.StatusCode != http.StatusUnauthorized || strings.Contains(body, all[0].ID) {
				t.Errorf("%s, %v: %s", path, headers, got.Status)
			}
		}
	}
	if got, _ := answer(t, at, http.MethodGet, "/?token=OTHER"); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("another token: %s", got.Status)
	}
	got, _ := answer(t, at, http.MethodGet, "//evil.example/"+run+"?token=SECRET&q=x")
	if to := got.Header.Get("Location"); got.StatusCode == http.StatusSeeOther && strings.HasPrefix(to, "//") {
		t.Errorf("it leads elsewhere: %s", to)
	}
	got, _ = answer(t, at, http.MethodGet, run+"?token=SECRET&q=x")
	cookie := got.Header.Get("Set-Cookie")
	if got.StatusCode != http.StatusSeeOther || got.Header.Get("Location") != run+"?q=x" ||
		!strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") {
		t.Errorf("%s to %s with %q", got.Status, got.Header.Get("Location"), cookie)
	}
	cookie, _, _ = strings.Cut(cookie, ";")
	for _, header := range []string{"Cookie: " + cookie, "Authorization: Bearer SECRET"} {
		if got, _ := answer(t, at, http.MethodGet, run, header); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", header, got.Status)
		}
	}
}

// A browser that follows a run hears of each repetition, and of the end.
func TestChanges(t *testing.T) {
	a, run, w := goingOn(t)
	at := served(t, Options{App: a})
	page := pageOf(t, at, "/runs/"+run.ID)
	_, from, ok := strings.Cut(page, `data-changes="`)
	from, _, _ = strings.Cut(from, `"`)
	if !ok || !strings.HasPrefix(from, "/runs/"+run.ID+"/changes?seen=") {
		t.Fatalf("the page follows %q", from)
	}
	got, err := http.Get(at.URL + strings.ReplaceAll(from, "&amp;", "&"))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	events := func() string {
		text := make([]byte, 200)
		n, err := got.Body.Read(text)
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		return string(text[:n])
	}
	_, repetitions := summarytest.Run(t, "measured")
	for rep := range repetitions {
		if err := errors.Join(w.Repetition(rep), w.Commit()); err != nil {
			t.Fatal(err)
		}
		break
	}
	if said := events(); !strings.HasPrefix(said, "event: changed\ndata: ") {
		t.Errorf("it said %q", said)
	}
	if err := w.Close(func(r *lab.Run) { r.Status = lab.Complete }); err != nil {
		t.Fatal(err)
	}
	said := ""
	for !strings.Contains(said, "ended") {
		now := events()
		if now == "" {
			break
		}
		said += now
	}
	if !strings.Contains(said, "event: ended\n") {
		t.Errorf("it said %q", said)
	}
	if strings.Contains(pageOf(t, at, "/runs/"+run.ID), "data-changes") {
		t.Error("a run that has ended is followed")
	}
}

// TestReadOnly leaves the store as it was but for the index.
func TestReadOnly(t *testing.T) {
	a, all := saved(t, 2, nil)
	at := served(t, Options{App: a})
	pageOf(t, at, "/")
	before := listing(t, a.StoreDir)
	for _, path := range []string{"/", "/runs/" + all[0].ID, "/compare?run=" + all[0].ID + "&run=" + all[1].ID} {
		pageOf(t, at, path)
	}
	if after := listing(t, a.StoreDir); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	files := os.DirFS(dir)
	err := walk(files, &b)
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func walk(files fs.FS, b *strings.Builder) error {
	return fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		fmt.Fprintln(b, name, info.Size(), info.ModTime())
		return err
	})
}
