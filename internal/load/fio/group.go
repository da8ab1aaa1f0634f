package fio

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// Groups combines the jobs that ran at the same time under one name: those with the same group, job name and load, in
// the order in which they were printed. Rates, bytes and I/Os are added, bins are merged, means are weighted by the
// number of operations. Values of a Group are:
//
//	read.iops, read.bandwidth                  and so for write, trim and mixed
//	read.latency.mean, .min, .max, .p50, …     completion latency; the total latency where that one alone was measured
//	read.submit_latency.mean
//	sync.iops, sync.latency.mean, …            fsync and fdatasync
//	cpu.user, cpu.system                       shares of one core, added over the jobs
//	cpu.per_io                                 CPU seconds an I/O
//	elapsed                                    seconds of the longest job
//
// Quantiles come from the merged bins. fio's printed percentiles are used only if there is one job and it printed no
// bins: percentiles of several jobs can't be combined.
func (d Document) Groups() []Group {
	type key struct {
		group      int
		name, load string
	}
	var order []key
	members := map[key][]Job{}
	for _, j := range d.Jobs {
		k := key{j.Group, j.Name, d.load(j)}
		if members[k] == nil {
			order = append(order, k)
		}
		members[k] = append(members[k], j)
	}
	groups := make([]Group, 0, len(order))
	for _, k := range order {
		groups = append(groups, d.group(k.name, members[k]))
	}
	return groups
}

// Together reports whether two jobs belong to the same group of Groups.
func (d Document) Together(a, b Job) bool {
	return a.Group == b.Group && a.Name == b.Name && d.load(a) == d.load(b)
}

// loadOptions are the options that determine the load of a job.
func loadOptions() []string {
	return []string{"rw", "readwrite", "bs", "blocksize", "bsrange", "blocksize_range", "bssplit", "iodepth",
		"ioengine", "direct", "buffered", "rwmixread", "rwmixwrite", "rate", "rate_iops", "thinktime", "fsync",
		"fdatasync", "sync"}
}

// load returns the options of a job that determine its load. Clones of a job (numjobs) share them. They can have
// separate files. If fio prints options of some jobs only, and none for all, a job without them has those of the only
// load with its name and group.
func (d Document) load(j Job) string {
	if len(j.Options) > 0 || len(d.Global) > 0 {
		return d.optionsOfLoad(j)
	}
	only := ""
	for _, other := range d.Jobs {
		if other.Group != j.Group || other.Name != j.Name || len(other.Options) == 0 {
			continue
		}
		load := d.optionsOfLoad(other)
		if only != "" && only != load {
			return d.optionsOfLoad(j)
		}
		only = load
	}
	return cmp.Or(only, d.optionsOfLoad(j))
}

func (d Document) optionsOfLoad(j Job) string {
	var text strings.Builder
	for _, name := range loadOptions() {
		value, own := j.Options[name]
		if !own {
			value = d.Global[name]
		}
		text.WriteString(value + "\n")
	}
	return text.String()
}

func (d Document) group(name string, jobs []Job) Group {
	known := max(0, slices.IndexFunc(jobs, func(j Job) bool { return len(j.Options) > 0 }))
	g := Group{
		Name: name, Jobs: jobs,
		Params:  params(d.Global, jobs[known].Options),
		Values:  make(map[string]float64, 32), // two directions and the CPU; growing would cost more
		Latency: map[string]lab.Histogram{},
	}
	for _, j := range jobs {
		g.Seconds = max(g.Seconds, j.Seconds)
		if !j.Start.IsZero() && (g.Start.IsZero() || j.Start.Before(g.Start)) {
			g.Start = j.Start
		}
		if text := d.failure(j); text != "" {
			g.Errors = append(g.Errors, text)
		}
	}
	if g.Unlike = g.unlike(); g.Unlike {
		// The entry has the options of its first job.
		g.Name, g.Params = name+" and others", maps.Clone(d.Global)
		for _, option := range []string{"bs", "blocksize", "bsrange", "blocksize_range", "bssplit"} {
			delete(g.Params, option)
		}
	}
	g.IOs = g.addDirections()
	g.addSync()
	g.addCPU()
	if g.Seconds > 0 {
		g.Values["elapsed"] = g.Seconds
	}
	return g
}

