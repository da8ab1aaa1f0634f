package fio

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"
)

// sane checks properties of every document that was parsed.
func sane(t *testing.T, d Document) {
	t.Helper()
	for _, g := range d.Groups() {
		for metric, v := range g.Values {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Errorf("%s is %v", metric, v)
			}
		}
		for metric, s := range g.Samples {
			if !(s.Min >= 0 && s.Min <= s.Max) || math.IsInf(s.Max, 0) || s.Count < 0 || s.Jobs < 1 {
				t.Errorf("the samples of %s are %+v", metric, s)
			}
		}
		for direction, h := range g.Latency {
			if len(h.Nanoseconds) != len(h.Counts) {
				t.Errorf("%s has %d bins and %d counts", direction, len(h.Nanoseconds), len(h.Counts))
			}
			for i := 1; i < len(h.Nanoseconds); i++ {
				if h.Nanoseconds[i-1] >= h.Nanoseconds[i] {
					t.Errorf("the bins of %s do not ascend", direction)
				}
			}
		}
	}
}

// The seeds are long; without -fuzzminimizetime=10x the fuzzer spends all its time on making them shorter.
func FuzzParse(f *testing.F) {
	for _, file := range fixtures(f, "json") {
		data := read(f, file)
		f.Add(data[:min(len(data), 8000)])
		f.Add(data[max(0, len(data)-4000):])
	}
	f.Add([]byte(`{"fio version" : "fio-2.16", "jobs" : [{"jobname" : "a", "read" : {"io_bytes" : 4, "iops" : -nan,
		"clat" : {"min" : 1, "max" : 9, "mean" : 5, "bins" : {"FIO_IO_U_PLAT_BITS" : 6, "130" : 2}}}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		docs, err := ParseBytes(data)
		if !bytes.Equal(data, before) {
			t.Error("the input was changed")
		}
		for _, d := range Final(docs) {
			sane(t, d)
		}
		if err == nil && len(docs) == 0 {
			t.Error("neither a document nor an error")
		}
	})
}

func FuzzParseText(f *testing.F) {
	for _, file := range fixtures(f, "text") {
		data := read(f, file)
		f.Add(string(data[:min(len(data), 3000)]))
	}
	f.Fuzz(func(t *testing.T, text string) {
		blocks, _, err := ParseText(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, b := range blocks {
			if len(b.Document.Jobs) == 0 || b.Line < 1 {
				t.Errorf("an empty block at line %d", b.Line)
			}
			sane(t, b.Document)
		}
	})
}

func FuzzParseLog(f *testing.F) {
	for _, file := range fixtures(f, "log") {
		f.Add(read(f, file))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		samples, err := ParseLog(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, s := range Series(samples, "iops", time.Second) {
			if len(s.Values) == 0 || len(s.Values) > maxIntervals {
				t.Errorf("%s has %d values", s.Metric, len(s.Values))
			}
		}
	})
}

func FuzzParseETA(f *testing.F) {
	for _, file := range fixtures(f, "eta") {
		for piece := range bytes.SplitSeq(read(f, file), []byte("\r")) {
			f.Add(string(piece))
		}
	}
	f.Add("Jobs: 4 (f=4): [r(4)] [66.7% done] [258.1MB/0KB/0KB /s] [66.1K/0/0 iops] [eta 00m:01s]")
	f.Fuzz(func(t *testing.T, line string) {
		e, ok := ParseETA(line)
		if !ok {
			return
		}
		if e.Left < 0 {
			t.Errorf("%+v", e)
		}
		for _, rates := range []map[string]float64{e.IOPS, e.Bandwidth} {
			for direction, v := range rates {
				if direction == "" || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
					t.Errorf("%+v", e)
				}
			}
		}
	})
}

func FuzzParseJobFile(f *testing.F) {
	f.Add(sampleJobFile)
	for _, file := range fixtures(f, "job") {
		f.Add(string(read(f, file)))
	}
	f.Add("[a]\ninclude x\nsize=${S}\n[b\n")
	f.Fuzz(func(t *testing.T, text string) {
		sections, err := ParseJobFile(strings.NewReader(text))
		if err == nil && len(sections) == 0 {
			t.Error("no job and no error")
		}
		for _, s := range sections {
			if s.Name == "" || s.Line < 1 {
				t.Errorf("section %q at line %d", s.Name, s.Line)
			}
			for key := range s.Params {
				if s.Lines[key] < 1 {
					t.Errorf("%s has no line", key)
				}
			}
			if err := CheckParams(s.Params); err != nil {
				t.Error(err)
			}
		}
	})
}
