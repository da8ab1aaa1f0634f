package document

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/testing/figure"
)

func TestFile(t *testing.T) {
	d := &Document{Schema: Schema, Commit: "v1-3-gabc", Time: time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC),
		Machine: Machine{Kernel: "6.18", CPUs: 2, Model: "a <CPU>"}}
	recorded, err := Recorded(
		strings.NewReader(`{"name":"import/speed","unit":"B/s","center":2.5e8,"n":21,"better":"higher"}
{"name":"stat/wrong","unit":"share","center":0,"lo":0,"hi":0.02,"confidence":0.95,"n":180,"better":"lower"}
`))
	if err != nil || len(recorded) != 2 {
		t.Fatal(recorded, err)
	}
	if err := d.Add("import", recorded); err != nil {
		t.Fatal(err)
	}
	if err := d.Add("again", recorded[:1]); err == nil || len(d.Figures) != 2 {
		t.Errorf("a name is there twice: %v", err)
	}
	var out bytes.Buffer
	if err := d.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := `{"schema":"headroom/figures/v1","commit":"v1-3-gabc","time":"2026-11-24T12:00:00Z","machine":{"kernel":"6.18","cpus":2,"model":"a \u003cCPU\u003e"},"figures":[
{"section":"import","name":"import/speed","unit":"B/s","center":250000000,"n":21,"better":"higher"},
{"section":"import","name":"stat/wrong","unit":"share","center":0,"lo":0,"hi":0.02,"confidence":0.95,"n":180,"better":"lower"}
]}
`
	if out.String() != want {
		t.Errorf("written\n%s", out.String())
	}
	read, err := Read(&out)
	if err != nil || len(read.Figures) != 2 || !read.Figures[1].Known() || read.Figures[0].Known() ||
		read.Machine != d.Machine {
		t.Errorf("read %+v: %v", read, err)
	}
	if _, err := Read(strings.NewReader(`{"schema":"headroom/run/v1"}`)); err == nil {
		t.Error("another document was taken")
	}
}

func TestBenchmarks(t *testing.T) {
	all, err := Benchmarks(strings.NewReader(`goos: linux
pkg: github.com/headroom/headroom/internal/load/fio
BenchmarkParse
BenchmarkParse/plain         	     384	   6000000 ns/op	 512.50 MB/s	     120 B/op	       3 allocs/op
BenchmarkParse/plain         	     390	   5000000 ns/op	 610.00 MB/s	     120 B/op	       3 allocs/op
Benchmarks are printed so. This is a sentence of eight
PASS
ok  	github.com/headroom/headroom/internal/load/fio	2.1s
pkg: github.com/headroom/headroom/internal/stat
BenchmarkUnpaired/3-v-3      	       1	1000000000 ns/op	        96.20 covered
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range all {
		got = append(got, f.String()+" "+f.Better)
	}
	want := []string{
		"load/fio.BenchmarkParse/plain:ns/op: 0.0055 s [0.005, 0.006] n=2 lower",
		"load/fio.BenchmarkParse/plain:MB/s: 561250000 B/s [512500000, 610000000] n=2 higher",
		"load/fio.BenchmarkParse/plain:B/op: 120 B [120, 120] n=2 lower",
		"load/fio.BenchmarkParse/plain:allocs/op: 3 allocs/op [3, 3] n=2 lower",
		"stat.BenchmarkUnpaired/3-v-3:ns/op: 1 s n=1 lower",
		"stat.BenchmarkUnpaired/3-v-3:covered: 96.2 covered n=1 ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestTable(t *testing.T) {
	of := func(name, unit string, center, within float64, better string) figure.Figure {
		f := figure.Figure{Name: name, Unit: unit, Center: center, N: 10, Better: better}
		if !math.IsNaN(within) {
			f.Lo, f.Hi, f.Confidence = center-within, center+within, 0.95
		}
		return f
	}
	day := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	before := &Document{Commit: "a1", Time: day, Machine: Machine{"6.1", 2, "X"}, Figures: []figure.Figure{
		of("speed", "B/s", 100, 5, figure.Higher), of("wrong", "share", 0.02, 0.01, figure.Lower),
		of("memory", "B", 2000, 10, figure.Lower),
		of("rules", "", 0, math.NaN(), ""), of("gone", "s", 1, 0.1, ""), of("moved", "s", 1, 0.1, ""),
		of("unit", "s", 1, 0.1, ""),
	}}
	after := &Document{Commit: "b2", Time: day, Machine: Machine{"6.2", 2, "X"}, Figures: []figure.Figure{
		of("speed", "B/s", 120, 5, figure.Higher), of("wrong", "share", 0.03, 0.01, figure.Lower),
		of("memory", "B", 3000, 10, figure.Lower),
		of("rules", "", 3, math.NaN(), ""), of("moved", "s", 2, 0.1, ""), of("unit", "B", 1, 0.1, ""),
		of("new", "s", 1, 0.1, ""),
	}}
	var out bytes.Buffer
	if err := Table(&out, before, after); err != nil {
		t.Fatal(err)
	}
	want := `old: a1 of 2026-11-24 12:00, on Linux 6.1, 2 of X
new: b2 of 2026-11-24 12:00, on Linux 6.2, 2 of X
The machines differ: times, rates and memory of one say little beside those of the other.

figure  old                      new                      change       intervals
speed   100 B/s [95, 105]        120 B/s [115, 125]       +20.0%       apart: better
wrong   0.02 share [0.01, 0.03]  0.03 share [0.02, 0.04]  +1.0 points  not apart
memory  2000 B [1990, 2010]      3000 B [2990, 3010]      +50.0%       apart: worse
rules   0                        3                                     no interval
moved   1 s [0.9, 1.1]           2 s [1.9, 2.1]           +100.0%      apart
unit    1 s [0.9, 1.1]           1 B [0.9, 1.1]                        other units
gone                                                                   only in the old one
new                                                                    only in the new one
`
	if out.String() != want {
		t.Errorf("printed\n%s", out.String())
	}
}