// unlike reports whether fio added up different jobs (group_reporting): the mean I/O size differs from the block size
// of the first job, whose name and options represent all.
func (g *Group) unlike() bool {
	const most = 0.02 // fio prints three digits of the bytes
	size := BlockSize(g.Params)
	_, reported := g.Params["group_reporting"]
	stated := g.Params["bs"] != "" || g.Params["blocksize"] != ""
	if len(g.Jobs) != 1 || !reported || !stated || size == 0 {
		return false
	}
	for _, d := range g.Jobs[0].Directions {
		if d.IOs > 0 && d.Bytes > 0 && math.Abs(float64(d.Bytes)/float64(d.IOs)/float64(size)-1) > most {
			return true
		}
	}
	return false
}

func params(global, own map[string]string) map[string]string {
	p := make(map[string]string, len(global)+len(own))
	maps.Copy(p, global)
	maps.Copy(p, own)
	delete(p, "name")
	return p
}

// failure describes the error of a job; empty if it has none.
func (d Document) failure(j Job) string {
	name := strconv.Quote(j.Name)
	if j.Host != "" {
		name += " on " + j.Host
	}
	switch {
	case j.Error != 0:
		return fmt.Sprintf("job %s failed: %s (errno %d)", name, syscall.Errno(j.Error), j.Error)
	case j.TotalErrors > 0 && j.FirstError != 0:
		return fmt.Sprintf("job %s continued after %d failed I/Os, the first of them: %s (errno %d)",
			name, j.TotalErrors, syscall.Errno(j.FirstError), j.FirstError)
	case j.TotalErrors > 0:
		return fmt.Sprintf("job %s continued after %d failed I/Os", name, j.TotalErrors)
	// The exit status of such a job can be 0 (for example if a file was missing, or a size was 0).
	case len(j.Directions) == 0 && !d.Partial:
		return fmt.Sprintf("job %s did no I/O", name)
	}
	return ""
}

// addDirections fills in the values of reads, writes and trims, and returns their number of I/Os.
func (g *Group) addDirections() (ios int64) {
	for _, name := range lab.Directions() {
		var sum Direction
		var completion, submission []weighted
		found := false
		for _, j := range g.Jobs {
			dir, ok := j.Directions[name]
			// unified_rw_reporting=both prints the sum in addition to its parts.
			if !ok || name == lab.Mixed && len(j.Directions) > 1 {
				continue
			}
			found = true
			sum.IOs += dir.IOs
			sum.IOPS += dir.IOPS
			sum.Bandwidth += dir.Bandwidth
			if l := dir.latency(); l != nil {
				completion = append(completion, weighted{l, l.weight(dir.IOs)})
			}
			if l := dir.Submission; l != nil {
				submission = append(submission, weighted{l, l.weight(dir.IOs)})
			}
		}
		if !found {
			continue
		}
		ios += sum.IOs
		g.set(lab.IOPS(name), sum.IOPS)
		g.set(lab.Bandwidth(name), sum.Bandwidth)
		g.addSamples(name)
		g.addLatency(name, completion)
		if len(submission) > 0 {
			g.set(name+".submit_latency.mean", mean(submission))
		}
	}
	return ios
}

// addSamples keeps the extremes of the only entry: those of several would have to be added up, and fio does not print
// their times.
func (g *Group) addSamples(direction string) {
	if len(g.Jobs) != 1 {
		return
	}
	d := g.Jobs[0].Directions[direction]
	if d.IOPSSamples == nil && d.BandwidthSamples == nil {
		return // like in all JSON
	}
	for metric, s := range map[string]*lab.Samples{lab.IOPS(direction): d.IOPSSamples,
		lab.Bandwidth(direction): d.BandwidthSamples} {
		if s == nil {
			continue
		}
		if g.Samples == nil {
			g.Samples = map[string]lab.Samples{}
		}
		g.Samples[metric] = *s
	}
}

// set stores a value unless it is zero: a direction that did I/O has no rate or latency of zero, so a zero is a figure
// that was not printed.
func (g *Group) set(metric string, v float64) {
	if v > 0 {
		g.Values[metric] = v
	}
}

// weighted is the latency of one job with its number of operations as the weight.
type weighted struct {
	*Latency
	n float64
}

// weight returns N, or, if fio did not print it, the I/Os of the direction, or 1 if both are unknown.
func (l *Latency) weight(ios int64) float64 {
	switch {
	case l.N > 0:
		return float64(l.N)
	case ios > 0:
		return float64(ios)
	}
	return 1
}

// latency returns the completion latency. It returns the total latency instead if completion was not measured
// (disable_clat=1), or if only the total has a distribution (lat_percentiles=1): one metric has one source.
func (d Direction) latency() *Latency {
	if d.Completion == nil || d.Total != nil && !d.Completion.distributed() && d.Total.distributed() {
		return d.Total
	}
	return d.Completion
}

