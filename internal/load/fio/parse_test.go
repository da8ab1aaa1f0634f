package fio

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// Quantiles computed from bins must equal those that fio computed from the same bins.
func TestQuantilesAreThoseThatFioPrints(t *testing.T) {
	compared := 0
	for _, file := range fixtures(t, "json") {
		docs, err := ParseBytes(read(t, file))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, g := range Final(docs)[0].Groups() {
			if len(g.Jobs) != 1 {
				continue
			}
			for name, d := range g.Jobs[0].Directions {
				l := d.latency()
				both := name == lab.Mixed && len(g.Jobs[0].Directions) > 1
				if l == nil || len(l.Histogram.Counts) == 0 || both {
					continue
				}
				for _, q := range lab.Quantiles() {
					printed, ok := l.percentile(q.Q)
					if got := g.Values[lab.Latency(name, q.Name)]; ok && math.Abs(got-printed) > 1e-12 {
						t.Errorf("%s: %s %s is %v, fio printed %v", file, name, q.Name, got, printed)
					}
					compared++
				}
			}
		}
	}
	if compared < 20 {
		t.Errorf("only %d quantiles were compared", compared)
	}
}

// A few figures of the golden files, computed by hand from the fixtures.
func TestByHand(t *testing.T) {
	for _, c := range []struct {
		file, metric string
		want         float64
	}{
		// 4422.859047 + 4661.779407 + 4513.495501
		{"fio-3.33-jsonplus-3jobs-nogroup", "read.iops", 13598.133955},
		// (13273*324138.054245 + …)/40808 needs the other two means; the largest of the maxima does not.
		{"fio-3.33-jsonplus-3jobs-nogroup", "read.latency.max", 0.182421536},
		// (3.0+3.866667+1.433333)% of a core for 3.000 s each, over 3.001 s.
		{"fio-3.33-jsonplus-3jobs-nogroup", "cpu.user", 0.083 * 3000 / 3001},
		// 4 jobs at 1.4% on average, 8000 ms in all, over 2001 ms.
		{"fio-3.42-randread-jobs4-group", "cpu.user", 0.014 * 8000 / 2001},
		// 272412 KiB in 2.001 s: io_bytes of fio 2.2 counts KiB.
		{"fio-2.2.10-randrw-fsync", "read.bandwidth", 272412 * 1024 / 2.001},
		// 251305984 bytes in 2.001 s: io_bytes of fio 2.21 counts bytes.
		{"fio-2.21-randrw-fsync", "read.bandwidth", 251305984 / 2.001},
		// 74.847361 µs.
		{"fio-2.21-randrw-fsync", "read.latency.mean", 74.847361e-6},
		// 34576 flushes in 2.001 s, though sync.total_ios is 0.
		{"fio-3.42-fdatasync", "sync.iops", 34576 / 2.001},
		{"fio-3.42-fdatasync", "sync.latency.mean", 26487.050324e-9},
	} {
		docs, err := ParseBytes(read(t, "testdata/json/"+c.file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := docs[0].Groups()[0].Values[c.metric]
		if !ok || math.Abs(got-c.want) > 1e-9*c.want {
			t.Errorf("%s: %s is %v, want %v", c.file, c.metric, got, c.want)
		}
	}
}

// The same document rewritten by other tools, and within other JSON.
func TestShapes(t *testing.T) {
	for _, file := range fixtures(t, "json") {
		data := read(t, file)
		want, err := ParseBytes(data)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		compact := compacted(t, data)
		if bytes.Contains(compact, []byte(`"0.00"`)) {
			continue // the standard library would keep one of the equal keys
		}
		var sorted any
		if err := json.Unmarshal(compact, &sorted); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{
			"compact":     compact,
			"indented":    indented(t, compact, "", "    "),
			"flat":        indented(t, compact, "", ""),
			"windows":     bytes.ReplaceAll(indented(t, compact, "", "  "), []byte("\n"), []byte("\r\n")),
			"within JSON": indented(t, []byte(`{"a":{"result":`+string(compact)+`},"b":2}`), "", "  "),
			"in a list":   []byte("[" + string(compact) + "]"),
			"sorted":      marshalled(t, sorted),
		} {
			docs, err := ParseBytes(text)
			if err != nil || len(docs) != 1 {
				t.Errorf("%s, %s: %d documents, %v", file, name, len(docs), err)
				continue
			}
			docs[0].Notes = want[0].Notes
			if !reflect.DeepEqual(docs[0], want[0]) {
				t.Errorf("%s, %s: it is another document", file, name)
			}
		}
	}
}

// compacted returns the first document of a fixture without blanks.
func compacted(t *testing.T, data []byte) []byte {
	t.Helper()
	data = data[bytes.Index(data, []byte("{\n  \"fio version\"")):]
	var b bytes.Buffer
	if err := json.Compact(&b, data[:balance(data)]); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func indented(t *testing.T, data []byte, prefix, indent string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, data, prefix, indent); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func marshalled(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSeveralDocuments(t *testing.T) {
	docs, err := ParseBytes(read(t, "testdata/json/fio-3.33-status-interval-multi-doc.json"))
	if err != nil || len(docs) != 4 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	final := Final(docs)
	if len(final) != 1 || final[0].Jobs[0].Directions[lab.Read].IOs != 34329 {
		t.Errorf("of one run with a status a second, %d documents are left", len(final))
	}
	// The same job run again is another run, not a later status.
	again := docs[3]
	again.Time = again.Time.Add(4e9)
	if got := Final(append(docs, again)); len(got) != 2 {
		t.Errorf("of two runs, %d documents are left", len(got))
	}
}

// TestTextBetweenDocuments inserts lines that begin with any letter between documents of one file.
func TestTextBetweenDocuments(t *testing.T) {
	whole := string(read(t, "testdata/json/fio-3.33-json-with-note-prefix.json"))
	for _, between := range []string{"", "\n", "=== run 2\n", "mixed: (groupid=0, jobs=1)\n", "fio: killed\n", "true\n",
		"[]\n", "{}\n", "\"x\"\n", "1\n", "null\n"} {
		docs, err := ParseBytes([]byte(whole + "\n" + between + whole))
		if err != nil || len(docs) != 2 {
			t.Errorf("%q: %d documents, %v", between, len(docs), err)
		}
	}
}

func TestNotANumber(t *testing.T) {
	data := read(t, "testdata/json/fio-3.42-two-jobs.json")
	want, err := ParseBytes(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"nan", "-nan", "inf", "-inf", "NaN", "Infinity", "-Infinity", "-nan(ind)"} {
		text := strings.Replace(string(data), `"bw_dev" : 0.000000`, `"bw_dev" : `+word, 1)
		text = strings.Replace(text, `"sys_cpu" : `, `"sys_cpu" : `+word+`, "x" : `, 1)
		docs, err := ParseBytes([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", word, err)
			continue
		}
		if docs[0].Jobs[0].SystemCPU != 0 || docs[0].Jobs[1].SystemCPU != want[0].Jobs[1].SystemCPU {
			t.Errorf("%s was read as a number", word)
		}
	}
	if text := withoutNaN([]byte(`{"nan":"-inf \" nan","a":[true,null,1.5,false]}`)); text != nil {
		t.Errorf("words were replaced within strings: %s", text)
	}
}

func TestOldBins(t *testing.T) {
	doc := func(key, value string) string {
		return `{"fio version" : "fio-2.16", "jobs" : [{"jobname" : "a", "read" : {"io_bytes" : 4, "iops" : 1.0,
			"` + key + `" : {"min" : 1, "max" : 900, "mean" : 5.0, "bins" : ` + value + `}}}]}`
	}
	for _, c := range []struct {
		name, text string
		ns         []int64
		counts     []uint64
	}{
		// Index 130 is the third of the 64 bins from 128: 132 to 133, of which the middle is 133.
		{"indices", doc("clat", `{"FIO_IO_U_PLAT_BITS" : 6, "FIO_IO_U_PLAT_VAL" : 64, "FIO_IO_U_PLAT_NR" : 1216,
			"0" : 0, "3" : 7, "127" : 1, "130" : 2, "192" : 4}`), []int64{3000, 127000, 133000, 258000}, []uint64{7, 1, 2, 4}},
		{"microseconds", doc("clat", `{"3" : 7, "130" : 2}`), []int64{3000, 130000}, []uint64{7, 2}},
		{"nanoseconds out of order", doc("clat_ns", `{"130" : 2, "3" : 7, "130" : 5}`), []int64{3, 130},
			[]uint64{7, 7}},
	} {
		docs, err := ParseBytes([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		h := docs[0].Jobs[0].Directions[lab.Read].Completion.Histogram
		if !reflect.DeepEqual(h, lab.Histogram{Nanoseconds: c.ns, Counts: c.counts}) {
			t.Errorf("%s: got %v", c.name, h)
		}
	}
}

func TestOldLatPercentiles(t *testing.T) {
	text := func(version string) string {
		return `{"fio version" : "` + version +
			`", "jobs" : [{"jobname" : "a", "job options" : {"lat_percentiles" : "1"},
			"read" : {"io_bytes" : 4, "io_kbytes" : 0, "iops" : 1.0,
			"clat_ns" : {"min" : 1, "max" : 900, "mean" : 5.0, "percentile" : {"99.000000" : 700}},
			"lat_ns" : {"min" : 2, "max" : 1000, "mean" : 7.0}}}]}`
	}
	for version, total := range map[string]bool{"fio-3.12": true, "fio-3.1": true, "fio-3.13": false,
		"fio-3.33": false} {
		docs, err := ParseBytes([]byte(text(version)))
		if err != nil {
			t.Fatal(err)
		}
		d := docs[0].Jobs[0].Directions[lab.Read]
		if got := len(d.Total.Percentiles) > 0; got != total {
			t.Errorf("%s: percentiles of the total latency: %v", version, got)
		}
	}
}

// Several servers each have their global options (fio ≥ 3.39).
func TestGlobalOptionsOfSeveralServers(t *testing.T) {
	docs, err := ParseBytes([]byte(`{"fio version" : "fio-3.39", "global options" : [
		{"hostname" : "a", "port" : 8765, "bs" : "4k", "rw" : "read"},
		{"hostname" : "b", "port" : 8765, "bs" : "8k", "rw" : "read"}],
		"client_stats" : [
		{"jobname" : "j", "job options" : {"size" : "1g"}, "hostname" : "a", "port" : 8765},
		{"jobname" : "j", "job options" : {"size" : "1g", "bs" : "16k"}, "hostname" : "b", "port" : 8765},
		{"jobname" : "All clients", "read" : {"io_bytes" : 1}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	d := docs[0]
	if len(d.Jobs) != 2 || !d.Client || d.Jobs[1].Host != "b:8765" {
		t.Fatalf("%d jobs, client %v", len(d.Jobs), d.Client)
	}
	if d.Global["rw"] != "read" || d.Global["bs"] != "" || d.Jobs[0].Options["bs"] != "4k" ||
		d.Jobs[1].Options["bs"] != "16k" {
		t.Errorf("global %v, jobs %v and %v", d.Global, d.Jobs[0].Options, d.Jobs[1].Options)
	}
}

func TestDamage(t *testing.T) {
	whole := string(read(t, "testdata/json/fio-3.33-json-with-note-prefix.json"))
	clat := strings.Index(whole, `"clat_ns"`)
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "there is no JSON document of fio's in the input: it is empty"},
		{"no document", "fio: pid=1, err=2\n{}\n", "there is no JSON document of fio's in the input"},
		{"cut off", whole[:clat+30], "fio's JSON is cut off at byte " + number(clat+30) +
			", in jobs[0].read.clat_ns; the document began at byte 97"},
		{"cut off with text behind", whole[:clat+30] + "fio: killed\n", "fio's JSON is damaged at byte " +
			number(clat+30) +
			", in jobs[0].read.clat_ns; the document began at byte 97"},
		{"text within", whole[:clat] + "note: hello\n" + whole[clat:], "fio's JSON is damaged at byte " + number(clat) +
			", in jobs[0].read; the document began at byte 97"},
		{"a number for an object", strings.Replace(whole, `"clat_ns" : {`, `"clat_ns" : 5, "x" : {`, 1),
			"fio's JSON document at byte 97 is not what fio prints, in jobs[0].read.clat_ns: an object was expected; " +
				"found: number"},
		{"an object for a list", `{"fio version" : "fio-3.33", "jobs" : {}}`,
			"fio's JSON document at byte 0 is not what fio prints, in jobs: a list was expected; found: object"},
	} {
		_, err := ParseBytes([]byte(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v\nwant %s", c.name, err, c.want)
			continue
		}
		if lab.KindOf(err) != lab.Usage {
			t.Errorf("%s: kind %v", c.name, lab.KindOf(err))
		}
	}
}

func number(n int) string {
	data, _ := json.Marshal(n)
	return string(data)
}

// Wherever a document is cut off, there is an error and never half a document.
func TestCutAnywhere(t *testing.T) {
	whole := read(t, "testdata/json/fio-3.28-two-jobs.json")
	whole = bytes.TrimSpace(whole)
	for n := 1; n < len(whole); n += 13 {
		if docs, err := ParseBytes(whole[:n]); err == nil || len(docs) > 0 {
			t.Fatalf("cut at %d: %d documents, %v", n, len(docs), err)
		}
	}
}

func TestVersion(t *testing.T) {
	for text, want := range map[string][2]int{"fio-3.33": {3, 33}, "fio-2.2.10": {2, 2}, "3.7": {3, 7},
		"fio-3.16-64-gd0d6": {3, 16}} {
		if major, minor, ok := Version(text); !ok || major != want[0] || minor != want[1] {
			t.Errorf("%s is %d.%d %v", text, major, minor, ok)
		}
	}
	for _, text := range []string{"", "fio", "fio-x.y", "fio-3", "fio-3."} {
		if _, _, ok := Version(text); ok {
			t.Errorf("%q is a version", text)
		}
	}
}
