package iperf3

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headroom/internal/golden"
)

// All fixtures are what iperf3 3.1.7 to 3.21 printed.
func fixtures(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/iperf3-*")
	if err != nil || len(names) < 10 {
		t.Fatalf("%d fixtures, %v", len(names), err)
	}
	return names
}

func TestGolden(t *testing.T) {
	var all strings.Builder
	for _, name := range fixtures(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !Is(text[:min(len(text), 4096)]) {
			t.Errorf("%s is not known as iperf3's", name)
		}
		r, err := Parse(text)
		fmt.Fprintf(&all, "%s\n  %v\n", filepath.Base(name), err)
		forward, reverse := r.Forward, r.Reverse
		r.Forward, r.Reverse = nil, nil
		fmt.Fprintf(&all, "  %+v\n", r)
		fmt.Fprint(&all, described("forward", forward), described("reverse", reverse))
	}
	golden.Equal(t, "testdata/golden.txt", all.String())
}

func described(direction string, f *Flow) string {
	if f == nil {
		return ""
	}
	return fmt.Sprintf("  %s %.0f B/s %+v\n", direction, f.Rate(), *f)
}

// What stands around a document, and numbers that are none, make no difference; what was cut off is said.
func TestDamage(t *testing.T) {
	whole, err := os.ReadFile("testdata/iperf3-3.12-udp.json")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Parse(whole)
	if err != nil || want.Forward == nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"around": []byte("warning: this is a note\n" + string(whole) + "\niperf Done.\n"),
		"nan":    bytes.ReplaceAll(whole, []byte(`"lost_percent":	0`), []byte(`"lost_percent":	-nan`)),
	} {
		if got, err := Parse(text); err != nil || got.Forward == nil || got.Forward.Rate() != want.Forward.Rate() ||
			len(got.Forward.Intervals) != len(want.Forward.Intervals) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, text := range map[string]string{
		"half": string(whole[:len(whole)/2]), "nothing": "", "other": `{"fio version": "fio-3.33"}`,
		"number": `{"start": 5}`, "server": `{"start": {"version": "iperf 3.12", "accepted_connection": {}}}`,
		"not iperf3's": `{"start": {"version": "other 3"}, "end": {}}`, "times": `{"start": {}, "end": {}}`,
	} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	stream, err := os.ReadFile("testdata/iperf3-3.21-json-stream.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(bytes.TrimSpace(stream), []byte("\n"))
	r, err := Parse(bytes.Join(lines[:len(lines)-1], nil))
	if err != nil || r.Failed == "" || r.Forward != nil {
		t.Errorf("a stream without its end: %+v, %v", r, err)
	}
}

// What versions before 3.11 print of UDP is what was sent.
func TestOldUDP(t *testing.T) {
	r, err := Parse([]byte(
		`{"start": {"version": "iperf 3.1.7", "test_start": {"protocol": "UDP", "num_streams": 1}}, "intervals": [],
 "end": {"sum": {"start": 0, "end": 2, "bytes": 1000, "jitter_ms": 0.5, "lost_packets": 25, "packets": 100}}}`))
	if err != nil || r.Forward == nil || r.Forward.Bytes != 750 || r.Forward.Rate() != 375 || r.Forward.Lost != 25 ||
		r.Forward.Jitter != 0.0005 {
		t.Errorf("%+v, %v", r.Forward, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range fixtures(f) {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Parse(text)
		if err != nil {
			return
		}
		for _, flow := range []*Flow{r.Forward, r.Reverse} {
			if flow != nil && (!(flow.Seconds > 0) || flow.RTT < 0) {
				t.Errorf("%+v", flow)
			}
		}
	})
}

func TestWarnings(t *testing.T) {
	for name, want := range map[string]string{
		"iperf3-3.7-tcp-P2.json": "generator-bound: the client's iperf3 used 97% of a core, and has one " +
			"thread: this is its limit, not the network's; start as many pairs",
		"iperf3-3.12-tcp-P2.json":            "",
		"iperf3-3.17.1-tcp-P2.json":          "",
		"iperf3-3.21-bidir.json":             "",
		"iperf3-3.12-connect-error-rc0.json": "no-result: iperf3 says: unable to connect to server: Connection refused",
	} {
		text, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, w := range r.Warnings() {
			got += w.Code + ": " + w.Text + "\n"
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	full := Result{Version: "3.16", Streams: 2, Forward: &Flow{Seconds: 1}, ServerCPU: 1.95}
	if w := full.Warnings(); len(w) != 1 ||
		!strings.Contains(w[0].Text, "the server's iperf3 used 195% of a core, and has 2 threads") ||
		!strings.Contains(w[0].Text, "use more streams") {
		t.Errorf("%+v", w)
	}
}
