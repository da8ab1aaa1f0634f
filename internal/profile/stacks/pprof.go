package stacks

import (
	"io"
	"strings"

	pprof "github.com/google/pprof/profile"
)

// PerThousand is the sample type of pprof files that pprof shows by default.
const PerThousand = "cpu_per_1000_ios"

// Pprof writes pprof's gzipped protocol buffer. Its values are integers: samples, and nanoseconds of CPU time per
// thousand I/Os. The cell, the arm and the role of a stack are labels.
func Pprof(w io.Writer, sets []Set) error {
	p := &pprof.Profile{DefaultSampleType: PerThousand,
		SampleType: []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: PerThousand, Unit: "nanoseconds"}},
		PeriodType: &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}}
	t := pprofTables{p, map[string]*pprof.Location{}, map[string]*pprof.Mapping{}}
	for _, set := range sets {
		p.Period = int64(set.PeriodNS)
		labels := map[string][]string{"cell": {set.Cell}}
		if set.Arm != "" {
			labels["arm"] = []string{set.Arm}
		}
		if set.Role != "" {
			labels["role"] = []string{set.Role}
		}
		for _, s := range set.Stacks {
			sample := &pprof.Sample{Label: labels, Value: []int64{int64(s.Samples), 0}}
			if set.Total() > 0 {
				sample.Value[1] = set.whole(s)
			}
			for i := len(s.Frames) - 1; i >= 0; i-- { // the innermost first
				sample.Location = append(sample.Location, t.location(s.Frames[i]))
			}
			p.Sample = append(p.Sample, sample)
		}
	}
	return p.Write(w)
}

// pprofTables has the lists that samples refer to.
type pprofTables struct {
	p         *pprof.Profile
	locations map[string]*pprof.Location
	mappings  map[string]*pprof.Mapping
}

func (t pprofTables) location(frame string) *pprof.Location {
	if l := t.locations[frame]; l != nil {
		return l
	}
	f := &pprof.Function{ID: uint64(len(t.p.Function) + 1), Name: frame, SystemName: frame}
	l := &pprof.Location{ID: uint64(len(t.p.Location) + 1), Line: []pprof.Line{{Function: f}},
		Mapping: t.mapping(frame)}
	t.p.Function, t.p.Location, t.locations[frame] = append(t.p.Function, f), append(t.p.Location, l), l
	return l
}

// mapping returns the program of a frame: fio for "fio:get_io_u". Functions already have names, so nothing has to be
// looked up in the program's file.
func (t pprofTables) mapping(frame string) *pprof.Mapping {
	program, _, found := strings.Cut(frame, ":")
	if !found {
		program = "[kernel.kallsyms]"
	}
	m := t.mappings[program]
	if m == nil {
		m = &pprof.Mapping{ID: uint64(len(t.p.Mapping) + 1), File: program, HasFunctions: true}
		t.p.Mapping, t.mappings[program] = append(t.p.Mapping, m), m
	}
	return m
}
