package serve

import (
	"bytes"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report/runs"
	"github.com/headroom/headroom/internal/store"
)

// sample is a line of what Prometheus gets.
type sample struct {
	name   string
	labels map[string]string
	value  string
}

// scraped reads what Prometheus gets, and checks it by the rules of OpenMetrics: a family has one header, its samples
// follow it, no sample is there twice, and the end is said once.
func scraped(t *testing.T, text string) (samples []sample) {
	t.Helper()
	line := regexp.MustCompile(`^([a-z_][a-z0-9_]*)\{(.*)\} (-?[0-9.e+-]+|NaN)$`)
	pair := regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\["\\n])*)"(?:,|$)`)
	body, ok := strings.CutSuffix(text, "\n# EOF\n")
	if !ok || strings.Contains(body, "\n# EOF") {
		t.Fatalf("the end is not said once: %.2000s", text)
	}
	family, seen, families := "", map[string]bool{}, map[string]bool{}
	for l := range strings.SplitSeq(body, "\n") {
		if of, isHead := strings.CutPrefix(l, "# TYPE "); isHead {
			family, _, _ = strings.Cut(of, " ")
			if families[family] {
				t.Errorf("the family %s is in two parts", family)
			}
			families[family] = true
		}
		if strings.HasPrefix(l, "# ") {
			if word := strings.Fields(l); len(word) < 3 || word[2] != family {
				t.Errorf("%s: in the family %s", l, family)
			}
			continue
		}
		m := line.FindStringSubmatch(l)
		if m == nil || m[1] != family || pair.ReplaceAllString(m[2], "") != "" {
			t.Errorf("%q is no sample of the family %s", l, family)
			continue
		}
		if name := m[1] + m[2]; seen[name] {
			t.Errorf("%s is there twice", name)
		} else {
			seen[name] = true
		}
		s := sample{m[1], map[string]string{}, m[3]}
		for _, p := range pair.FindAllStringSubmatch(m[2], -1) {
			s.labels[p[1]] = p[2]
		}
		samples = append(samples, s)
	}
	return samples
}

// valuesOf are the values of a label in the samples of a name, sorted, each once.
func valuesOf(samples []sample, name, label string) []string {
	all := map[string]bool{}
	for _, s := range samples {
		if s.name == name {
			all[s.labels[label]] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Prometheus gets the newest complete run of each suite, target and place, and of the store how many runs of what
// status it has and how old the newest are.
func TestMetrics(t *testing.T) {
	a, all := saved(t, 8, func(i int, r *lab.Run) {
		switch i {
		case 1:
			r.Targets[0].Place.Path = "/elsewhere"
		case 2:
			r.Targets[0].Target = "ssh://db1"
		case 3:
			r.Suite = "other"
		case 5:
			r.Status = lab.Interrupted
		case 6:
			r.Experiment = &lab.Experiment{Kind: "sweep"}
		case 7:
			r.Status = lab.Running
		}
	})
	at := served(t, Options{App: a})
	got, text := answer(t, at, http.MethodGet, "/metrics")
	if got.StatusCode != http.StatusOK {
		t.Fatalf("%s\n%s", got.Status, text)
	}
	samples := scraped(t, text)
	want := []string{all[1].ID, all[2].ID, all[3].ID, all[4].ID}
	for _, name := range []string{"headroom_repetitions", "headroom_operations_per_second",
		"headroom_run_created_timestamp_seconds"} {
		if got := valuesOf(samples, name, "run"); !slices.Equal(got, want) {
			t.Errorf("%s is of %v, want %v", name, got, want)
		}
	}
	if got := valuesOf(samples, "headroom_repetitions", "target"); !slices.Contains(got, "ssh://db1") {
		t.Errorf("targets %q", got)
	}
	states, newest := map[string]string{}, map[string]string{}
	for _, s := range samples {
		switch s.name {
		case "headroom_store_runs":
			states[s.labels["status"]] = s.value
		case "headroom_store_newest_run_timestamp_seconds":
			newest[s.labels["suite"]] = s.value
		}
	}
	wantStates := map[string]string{"complete": "6", "failed": "0", "interrupted": "1", "running": "1"}
	if !maps.Equal(states, wantStates) {
		t.Errorf("runs %v, want %v", states, wantStates)
	}
	if len(newest) != 2 || newest["other"] >= newest[all[4].Suite] {
		t.Errorf("newest runs %v", newest)
	}
}

// An empty store has something to say, too: that it is empty.
func TestMetricsOfAnEmptyStore(t *testing.T) {
	a, _ := saved(t, 0, nil)
	_, text := answer(t, served(t, Options{App: a}), http.MethodGet, "/metrics")
	if got := valuesOf(scraped(t, text), "headroom_store_runs", "status"); len(got) != 4 {
		t.Errorf("status %v\n%s", got, text)
	}
}

// Who asks for OpenMetrics gets it, and everybody else the older format.
func TestMetricsFormat(t *testing.T) {
	a, _ := saved(t, 1, nil)
	at := served(t, Options{App: a})
	const text = "text/plain; version=0.0.4; charset=utf-8"
	const open = "application/openmetrics-text; version=1.0.0; charset=utf-8"
	const prometheus = "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6," +
		"application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;q=0.4,text/plain;version=0.0.4;" +
		"q=0.3,*/*;q=0.2"
	for accept, want := range map[string]string{"": text, "*/*": text, "text/html, */*;q=0.8": text, prometheus: open,
		"application/openmetrics-text": open, "application/openmetrics-text;q=0": text,
		"application/openmetrics-text;version=0.0.1": text, "application/openmetrics-text; version=1.0.0;q=x": text,
		"text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.4": text,
		"application/openmetrics-text;;;, \x00":                                           text} {
		var headers []string
		if accept != "" && !strings.Contains(accept, "\x00") {
			headers = []string{"Accept: " + accept}
		}
		got, body := answer(t, at, http.MethodGet, "/metrics", headers...)
		if kind := got.Header.Get("Content-Type"); got.StatusCode != http.StatusOK || kind != want {
			t.Errorf("%q: %s, %s, want %s", accept, got.Status, kind, want)
		}
		scraped(t, body)
	}
}

// Neither hardware's names nor what runs are called makes the text wrong.
func TestMetricsOfHostileRuns(t *testing.T) {
	const hostile = "\"} 1\n# EOF\nheadroom_store_runs{status=\"complete\"} 9\x1b[2J\u202e\\"
	a, _ := saved(t, 2, func(i int, r *lab.Run) {
		r.Targets[0].Facts = append(r.Targets[0].Facts, lab.Fact{Key: "disk.serial", About: "nvme0n1",
			Value: "S3CR3TSERIAL"})
		r.Targets[0].Place.Path, r.Label = "/dev/disk/by-id/nvme-MODEL_S3CR3TSERIAL", "of S3CR3TSERIAL"
		if i == 1 {
			r.Label, r.Suite, r.Cells[0].Job = hostile, hostile+"S3CR3TSERIAL", hostile
			r.Warnings = append(r.Warnings, lab.Warning{Code: hostile, Text: hostile})
		}
	})
	_, text := answer(t, served(t, Options{App: a}), http.MethodGet, "/metrics")
	for _, bad := range []string{"S3CR3TSERIAL", "\x1b", "\u202e"} {
		if strings.Contains(text, bad) {
			t.Errorf("it has %q", bad)
		}
	}
	if got := valuesOf(scraped(t, text), "headroom_repetitions", "run"); len(got) != 2 {
		t.Errorf("samples of %v", got)
	}
}

// A run that can't be read doesn't keep the figures of others back.
func TestMetricsOfADamagedRun(t *testing.T) {
	a, all := saved(t, 3, func(i int, r *lab.Run) { r.Suite = "suite-" + string(rune('a'+i)) })
	at := served(t, Options{App: a})
	dir := filepath.Join(a.StoreDir, "runs")
	if err := os.WriteFile(filepath.Join(dir, all[0].ID, "run.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	segments, err := filepath.Glob(filepath.Join(dir, all[1].ID, "repetitions", "*"))
	if err != nil || len(segments) == 0 {
		t.Fatal(segments, err)
	}
	if err := os.WriteFile(segments[0], []byte("{}}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, text := answer(t, at, http.MethodGet, "/metrics")
	samples := scraped(t, text)
	if got := valuesOf(samples, "headroom_repetitions", "run"); !slices.Equal(got, []string{all[2].ID}) {
		t.Errorf("samples of %v", got)
	}
	for _, s := range samples {
		if s.name == "headroom_store_unreadable_runs" && s.value != "2" {
			t.Errorf("%s runs can't be read", s.value)
		}
	}
}

// A run is read once; when it changes, again; when another takes its place, it is forgotten.
func TestMetricsReadARunOnce(t *testing.T) {
	a, all := saved(t, 2, nil)
	st := store.Open(a.StoreDir)
	s, err := New(Options{App: a, Store: st})
	if err != nil {
		t.Fatal(err)
	}
	read := func() *cached[*runs.Families] {
		t.Helper()
		if err := s.exporter.write(new(bytes.Buffer)); err != nil || len(s.exporter.rendered.known) != 1 {
			t.Fatalf("%d runs are known, %v", len(s.exporter.rendered.known), err)
		}
		return s.exporter.rendered.known[all[1].ID]
	}
	first := read()
	if first.value == nil || read().value != first.value {
		t.Error("it was read twice")
	}
	b, err := st.Find(all[1].ID)
	if err == nil {
		err = st.SetLabel(b, "another")
	}
	if err != nil {
		t.Fatal(err)
	}
	if now := read(); now.stamp == first.stamp || now.value == first.value {
		t.Error("it was not read again")
	}
	if err := os.RemoveAll(b.Dir()); err != nil {
		t.Fatal(err)
	}
	if err := s.exporter.write(new(bytes.Buffer)); err != nil || s.exporter.rendered.known[all[1].ID] != nil ||
		s.exporter.rendered.known[all[0].ID] == nil {
		t.Errorf("%v: %d runs are known", err, len(s.exporter.rendered.known))
	}
}
