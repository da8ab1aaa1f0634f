package validity

import (
	"math"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
)

// value is a figure of the repetition by its metric, whoever measured it.
func (e *Evidence) value(metric string) (float64, bool) {
	if v, ok := e.Repetition.Values[metric]; ok {
		return v, true
	}
	v, ok := e.Group.Values[metric]
	return v, ok
}

// seconds that were measured; 0 when unknown.
func (e *Evidence) ran() float64 {
	if e.Group.Seconds > 0 {
		return e.Group.Seconds
	}
	return e.Repetition.Seconds
}

// traffic is what a load did in one direction: all jobs of a group of fio's, or what another tool says of the whole.
type traffic struct {
	bytes, ios int64
	iops       float64
	// inFlight and inSubmission are the operations that were, on average, with the device and inside the call that
	// submits them, by Little's law: rate times mean latency. inAll is both together. NaN where no latency is known.
	inFlight, inSubmission, inAll float64
}

func (e *Evidence) traffic(direction string) traffic {
	if len(e.Group.Jobs) == 0 {
		return e.trafficOfValues(direction)
	}
	var t traffic
	for _, j := range e.Group.Jobs {
		d, ok := j.Directions[direction]
		if !ok {
			continue
		}
		t.bytes += d.Bytes
		t.ios += d.IOs
		t.iops += d.IOPS
		t.inFlight += d.IOPS * mean(d.Completion)
		t.inSubmission += d.IOPS * meanOrZero(d.Submission)
		t.inAll += d.IOPS * mean(d.Total)
	}
	return t
}

// trafficOfValues is the same of a tool other than fio, which prints rates and one latency.
func (e *Evidence) trafficOfValues(direction string) traffic {
	bandwidth, _ := e.value(lab.Bandwidth(direction))
	iops, ok := e.value(lab.IOPS(direction))
	if block := e.options().blockSizes()[direction]; !ok && block > 0 {
		iops = bandwidth / float64(block)
	}
	t := traffic{bytes: int64(bandwidth * e.ran()), ios: int64(iops * e.ran()), iops: iops, inFlight: math.NaN()}
	if latency, ok := e.value(lab.Latency(direction, "mean")); ok && iops > 0 {
		t.inFlight = iops * latency
	}
	t.inAll = t.inFlight
	return t
}

func mean(l *fio.Latency) float64 {
	if l == nil {
		return math.NaN()
	}
	return l.Mean
}

// meanOrZero is for submission, which synchronous engines and io_uring do not measure.
func meanOrZero(l *fio.Latency) float64 {
	if l == nil {
		return 0
	}
	return l.Mean
}

// did reports whether anything was done in a direction.
func (e *Evidence) did(direction string) bool {
	if len(e.Group.Jobs) == 0 && direction != lab.Sync {
		iops, _ := e.value(lab.IOPS(direction))
		bandwidth, _ := e.value(lab.Bandwidth(direction))
		return iops > 0 || bandwidth > 0
	}
	return slices.ContainsFunc(e.Group.Jobs, func(j fio.Job) bool {
		d := j.Directions[direction]
		return d.IOs > 0 || d.Bytes > 0 || d.IOPS > 0 // pasted text may have one of them only
	})
}

// directions in which something was done. unified_rw_reporting=both prints the sum beside its parts.
func (e *Evidence) directions() []string {
	all := slices.DeleteFunc(lab.Directions(), func(d string) bool { return !e.did(d) })
	if len(all) > 1 {
		all = slices.DeleteFunc(all, func(d string) bool { return d == lab.Mixed })
	}
	return all
}

// plural is what operations of a direction are called.
func plural(direction string) string {
	if direction == lab.Mixed {
		return "reads and writes"
	}
	return direction + "s"
}

// limit is how many operations may be in flight, all jobs together, by what the load says; false where it does not say
// all of that. An entry of fio's output may stand for several jobs.
func (e *Evidence) limit() (operations float64, known bool) {
	_, depth := e.options().param("iodepth")
	_, jobs := e.options().param("numjobs")
	whole := e.options().complete()
	jobs = jobs || whole || len(e.Group.Jobs) > 0 // whose text names the jobs of an entry
	jobs = jobs && (depth || whole)
	operations = e.options().depth() * e.allJobs()
	if !e.options().isOn("group_reporting") {
		return operations, jobs
	}
	members, timed := 0.0, e.Document.Partial
	for _, j := range e.Group.Jobs {
		if j.RunSeconds > 0 && j.Seconds > 0 { // the sum of all members that an entry stands for
			members, timed = members+math.Ceil(j.RunSeconds/j.Seconds-0.1), true
		}
	}
	return max(operations, e.options().depth()*members), jobs && (timed || len(e.Group.Jobs) == 0)
}

// allJobs is the number of jobs of a load that runs at several hosts or workers, each with all of its jobs.
func (e *Evidence) allJobs() float64 {
	hosts := map[string]bool{}
	for _, j := range e.Group.Jobs {
		hosts[j.Host] = true
	}
	return max(e.jobs(), float64(e.options().amount("numjobs", 1)*int64(max(1, e.Workers, len(hosts)))))
}
