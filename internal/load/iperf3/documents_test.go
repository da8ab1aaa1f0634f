package iperf3

import (
	"bytes"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestSeveral parses several tests in one text, with other text between them.
func TestSeveral(t *testing.T) {
	one, two := string(read(t, "iperf3-3.12-udp.json")), string(read(t, "iperf3-3.21-bidir.json"))
	stream := string(read(t, "iperf3-3.21-json-stream.txt"))
	other := strings.ReplaceAll(stream, `"cookie":"`, `"cookie":"other`)
	half := one[:len(one)/2]
	for name, c := range map[string]struct {
		text    string
		tests   int
		damaged []int
	}{
		"one":                     {one, 1, nil},
		"appended":                {one + two, 2, nil},
		"lines between":           {"$ iperf3 -J\n" + one + "iperf Done.\n$ for i in ${all}\n" + two + "\n", 2, nil},
		"array":                   {"[" + one + ",\n" + two + "]", 2, nil},
		"array in an object":      {`{"runs": [{"result": ` + one + `}, {"result": ` + two + `}]}`, 2, nil},
		"cut array":               {"[" + one + ",\n" + half, 1, []int{1 + strings.Count(one, "\n") + 1}},
		"one of them cut":         {half + "\n" + two, 1, []int{1}},
		"the same cookie by hand": {one + strings.Replace(one, `"lost_packets":	0`, `"lost_packets":	7`, -1), 2, nil},
		"twice the same":          {one + one, 1, nil},
		"stream":                  {stream, 1, nil},
		"streams":                 {stream + other, 2, nil},
		"stream that ended early": {stream[:len(stream)*2/3] + "\n" + other, 2, nil},
		"stream and document":     {stream + two, 2, nil},
	} {
		all, damaged, err := ParseAll([]byte(c.text))
		if err != nil || len(all) != c.tests || len(damaged) != len(c.damaged) ||
			len(damaged) > 0 && damaged[0] != c.damaged[0] {
			t.Errorf("%s: %d tests, damaged %v, %v; want %d, %v", name, len(all), damaged, err, c.tests, c.damaged)
		}
	}
	if _, err := Parse([]byte(one + two)); err == nil || !strings.Contains(err.Error(), "found 2") {
		t.Errorf("two tests for one: %v", err)
	}
	if _, _, err := ParseAll(bytes.Repeat([]byte(`{"start":`), 100000)); err == nil {
		t.Error("no error of what has a hundred thousand beginnings")
	}
}

// TestFullOutput parses the document of the same test that --json-stream-full-output adds to the events.
func TestFullOutput(t *testing.T) {
	stream := read(t, "iperf3-3.21-json-stream.txt")
	var members [][]byte
	for line := range bytes.Lines(stream) {
		_, data, found := bytes.Cut(bytes.TrimSpace(line), []byte(`"data":`))
		if found {
			members = append(members, bytes.TrimSuffix(data, []byte("}")))
		}
	}
	document := append([]byte(nil), stream...)
	document = append(append(document, `{"start":`...), members[0]...)
	document = append(append(document, `,"intervals":[`...), bytes.Join(members[1:len(members)-1], []byte(","))...)
	document = append(append(append(document, `],"end":`...), members[len(members)-1]...), "}\n"...)
	want, err := Parse(stream)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(document)
	if err != nil || got.Failed != "" || got.Forward == nil || got.Forward.Rate() != want.Forward.Rate() {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestServer parses the output of the server. The number of bytes it sent is not the number that arrived.
func TestServer(t *testing.T) {
	for name, want := range map[string]map[string]float64{
		"iperf3-3.12-server-tcp-P2.json": {"send.bitrate": 8 * 25165824 / 2.000514, "cpu.server": 0.0037020263670654},
		"iperf3-3.12-server-udp-P2.json": {"send.bitrate": 8 * 1048576 / 2.041316, "send.lost": 0,
			"send.jitter": 0.00240871440626669, "cpu.server": 0.00036593932755},
		"iperf3-3.12-server-reverse.json": {"receive.bitrate": 8 * 12582912 / 2.004024, "receive.retransmits": 0,
			"receive.rtt": 0.000375, "cpu.server": 0.02908310670891445},
		"iperf3-3.12-server-udp-reverse.json": {},
		"iperf3-3.12-server-bidir.json": {"send.bitrate": 8 * 12582912 / 2.00073,
			"receive.bitrate": 8 * 12582912 / 2.00073, "receive.retransmits": 0, "receive.rtt": 0.000224,
			"cpu.server": 0.02021705001706871},
	} {
		r, err := Parse(read(t, name))
		if err != nil || r.Failed != "" || r.Client != "192.0.2.1" {
			t.Errorf("%s: %+v, %v", name, r, err)
			continue
		}
		got := r.Values()
		if len(got) != len(want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		for metric, v := range want {
			if math.Abs(got[metric]-v) > 1e-6*v {
				t.Errorf("%s: %s is %g, want %g", name, metric, got[metric], v)
			}
		}
		if sends := strings.Contains(name, "reverse") || strings.Contains(name, "bidir"); r.Reverse != nil &&
			r.Reverse.Unconfirmed != sends {
			t.Errorf("%s: unconfirmed is %v", name, r.Reverse.Unconfirmed)
		}
	}
	old, err := Parse([]byte(`{"start": {"version": "iperf 3.6", "accepted_connection": {}, "test_start":
{"protocol": "UDP", "num_streams": 1}}, "intervals": [{"sum": {"start": 0, "end": 1, "bytes": 500}},
{"sum": {"start": 1, "end": 2, "bytes": 700}}],
"end": {"sum": {"start": 0, "end": 2, "bytes": 0, "jitter_ms": 0.5, "lost_packets": 25, "packets": 100}}}`))
	if err != nil || old.Forward == nil || old.Forward.Bytes != 1200 || old.Forward.Lost != 25 {
		t.Errorf("UDP at a server before 3.11: %+v, %v", old.Forward, err)
	}
}

// TestRTT ignores the kernel's RTT of sockets that only received.
func TestRTT(t *testing.T) {
	for name, want := range map[string]float64{"iperf3-3.21-bidir.json": 0, "iperf3-3.12-bidir.json": 0,
		"iperf3-3.12-bidir-server-output.json": 81e-6} {
		r, err := Parse(read(t, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Values()[lab.Receive+".rtt"]; math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: the RTT of the receive direction is %g, want %g", name, got, want)
		}
		if r.Values()[lab.Send+".rtt"] <= 0 {
			t.Errorf("%s has no RTT of the send direction", name)
		}
	}
}

// TestOldBidirectionalUDP parses both directions in the output of versions before 3.11.
func TestOldBidirectionalUDP(t *testing.T) {
	r, err := Parse([]byte(`{"start": {"version": "iperf 3.9", "test_start": {"protocol": "UDP", "num_streams": 1}},
"intervals": [], "end": {"sum": {"start": 0, "end": 2, "bytes": 1000, "lost_packets": 25, "packets": 100},
"sum_bidir_reverse": {"start": 0, "end": 2, "bytes": 2000, "lost_packets": 50, "packets": 100}}}`))
	if err != nil || r.Forward == nil || r.Reverse == nil || r.Forward.Bytes != 750 || r.Reverse.Bytes != 1000 {
		t.Errorf("%+v %+v, %v", r.Forward, r.Reverse, err)
	}
}

// TestTrimmed parses an end whose beginning was cut out.
func TestTrimmed(t *testing.T) {
	both, err := Parse([]byte(`Warning: a note
{"start": {}, "intervals": [], "end": {"streams": [],
"sum_sent": {"start": 0, "end": 10, "seconds": 10, "bytes": 1250, "retransmits": 11, "sender": true},
"sum_received": {"start": 0, "end": 10, "seconds": 10, "bytes": 1000, "sender": true},
"sum_sent_bidir_reverse": {"start": 0, "end": 10, "seconds": 10, "bytes": 2500, "retransmits": 4},
"sum_received_bidir_reverse": {"start": 0, "end": 10, "seconds": 10, "bytes": 2000}}}`))
	if err != nil || both.Forward == nil || both.Reverse == nil || both.Forward.Rate() != 100 ||
		both.Reverse.Rate() != 200 || both.Forward.Retransmits != 11 || both.Reverse.Retransmits != 4 ||
		both.Protocol != "TCP" {
		t.Errorf("%+v %+v, %v", both.Forward, both.Reverse, err)
	}
	if _, err := Parse([]byte(`{"sum_sent": {"start": 0, "end": 1}, "sum_received": {"start": 0, "end": 1}}`)); err == nil ||
		!strings.Contains(err.Error(), "found none") {
		t.Errorf("sums alone: %v", err)
	}
	alone, err := Parse([]byte(`{"end": {"sum_sent": {"start": 0, "end": 1, "bytes": 9, "sender": true},
"sum_received": {"start": 0, "end": 1, "bytes": 8}}}`))
	if err != nil || alone.Forward == nil || alone.Forward.Rate() != 8 {
		t.Errorf("an end alone: %+v, %v", alone, err)
	}
	reverse, err := Parse([]byte(`{"end": {"sum_sent": {"start": 0, "end": 1, "bytes": 9, "sender": false},
"sum_received": {"start": 0, "end": 1, "bytes": 8, "sender": false}}, "start": {}}`))
	if err != nil || reverse.Forward != nil || reverse.Reverse == nil || reverse.Reverse.Rate() != 8 {
		t.Errorf("%+v, %v", reverse, err)
	}
}

func FuzzParseAll(f *testing.F) {
	for _, name := range fixtures(f) {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(bytes.Clone(text), text[:len(text)/2]...))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		all, _, err := ParseAll(text)
		if err == nil && len(all) == 0 {
			t.Error("neither tests nor an error")
		}
	})
}
