package sockperf

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/testing/golden"
)

// All fixtures are output of sockperf 3.7 between two network namespaces, some while the link was down; the one of 3.10
// is from the description of a change to the kernel (i40e: fix for excessive interrupts).
func fixtures(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/3.*.txt")
	if err != nil || len(names) < 8 {
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
		r, err := Parse(text)
		fmt.Fprintf(&all, "%s\n  %v\n  %+v\n", filepath.Base(name), err, r)
		values := r.Values()
		for _, metric := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&all, "  %s %.9g\n", metric, values[metric])
		}
		params := map[string]string{"mode": PingPong}
		for _, mode := range []string{UnderLoad, Throughput} {
			if strings.Contains(name, mode) || strings.Contains(name, "lost") && mode == UnderLoad {
				params = map[string]string{"mode": mode, "mps": "1000"}
			}
		}
		if strings.Contains(name, "tcp") {
			params["protocol"] = "tcp"
		}
		for _, w := range r.Warnings(params) {
			fmt.Fprintf(&all, "  ! %s: %s %v\n", w.Code, w.Text, w.Taints)
		}
	}
	golden.Equal(t, "testdata/golden.txt", all.String())
}

// Half round trips and whole round trips in the output give the same time.
func TestWholeWay(t *testing.T) {
	half := "sockperf: == version #3.7-no.git ==\nsockperf: [Valid Duration] RunTime=1.000 sec; SentMessages=200; " +
		"ReceivedMessages=200\nsockperf: ====> avg-latency=10.000 (std-dev=1.000)\nsockperf: ---> percentile 50.000 " +
		"=    9.000\n"
	whole := strings.NewReplacer("avg-latency=10.000", "avg-rtt=20.000", "9.000", "18.000").Replace(half)
	a, err := Parse([]byte(half))
	b, err2 := Parse([]byte(whole))
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	if got, want := a.Values(), b.Values(); !maps.Equal(got, want) ||
		math.Abs(got["request.latency.mean"]-20e-6) > 1e-12 || math.Abs(got["request.latency.p50"]-18e-6) > 1e-12 {
		t.Errorf("%v\n%v", got, want)
	}
}

func TestArgv(t *testing.T) {
	params := map[string]string{"mode": "under-load", "protocol": "tcp", "time": "1m", "mps": "5000", "msg-size": "100",
		"nonblocked": "1"}
	const client = "sockperf under-load --ip 192.0.2.7 --port 5301 --time 60 --full-rtt --full-log requests.csv " +
		"--reply-every 1 --mps 5000 --msg-size 100 --nonblocked --tcp"
	if got := strings.Join(Client(params, "192.0.2.7", 5301), " "); got != client {
		t.Errorf("got  %s\nwant %s", got, client)
	}
	const server = "timeout -k 5 120 sockperf server --ip 192.0.2.7 --port 5301 --tcp --uc-reuseaddr"
	if got := strings.Join(Server(params, "192.0.2.7", 5301, 2*time.Minute), " "); got != server {
		t.Errorf("got  %s\nwant %s", got, server)
	}
	if got := strings.Join(Client(map[string]string{"mode": "throughput"}, "::1", 1), " "); got !=
		"sockperf throughput --ip ::1 --port 1 --time 10" {
		t.Error(got)
	}
	if got := Title(params); got != "tcp under-load mps 5000 msg-size 100 nonblocked" {
		t.Error(got)
	}
	if got := TestTime(params); got != time.Minute+Ramp {
		t.Error(got)
	}
	for _, bad := range []map[string]string{{"mode": "under-load"}, {"reply-every": "1"}, {"msg-size": "13"},
		{"msg-size": "65508"}} {
		if message, hint := Fault(bad); message == "" || hint == "" {
			t.Errorf("%v is taken", bad)
		}
	}
	if message, _ := Fault(params); message != "" {
		t.Error(message)
	}
}

// The log and the printed statistics describe the same requests.
func TestLogAgreesWithTheStatistics(t *testing.T) {
	const requests = 1580
	text := whole(t)
	log, err := ParseLog(text)
	if err != nil || len(log) != 21 {
		t.Fatalf("%d requests, %v", len(log), err)
	}
	// The log covers the same time, from the first request to the last, as [Valid Duration].
	r, err := Parse(append([]byte("sockperf: == version #3.7-no.git ==\n"), text...))
	if err != nil || r.Valid.Received != requests {
		t.Fatalf("%+v, %v", r, err)
	}
	if ran := log.Ends() - log.Begins(); math.Abs(ran-r.Valid.Seconds) > 0.001 {
		t.Errorf("the log goes on for %.4f s, and it says %.4f s", ran, r.Valid.Seconds)
	}
	if got := log.Rates(0.5); got.Metric != lab.RequestRate || len(got.Values) != 2 || got.Values[0] != 38 {
		t.Errorf("%+v", got)
	}
	h := log.Latency()
	times := make([]float64, len(log))
	for i, one := range log {
		times[i] = 1e9 * (one.Answered - one.Sent)
	}
	slices.Sort(times)
	if got, want := stat.BinQuantile(h.Nanoseconds, h.Counts, 0.5), times[10]; got > want || got < want*63/64-1 {
		t.Errorf("median of the bins %.0f ns, of the times %.0f ns", got, want)
	}
	if _, err := ParseLog(text[:len(text)-31]); err == nil {
		t.Error("a log that is cut off is taken for a whole one")
	}
	if _, err := ParseLog(nil); err == nil {
		t.Error("nothing is taken for a log")
	}
}

// whole is the log's beginning and end: the lines of the first 19 requests and of the last two.
func whole(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/3.7-log.csv")
	if err != nil {
		t.Fatal(err)
	}
	return text
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
		for metric, v := range r.Values() {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Errorf("%s is %g", metric, v)
			}
		}
		r.Warnings(map[string]string{"mode": UnderLoad, "mps": "1000"})
	})
}

func FuzzParseLog(f *testing.F) {
	f.Add(whole(f))
	f.Fuzz(func(t *testing.T, text []byte) {
		log, err := ParseLog(text)
		if err != nil || len(log) == 0 {
			return
		}
		n := uint64(0)
		for _, c := range log.Latency().Counts {
			n += c
		}
		if n != uint64(len(log)) {
			t.Errorf("%d of %d requests are in the distribution", n, len(log))
		}
		for _, v := range log.Rates(1).Values {
			if math.IsNaN(v) || v < 0 {
				t.Errorf("a rate is %g", v)
			}
		}
	})
}
