package fio

import (
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// terseLine is fio's terse output (--minimal, --output-format=terse) of versions 3 to 5.
var terseLine = prose.Pattern(`^\s*([345]);(fio-[^;]+);([^;]+);(\d{1,9});(\d{1,5});(\d[^ ]*)`)

const (
	// terseDirection is how many fields a direction has: sums, three latencies with their percentiles, and samples of
	// the bandwidth; version 5 adds their count, and samples of the IOPS.
	terseDirection, terseDirection5 = 41, 47
	// tersePercentiles is how many percentiles there are, unused ones as "0%=0".
	tersePercentiles = 20
	// terseRest is the minimum number of fields after the directions: CPU, depths, latencies in 22 classes.
	terseRest = 34
)

// terse parses a line of terse output: the version of the format and of fio, the job, its group and error, and for each
// direction KiB, KiB/s, IOPS, ms, and latencies in µs.
//
//	3;fio-3.7;bio;0;0;28709340;159349;500;180166;2;1078053;720.835412;8307.158883;743;1632665;127194.504051;…
func (p *textParser) terse(_ string, m []string) {
	size, names := terseDirection, []string{lab.Read, lab.Write, lab.Trim}
	switch m[1] {
	case "3":
		names = names[:2]
	case "5":
		size = terseDirection5
	}
	fields := strings.Split(m[6], ";")
	if len(fields) < len(names)*size+terseRest {
		names = []string{lab.Mixed} // unified_rw_reporting
	}
	if len(fields) < len(names)*size+terseRest {
		p.lost = append(p.lost, p.number) // it is cut off
		return
	}
	if p.block == nil {
		p.begin()
	}
	p.endJob()
	job := newJob(m[3], m[4], m[5])
	if p.jobsBefore(job) >= p.entries(job.Name) || p.unnamed {
		p.nextCall()
	}
	p.block.Document.Version = m[2]
	job.Options = p.options(job.Name, p.jobsBefore(job))
	for _, name := range names {
		if d := terseDirectionOf(fields[:size]); d.IOPS > 0 || d.Bandwidth > 0 {
			if bs := BlockSize(job.Options); bs > 0 && job.Options["bs"] != "" {
				if exact := d.Bandwidth / float64(bs); d.IOPS <= exact && exact < d.IOPS+1 {
					d.IOPS = exact // fio truncated it
				}
			}
			job.Directions[name] = d
		}
		fields = fields[size:]
	}
	job.UserCPU, job.SystemCPU = terseNumber(fields[0])/100, terseNumber(fields[1])/100
	job.ContextSwitches = whole(terseNumber(fields[2]))
	p.job, p.seen = &job, map[string]int{}
	p.endJob()
}

// entries returns how many results with a name the command produces; 1 if there is no command.
func (p *textParser) entries(name string) int {
	n := 0
	for _, s := range p.sections {
		if s.Name == name {
			n += entriesOf(s)
		}
	}
	return max(1, n)
}

// entriesOf returns how many results fio prints for a job.
func entriesOf(s Section) int {
	if n, err := strconv.Atoi(s.Params["numjobs"]); err == nil && members(s.Params) == 1 {
		return n
	}
	return 1
}

// terseDirectionOf parses the fields of a direction.
func terseDirectionOf(fields []string) Direction {
	const kib, micro = 1024, 1e6
	d := Direction{Bytes: whole(terseNumber(fields[0]) * kib), Bandwidth: terseNumber(fields[1]) * kib,
		IOPS: terseNumber(fields[2]), Seconds: terseNumber(fields[3]) / 1e3}
	if exact := float64(d.Bytes) / d.Seconds; d.Bandwidth <= exact && exact < d.Bandwidth+kib {
		d.Bandwidth = exact
	}
	latency := func(from []string) *Latency {
		l := Latency{Min: terseNumber(from[0]) / micro, Max: terseNumber(from[1]) / micro,
			Mean: terseNumber(from[2]) / micro, StdDev: terseNumber(from[3]) / micro, Microseconds: true}
		if l.Max == 0 && l.Mean == 0 {
			return nil // fio did not measure it
		}
		return &l
	}
	d.Submission, d.Completion = latency(fields[4:]), latency(fields[8:])
	d.Total = latency(fields[12+tersePercentiles:])
	for _, field := range fields[12 : 12+tersePercentiles] {
		percent, value, ok := strings.Cut(field, "%=")
		q := terseNumber(percent) / 100
		if !ok || !(q > 0) || d.Completion == nil {
			continue
		}
		if d.Completion.Percentiles == nil {
			d.Completion.Percentiles = map[float64]float64{}
		}
		d.Completion.Percentiles[q] = terseNumber(value) / micro
	}
	return d
}

// terseNumber parses a number, or a percentage as one; 0 for other text.
func terseNumber(text string) float64 {
	v, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(v >= 0 && v < 1e18) {
		return 0
	}
	return v
}
