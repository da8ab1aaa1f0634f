package iperf3

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/golden"
)

// All fixtures are output of iperf3 3.1.7 to 3.21.
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

// Text around a document and nan values make no difference; a document that is cut off is reported.
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

// Versions before 3.11 print the sent bytes of UDP.
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
	for name, c := range map[string]struct {
		r    Result
		want []string
	}{
		"nothing arrived": {Result{Protocol: "TCP", Streams: 1, Forward: &Flow{Seconds: 0.08, Sent: 38016}},
			[]string{"no-result: nothing arrived in 80.0 ms: the 37.1 KiB"}},
		"an instant": {Result{Protocol: "TCP", Streams: 1, Forward: &Flow{Seconds: 0.2, Sent: 1 << 20, Bytes: 1 << 20}},
			[]string{"short-run: measured for 200 ms only"}},
		"the default rate": {Result{Protocol: "UDP", Streams: 1, Rate: 131072,
			Forward: &Flow{Seconds: 3.003427, Sent: 393856, Bytes: 393856, Packets: 272}},
			[]string{"rate-limited: iperf3 sends UDP at 1.05 Mbit/s a stream unless"}},
		"the default rate of four streams, not said": {Result{Protocol: "UDP", Streams: 4,
			Reverse: &Flow{Seconds: 10, Sent: 5242880, Bytes: 5242880, Packets: 3600}},
			[]string{"rate-limited: iperf3 sends UDP at 1.05 Mbit/s a stream unless"}},
		"a rate": {Result{Protocol: "TCP", Streams: 2, Rate: 12.5e6,
			Forward: &Flow{Seconds: 10, Sent: 250e6, Bytes: 250e6}},
			[]string{"rate-limited: iperf3 held itself to the 100 Mbit/s a stream that were asked for"}},
		"a rate that was not reached": {Result{Protocol: "UDP", Streams: 1, Rate: 125e6,
			Forward: &Flow{Seconds: 10, Sent: 900e6, Bytes: 900e6, Packets: 621546}}, nil},
		"7% lost": {Result{Protocol: "UDP", Streams: 1, Rate: 25e6,
			Forward: &Flow{Seconds: 3.003647, Sent: 74970200, Bytes: 69890616, Lost: 3508, Packets: 51775}},
			[]string{"packets-lost: 6.8% of the UDP packets were lost (3508 of 51775)"}},
		"the first few lost": {Result{Protocol: "UDP", Streams: 1, Rate: 125e6,
			Forward: &Flow{Seconds: 10, Sent: 900e6, Bytes: 899e6, Lost: 500, Packets: 621546}}, nil},
		"all lost": {Result{Protocol: "UDP", Streams: 1, Rate: 125e6,
			Forward: &Flow{Seconds: 10, Sent: 900e6, Lost: 621546, Packets: 621546}},
			[]string{"no-result: nothing arrived in 10.0 s"}},
		"many sent again": {Result{Protocol: "TCP", Streams: 2,
			Reverse: &Flow{Seconds: 3, Sent: 1250e6, Bytes: 1249e6, Retransmits: 2509}},
			[]string{"retransmits: 2509 segments were sent again, 0.3% of all"}},
		"few sent again": {Result{Protocol: "TCP", Streams: 3,
			Reverse: &Flow{Seconds: 3, Sent: 498335744, Bytes: 465567744, Retransmits: 66}}, nil},
		"not known how many": {Result{Protocol: "TCP", Streams: 3,
			Forward: &Flow{Seconds: 3, Sent: 498335744, Bytes: 465567744, Retransmits: -1}}, nil},
		"a good test": {Result{Protocol: "TCP", Streams: 1, Forward: &Flow{Seconds: 10, Sent: 12e9, Bytes: 12e9}}, nil},
	} {
		c.r.ClientCPU, c.r.ServerCPU = -1, -1
		got := c.r.Warnings()
		if len(got) != len(c.want) {
			t.Errorf("%s: %+v", name, got)
			continue
		}
		for i, w := range got {
			if text := w.Code + ": " + w.Text; !strings.HasPrefix(text, c.want[i]) || len(w.Taints) == 0 {
				t.Errorf("%s: %s, want %s", name, text, c.want[i])
			}
		}
	}
	full := Result{Version: "3.16", Streams: 2, Forward: &Flow{Seconds: 1}, ServerCPU: 1.95}
	if w := full.Warnings(); len(w) != 1 ||
		!strings.Contains(w[0].Text, "the server's iperf3 used 195% of a core, and has 2 threads") ||
		!strings.Contains(w[0].Text, "use more streams") {
		t.Errorf("%+v", w)
	}
}