func (l *Latency) distributed() bool { return len(l.Percentiles) > 0 || len(l.Histogram.Counts) > 0 }

func mean(parts []weighted) float64 {
	var sum, n float64
	for _, p := range parts {
		sum += p.Mean * p.n
		n += p.n
	}
	return sum / n
}

func (g *Group) addLatency(direction string, parts []weighted) {
	if len(parts) == 0 {
		return
	}
	g.set(lab.Latency(direction, "mean"), mean(parts))
	lowest, highest := parts[0].Min, parts[0].Max
	complete := true
	for _, p := range parts {
		lowest, highest = min(lowest, p.Min), max(highest, p.Max)
		complete = complete && len(p.Histogram.Counts) > 0
	}
	h := merged(parts)
	// A minimum latency of zero is real if the maximum is not zero: fio's clock can be coarser than a fast engine.
	if highest > 0 {
		g.Values[lab.Latency(direction, "min")] = lowest
		g.Values[lab.Latency(direction, "max")] = highest
	}
	if complete {
		g.Latency[direction] = h
		for i, v := range stat.BinQuantiles(h.Nanoseconds, h.Counts, shares(lab.Quantiles())) {
			g.Values[lab.Latency(direction, lab.Quantiles()[i].Name)] = v / 1e9
		}
	} else if len(g.Jobs) == 1 {
		for _, q := range lab.Quantiles() {
			if v, ok := parts[0].percentile(q.Q); ok {
				g.Values[lab.Latency(direction, q.Name)] = v
			}
		}
	}
}

func shares(quantiles []lab.Quantile) []float64 {
	q := make([]float64, len(quantiles))
	for i := range quantiles {
		q[i] = quantiles[i].Q
	}
	return q
}

// merged returns the bins of all parts, as copies: the bins of a part belong to the document.
func merged(parts []weighted) lab.Histogram {
	h := parts[0].Histogram
	if len(parts) == 1 {
		return lab.Histogram{Nanoseconds: slices.Clone(h.Nanoseconds), Counts: slices.Clone(h.Counts)}
	}
	second := parts[1].Histogram
	h.Nanoseconds, h.Counts = stat.AddBins(h.Nanoseconds, h.Counts, second.Nanoseconds, second.Counts)
	for _, p := range parts[2:] {
		h.Nanoseconds, h.Counts = stat.MergeBins(h.Nanoseconds, h.Counts, p.Histogram.Nanoseconds, p.Histogram.Counts)
	}
	return h
}

// percentile returns a percentile. The shares were computed from decimals, so an equal one can differ in its last bit.
func (l *Latency) percentile(share float64) (float64, bool) {
	for s, v := range l.Percentiles {
		if s-share < 1e-9 && share-s < 1e-9 {
			return v, true
		}
	}
	return 0, false
}

func (g *Group) addSync() {
	var parts []weighted
	rate := 0.0
	for _, j := range g.Jobs {
		if j.SyncLatency == nil {
			continue
		}
		parts = append(parts, weighted{j.SyncLatency, j.SyncLatency.weight(0)})
		if j.Seconds > 0 {
			rate += float64(j.SyncLatency.N) / j.Seconds
		}
	}
	g.set(lab.IOPS(lab.Sync), rate)
	g.addLatency(lab.Sync, parts)
}

// addCPU adds up the CPU time of the jobs. fio prints percentages of the run time; with group_reporting that is the sum
// of the run times of all members, so the percentage is an average over them.
func (g *Group) addCPU() {
	var user, system float64
	for _, j := range g.Jobs {
		seconds := j.RunSeconds
		if seconds == 0 {
			seconds = j.Seconds * members(g.Params)
		}
		user += j.UserCPU * seconds
		system += j.SystemCPU * seconds
	}
	if user+system == 0 || g.Seconds == 0 {
		return
	}
	g.Values["cpu.user"] = user / g.Seconds
	g.Values["cpu.system"] = system / g.Seconds
	if g.IOs > 0 {
		g.Values[lab.CPUPerIO] = (user + system) / float64(g.IOs)
	}
}

// members returns the number of jobs that one entry represents.
func members(params map[string]string) float64 {
	if reporting, ok := params["group_reporting"]; !ok || reporting == "0" {
		return 1
	}
	n, err := strconv.Atoi(params["numjobs"])
	if err != nil || n < 1 {
		return 1
	}
	return float64(n)
}
