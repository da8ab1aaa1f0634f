package document

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/testing/figure"
	"github.com/headroom/headroom/internal/testing/figure/sampled"
)

// Benchmarks reads the output of go test -bench with GOMAXPROCS=1: with more, the names would end with the number.
//
//	pkg: github.com/headroom/headroom/internal/load/fio
//	BenchmarkParse/plain 	     384	   6215043 ns/op	 512.27 MB/s	     120 B/op
//
// Each unit is a separate figure, "load/fio.BenchmarkParse/plain:MB/s"; with several rounds (-count) figures have an
// interval.
func Benchmarks(r io.Reader) ([]figure.Figure, error) {
	values := map[string][]float64{}
	var names []string // in the order of the output
	pkg := ""
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "pkg: github.com/headroom/headroom/internal/"); ok {
			pkg = name
			continue
		}
		fields := strings.Fields(lines.Text())
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") || len(fields)%2 != 0 {
			continue
		}
		if _, err := strconv.ParseUint(fields[1], 10, 64); err != nil {
			continue // a line of text
		}
		for i := 2; i < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				break
			}
			name := pkg + "." + fields[0] + ":" + fields[i+1]
			if _, ok := values[name]; !ok {
				names = append(names, name)
			}
			values[name] = append(values[name], v)
		}
	}
	var all []figure.Figure
	for _, name := range names {
		all = append(all, benchmarked(name, values[name]))
	}
	return all, lines.Err()
}

// benchmarked returns a benchmark's figure in base units.
func benchmarked(name string, values []float64) figure.Figure {
	unit, better, by := name[strings.LastIndexByte(name, ':')+1:], figure.Lower, 1.0
	switch unit {
	case "ns/op":
		unit, by = "s", 1e-9
	case "MB/s":
		unit, by, better = "B/s", 1e6, figure.Higher
	case "B/op":
		unit = "B"
	case "allocs/op":
	default:
		better = "" // the benchmark defines this unit itself
	}
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = v * by
	}
	return sampled.Median(name, unit, scaled, better)
}
