package perftest

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

	"github.com/headroom/headroom/internal/testing/golden"
)

// All fixtures are output of perftest 4.5 in an emulated guest, over soft RoCE: the figures describe no hardware.
func fixtures(t testing.TB) []string {
	t.Helper()
	names, err := filepath.Glob("testdata/4.*")
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
		r, err := Parse(text)
		fmt.Fprintf(&all, "%s\n  %v\n  %+v\n", filepath.Base(name), err, r)
		values := r.Values()
		for _, metric := range slices.Sorted(maps.Keys(values)) {
			fmt.Fprintf(&all, "  %s %.9g\n", metric, values[metric])
		}
	}
	golden.Equal(t, "testdata/golden.txt", all.String())
}

// The table and the file of the same test agree.
func TestTableAndFileAgree(t *testing.T) {
	n := 0
	for _, name := range fixtures(t) {
		base, isTable := strings.CutSuffix(name, ".txt")
		if !isTable {
			continue
		}
		var results [2]Result
		for i, ending := range []string{".txt", ".json"} {
			text, err := os.ReadFile(base + ending)
			if err != nil {
				t.Fatal(err)
			}
			if results[i], err = Parse(text); err != nil {
				t.Errorf("%s%s: %v", base, ending, err)
			}
		}
		if results[0] != results[1] {
			t.Errorf("%s: the table says\n%+v\nthe file\n%+v", base, results[0], results[1])
		}
		n++
	}
	if n < 5 {
		t.Errorf("%d tests", n)
	}
}

// Differences of newer and older versions.
func TestVersions(t *testing.T) {
	const head = "                    RDMA_Read BW Test\n Device         : mlx5_0\n GID index       : 3\n"
	for table, want := range map[string]map[string]float64{
		" #bytes     #iterations    BW peak[MiB/sec]    BW average[MiB/sec]   MsgRate[Mpps]\n 65536      5000        " +
			"     11000.00            10000.00            0.160000\n": {
			"receive.bitrate": 10000 * 8 * (1 << 20), "receive.rate": 160000},
		" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      5000          " +
			"   98.00            97.50            0.185966\n": {
			"receive.bitrate": 97.5e9, "receive.rate": 185966},
		" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n 2       1000          1.50        9.00 " +
			"     2.00   \n": {
			"request.latency.min": 1.5e-6, "request.latency.max": 9e-6, "request.latency.p50": 2e-6},
	} {
		r, err := Parse([]byte(head + table))
		got := r.Values()
		if err != nil || len(got) != len(want) {
			t.Errorf("%s%v, %v, %+v", table, got, err, r)
		}
		for name, v := range want {
			if math.Abs(got[name]-v) > 1e-9*v {
				t.Errorf("%s%s is %g, want %g", table, name, got[name], v)
			}
		}
	}
	for _, bad := range []string{"", "iperf3: error", head,
		head + " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"} {
		if r, err := Parse([]byte(bad)); err == nil {
			t.Errorf("%q is taken for a result: %+v", bad, r)
		}
	}
}

func TestArgv(t *testing.T) {
	params := map[string]string{"test": "ib_write_bw", "duration": "10s", "size": "65536", "qp": "4"}
	const client = "ib_write_bw --rdma_cm --port 5301 --duration 10 --qp 4 --size 65536 192.0.2.7"
	if got := strings.Join(Client(params, "192.0.2.7", 5301), " "); got != client {
		t.Errorf("got  %s\nwant %s", got, client)
	}
	const server = "timeout -k 5 72 ib_write_bw --rdma_cm --port 5301 --duration 10 --qp 4 --size 65536"
	if got := strings.Join(Server(params, 5301, 72*time.Second), " "); got != server {
		t.Errorf("got  %s\nwant %s", got, server)
	}
	if got := strings.Join(Client(map[string]string{"test": "ib_send_lat"}, "192.0.2.7", 1), " "); got !=
		"ib_send_lat --rdma_cm --port 1 --iters 20000 192.0.2.7" {
		t.Error(got)
	}
	if got := Title(params); got != "ib_write_bw size 65536 qp 4" {
		t.Error(got)
	}
	for _, bad := range []map[string]string{{"test": "ib_send_lat", "qp": "2"}, {"duration": "10s", "iters": "5"},
		{"iters": "4"}, {"duration": "4s"}} {
		if message, hint := Fault(bad); message == "" || hint == "" {
			t.Errorf("%v is taken", bad)
		}
	}
	if message, _ := Fault(params); message != "" {
		t.Error(message)
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
		for metric, v := range r.Values() {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Errorf("%s is %g", metric, v)
			}
		}
		if s := r.Ran(); math.IsNaN(s) || s < 0 {
			t.Errorf("it ran for %g s", s)
		}
	})
}

// Output of perftest 4.5 whose server took a quarter of a second for each request to the connection manager, and errors
// with other causes.
func TestMissed(t *testing.T) {
	for text, want := range map[string]bool{
		"RDMA CM event error:\nEvent: RDMA_CM_EVENT_REJECTED; error: 8.\n\nERRNO: Operation not supported.\nFailed " +
			"to handle RDMA CM event.\nERRNO: Operation not supported.\nFailed to connect RDMA CM events.\nERRNO: " +
			"Operation not supported.\nSegmentation fault\n": true,
		"RDMA CM event error:\nEvent: RDMA_CM_EVENT_REJECTED; error: 28.\n":      false,
		"RDMA CM event error:\nEvent: RDMA_CM_EVENT_UNREACHABLE; error: -110.\n": false,
		"": false,
	} {
		if got := Missed(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
