package fio

import (
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// rates parses the line with a direction's rates, of fio 3 and of fio 2:
//
//	read: IOPS=4843k, BW=36.9GiB/s (39.7GB/s)(111GiB/3007msec)
//	write: io=8935.0MB, bw=4465.3MB/s, iops=4465, runt=  2001msec
func (p *textParser) rates(text string, m []string) {
	p.percentiles = nil
	name := m[1]
	if p.job != nil && p.seen["rates "+name] > 0 {
		p.nextCall()
	}
	job := p.current()
	if job == nil {
		p.lost = append(p.lost, p.number)
		return
	}
	p.seen["rates "+name]++
	p.direction = name
	d := job.Directions[name]
	if old, ok := field(text, "io"); ok {
		d.Bytes = whole(amountOr0(old, 1024))
		if bw, ok := field(text, "bw"); ok {
			d.Bandwidth = amountOr0(strings.TrimSuffix(bw, "/s"), 1024)
		}
		if iops, ok := field(text, "iops"); ok {
			d.IOPS = amountOr0(iops, 1000)
		}
		if runt, ok := field(text, "runt"); ok {
			d.Seconds = amountOr0(strings.TrimSuffix(runt, "msec"), 1) / 1e3
		}
	} else {
		if iops, ok := field(text, "IOPS"); ok {
			d.IOPS = amountOr0(iops, 1000)
		}
		if bw, ok := field(text, "BW"); ok {
			bw, _, _ = strings.Cut(bw, " ")
			d.Bandwidth = amountOr0(strings.TrimSuffix(bw, "/s"), 1000)
		}
		if i := strings.LastIndexByte(text, '('); i >= 0 {
			bytes, rest, _ := strings.Cut(text[i+1:], "/")
			d.Bytes = whole(amountOr0(bytes, 1000))
			if ms, _, ok := strings.Cut(rest, "msec"); ok {
				d.Seconds = amountOr0(ms, 1) / 1e3
			}
		}
		if d.Bandwidth == 0 && d.Seconds > 0 { // it is in bits, with kb_base=1000 and unit_base=1
			d.Bandwidth = float64(d.Bytes) / d.Seconds
		}
	}
	p.keep(job, name, d)
}

// keep stores a direction with results: unified_rw_reporting=both prints a line of zeros for mixed.
func (p *textParser) keep(job *Job, name string, d Direction) {
	if d.IOPS > 0 || d.Bandwidth > 0 || d.Completion != nil || d.Submission != nil || d.Total != nil {
		job.Directions[name] = d
	}
}

// latencyOf returns the summary that a line about latency belongs to, or nil.
func (p *textParser) latencyOf(kind, line string) *Latency {
	job := p.current()
	if job == nil {
		return nil
	}
	if kind == "sync" {
		if job.SyncLatency == nil {
			job.SyncLatency = &Latency{}
		}
		return job.SyncLatency
	}
	name := p.directionOf(job, kind+" "+line)
	if name == "" {
		return nil
	}
	d := job.Directions[name]
	to := &d.Completion
	switch kind {
	case "slat":
		to = &d.Submission
	case "lat":
		to = &d.Total
	}
	if *to == nil {
		*to = &Latency{}
	}
	job.Directions[name] = d
	return *to
}

// latency parses "clat (usec): min=247, max=20034k, avg=687.15, stdev=66.71".
func (p *textParser) latency(_ string, m []string) {
	p.percentiles = nil
	l := p.latencyOf(m[1], "summary")
	if l == nil {
		return
	}
	fields, second := m[3], perSecond(m[2])
	for name, to := range map[string]*float64{"min": &l.Min, "max": &l.Max, "avg": &l.Mean, "stdev": &l.StdDev} {
		if v, ok := field(fields, name); ok {
			*to = amountOr0(v, 1000) / second
		}
	}
}

// beginPercentiles parses "clat percentiles (usec):".
func (p *textParser) beginPercentiles(_ string, m []string) {
	p.percentiles, p.perSecond = p.latencyOf(m[1], "percentiles"), perSecond(m[2])
}

// addPercentiles parses "|  1.00th=[  619],  5.00th=[  644],".
func (p *textParser) addPercentiles(all [][]string) {
	if p.percentiles == nil {
		return
	}
	if p.percentiles.Percentiles == nil {
		p.percentiles.Percentiles = map[float64]float64{}
	}
	for _, m := range all {
		percent, okPercent := parseDecimal([]byte(m[1]))
		value, ok := parseDecimal([]byte(m[2]))
		if ok && okPercent {
			p.percentiles.Percentiles[percent/100] = value / p.perSecond
		}
	}
}

func (p *textParser) bandwidthSamples(text string, m []string) { p.samples("bw", text, m[1]) }
func (p *textParser) iopsSamples(text string, _ []string)      { p.samples("iops", text, "") }

// samples parses the statistics of fio's own samples, which replace rates that were not pasted.
func (p *textParser) samples(kind, text, unit string) {
	p.percentiles = nil
	job := p.current()
	if job == nil {
		return
	}
	name := p.directionOf(job, kind)
	avg, ok := field(text, "avg")
	if name == "" || !ok || !p.addedUp(job, text) {
		return
	}
	d := job.Directions[name]
	step := 1000.0
	if !strings.Contains(text, "samples=") {
		step = 1024 // fio 2 wrote KB for KiB
	}
	found := extremes(text, unit, step, int(members(job.Options)))
	switch kind {
	case "iops":
		d.IOPSSamples = found
		if d.IOPS == 0 {
			d.IOPS = amountOr0(avg, 1000)
		}
	case "bw":
		d.BandwidthSamples = found
		if d.Bandwidth == 0 {
			d.Bandwidth = amountOr0(avg+unit, step)
		}
	}
	p.keep(job, name, d)
}

// extremes parses the minimum and the maximum of a line of samples; nil unless it has both.
//
//	bw (  MiB/s): min=   82, max=13513, per=95.40%, avg=3327.49, stdev=630.16, samples=155
//	iops        : min=10592, max=1729712, avg=425919.08, stdev=80659.95, samples=155
//	bw (KB  /s): min=69104, max=89968, per=100.00%, avg=84469.05, stdev=3966.55
func extremes(text, unit string, step float64, jobs int) *lab.Samples {
	least, okLeast := field(text, "min")
	largest, ok := field(text, "max")
	if !ok || !okLeast {
		return nil
	}
	n, _ := field(text, "samples")
	s := lab.Samples{Min: amountOr0(least+unit, step), Max: amountOr0(largest+unit, step),
		Count: int(whole(amountOr0(n, 1))), Jobs: jobs}
	if !(s.Max > 0) || s.Min > s.Max {
		return nil // damaged
	}
	return &s
}

// addedUp reports whether sample lines cover all jobs of an entry. Before fio 3, which prints the number of samples,
// they covered the first job.
func (p *textParser) addedUp(job *Job, text string) bool {
	if n := job.Options["numjobs"]; n == "" || n == "1" {
		return true
	}
	major, _, known := Version(p.block.Document.Version)
	return strings.Contains(text, "samples=") && (!known || major >= 3)
}

// cpu parses "cpu          : usr=18.10%, sys=17.40%, ctx=2701, majf=0, minf=10".
func (p *textParser) cpu(_ string, m []string) {
	p.direction, p.percentiles = "", nil
	job := p.current()
	if job == nil {
		return
	}
	job.UserCPU, job.SystemCPU = amountOr0(m[1], 1)/100, amountOr0(m[2], 1)/100
	job.ContextSwitches = whole(amountOr0(m[3], 1))
}

// latencyTarget parses the depth that fio found for a target; a zero means none.
//
//	latency   : target=200000, window=200000, percentile=90.00%, depth=1
func (p *textParser) latencyTarget(_ string, m []string) {
	if job := p.current(); job != nil {
		job.LatencyTarget, job.LatencyDepth = whole(amountOr0(m[1], 1)), whole(amountOr0(m[2], 1))
	}
}

// issued parses the number of I/Os, which is the weight of the means of several jobs.
//
//	issued rwts: total=0,10630,0,0 short=0,0,0,0 dropped=0,0,0,0
//	issued    : total=r=0/w=8935/d=0, short=r=0/w=0/d=0, drop=r=0/w=0/d=0
func (p *textParser) issued(_ string, m []string) {
	job := p.current()
	if job == nil {
		return
	}
	for i, name := range []string{lab.Read, lab.Write, lab.Trim} {
		if d, ok := job.Directions[name]; ok {
			d.IOs = whole(amountOr0(m[i+1], 1))
			job.Directions[name] = d
		}
	}
}

// total parses the summary of a group. If the lines of the jobs were not pasted, it is the only source of the
// bandwidth, and it belongs to a job only if there is exactly one.
//
//	READ: bw=36.9GiB/s (39.7GB/s), 36.9GiB/s-36.9GiB/s (39.7GB/s-39.7GB/s), io=111GiB (119GB), run=3007-3007msec
//	WRITE: io=8935.0MB, aggrb=4465.3MB/s, minb=4465.3MB/s, maxb=4465.3MB/s, mint=2001msec, maxt=2001msec
func (p *textParser) total(text string, m []string) {
	p.direction, p.percentiles = "", nil
	job := p.current()
	if job == nil && p.summarised && len(p.block.Document.Jobs) == 0 && len(p.sections) == 0 {
		job = &Job{Name: "all jobs", Directions: map[string]Direction{}, Options: map[string]string{}}
		p.job, p.seen = job, map[string]int{}
	}
	if job == nil || len(p.block.Document.Jobs) > 0 {
		return
	}
	rates := 0
	for _, d := range job.Directions {
		if d.Bandwidth > 0 {
			rates++
		}
	}
	if rates > p.seen["total"] {
		return
	}
	name := strings.ToLower(m[1])
	d := job.Directions[name]
	if bw, ok := field(text, "aggrb"); ok {
		d.Bandwidth = amountOr0(strings.TrimSuffix(bw, "/s"), 1024)
	} else if bw, ok := field(text, "bw"); ok {
		bw, _, _ = strings.Cut(bw, " ")
		d.Bandwidth = amountOr0(strings.TrimSuffix(bw, "/s"), 1000)
	}
	p.seen["total"]++
	p.keep(job, name, d)
}

// field finds "name= value" in a line; the value ends at a comma.
func field(text, name string) (string, bool) {
	for i := 0; ; {
		j := strings.Index(text[i:], name+"=")
		if j < 0 {
			return "", false
		}
		i += j
		if i == 0 || text[i-1] == ' ' {
			value, _, _ := strings.Cut(text[i+len(name)+1:], ",")
			return strings.TrimSpace(value), true
		}
		i++
	}
}

func amountOr0(s string, step float64) float64 {
	v, _ := amount(s, step)
	return v
}

// whole rounds to the nearest integer. Amounts are below 1e18 before their prefix, which malicious text can push out of
// range.
func whole(v float64) int64 {
	if v < 0 || v > 1<<62 {
		return 0
	}
	return int64(v + 0.5)
}

func perSecond(unit string) float64 {
	switch unit {
	case "nsec":
		return 1e9
	case "usec":
		return 1e6
	default:
		return 1e3
	}
}
