package ingest

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// TestNetworkTextCarriers checks that results are the same with something before each of their lines, or around them.
func TestNetworkTextCarriers(t *testing.T) {
	for _, file := range []string{"iperf-text/3.12-bidir-V.txt", "iperf-text/2.1.8-udp-P2.txt",
		"iperf3/iperf3-3.12-appended.json", "iperf3/iperf3-3.21-json-stream.txt",
		"perftest-text/all-sizes.txt", "sockperf-text/ping-pong.txt", "netperf-text/pasted.txt",
		"netperf-text/columns.txt", "perftest-text/json.txt", "neper/pasted.txt"} {
		text, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		want := valuesOf(t, file, string(text))
		for kind, carry := range carriers() {
			if (kind == "a string in JSON" || kind == "Python") && !strings.HasPrefix(file, "iperf3/") {
				continue
			}
			if got := valuesOf(t, file, carry(string(text))); got != want {
				t.Errorf("%s with %s:\n got  %s\n want %s", file, kind, got, want)
			}
		}
	}
}

// TestNetworkTextRefused checks that refusals name the recognised format, and what to do instead.
func TestNetworkTextRefused(t *testing.T) {
	const row = "[  5]   0.00-10.04  sec  1.09 GBytes   938 Mbits/sec                  receiver\n"
	for text, want := range map[string]string{
		"n1: " + row + "n2: " + row + "n1: " + row: `the lines of "n2:" and "n1:" stand between each other; import what`,
		"DLPI CO STREAM TEST from a (1.2.3.4) port 0 AF_INET to b (1.2.3.5) port 0 AF_INET\n": "this looks like the tables " +
			`of netperf (TCP_STREAM, TCP_RR, UDP_STREAM and the like), and its -k, -o and -O: line 1: tests of netperf called "DLPI`,
		" #bytes     #iterations    BW peak[Gb/sec]\n": "this looks like the tables of perftest (ib_write_bw and the like), " +
			"and its --out_json, but no line with a result is whole; paste all",
		"sockperf: == version #3.7-no.git ==\nsockperf: [SERVER] listen on:\n": "a server of sockperf prints no times; " +
			"paste what the client printed",
	} {
		_, _, err := importMap(t, map[string][]byte{"a.txt": []byte(text)}, "a.txt")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	run, _, err := importMap(t, map[string][]byte{"a.txt": []byte("n1: " + row + "n1: " + row + "n2: " + row)}, "a.txt")
	if err != nil || run.Repetitions != 3 {
		t.Errorf("one host after the other: %d repetitions, %v", run.Repetitions, err)
	}
}

// TestSameTestOnce checks that a test counts once if both its client and its server were imported.
func TestSameTestOnce(t *testing.T) {
	server, err := os.ReadFile("../load/iperf3/testdata/iperf3-3.12-server-bidir.json")
	if err != nil {
		t.Fatal(err)
	}
	client, err := os.ReadFile("testdata/iperf-text/3.12-bidir-V.txt")
	if err != nil {
		t.Fatal(err)
	}
	run, sink, err := importMap(t, map[string][]byte{"a.txt": client, "b.json": server}, "a.txt", "b.json")
	if err != nil || len(sink.repetitions) != 1 {
		t.Fatalf("%d repetitions, %v", len(sink.repetitions), err)
	}
	for _, w := range run.Warnings {
		if w.Code == "import-duplicate" && strings.Contains(w.Text, "a.txt and b.json have the same test") {
			return
		}
	}
	t.Errorf("no warning about it: %+v", run.Warnings)
}

// TestTestInTwoForms checks that a test counts once if it is in a table and in JSON, in one file or two, and that two
// tests with equal figures in the same form count twice.
func TestTestInTwoForms(t *testing.T) {
	table, err := os.ReadFile("../load/perftest/testdata/4.5-write_bw-n200-s4096.txt")
	if err != nil {
		t.Fatal(err)
	}
	document, err := os.ReadFile("../load/perftest/testdata/4.5-write_bw-n200-s4096.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		files map[string][]byte
		want  int
	}{
		"two files":  {map[string][]byte{"a.txt": table, "b.json": document}, 1},
		"one file":   {map[string][]byte{"a.txt": append(append([]byte{}, document...), table...)}, 1},
		"two tables": {map[string][]byte{"a.txt": append(append([]byte{}, table...), table...)}, 2},
	} {
		names := slices.Sorted(maps.Keys(c.files))
		run, sink, err := importMap(t, c.files, names...)
		if err != nil || len(sink.repetitions) != c.want {
			t.Errorf("%s: %d repetitions, want %d: %v", name, len(sink.repetitions), c.want, err)
		}
		told := slices.ContainsFunc(run.Warnings, func(w lab.Warning) bool { return w.Code == "import-duplicate" })
		if told != (c.want == 1) {
			t.Errorf("%s: %+v", name, run.Warnings)
		}
	}
}

// TestSeveralKubestr reads several documents of kubestr in one file.
func TestSeveralKubestr(t *testing.T) {
	document := fixture(t, "kubestr/fio.json")
	_, one, err := importMap(t, map[string][]byte{"a.json": document}, "a.json")
	if err != nil {
		t.Fatal(err)
	}
	two := append(append(append([]byte(nil), document...), "\nPVC created kubestr-fio-pvc\n"...), document...)
	_, both, err := importMap(t, map[string][]byte{"a.json": two}, "a.json")
	if err != nil || len(both.repetitions) != 2*len(one.repetitions) {
		t.Errorf("%d repetitions, of one %d: %v", len(both.repetitions), len(one.repetitions), err)
	}
	if _, _, err := importMap(t, map[string][]byte{"a.json": two[:len(two)-9]}, "a.json"); err == nil {
		t.Error("a second document that is cut off gives no error")
	}
}
