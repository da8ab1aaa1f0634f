package validity

import (
	"maps"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/unit"
)

const (
	device = 960_197_124_096 // an NVMe drive of 960 GB
	memory = 16 << 30
)

// load describes a test load: what was asked for and how it went.
type load struct {
	params  map[string]string
	iops    map[string]float64 // by direction, all jobs together
	seconds float64
	// depth really in flight, all jobs together; the latency follows from it. 0 is as much as was asked for.
	depth float64
	cpu   float64 // share of a core, each job
}

// params of fio, over the usual ones for a raw device.
func params(over ...string) map[string]string {
	p := map[string]string{"ioengine": "libaio", "direct": "1", "bs": "4k", "iodepth": "32", "rw": "randread",
		"time_based": "1", "runtime": "30"}
	for i := 0; i+1 < len(over); i += 2 {
		if over[i+1] == "-" {
			delete(p, over[i])
			continue
		}
		p[over[i]] = over[i+1]
	}
	return p
}

// measure is the evidence of a load on a healthy machine: a filled NVMe drive, counters that agree, and a steady
// series.
func measure(l load) Evidence {
	amount := func(name string, fallback int64) int64 {
		if n, err := unit.ParseBytes(l.params[name]); err == nil && n > 0 {
			return n
		}
		return fallback
	}
	jobs, depth, bs := int(amount("numjobs", 1)), amount("iodepth", 1), amount("bs", 4096)
	if l.depth == 0 {
		l.depth = 0.95 * float64(depth) * float64(jobs)
	}
	if l.cpu == 0 {
		l.cpu = 0.6
	}
	total := 0.0
	for _, v := range l.iops {
		total += v
	}
	mean := l.depth / total
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := Evidence{
		Cell: lab.Cell{ID: "c1", Job: "test", Engine: "fio", Params: maps.Clone(l.params)},
		Place: lab.Place{Kind: lab.Device, Path: "/dev/nvme0n1", Resolved: "/dev/nvme0n1", Size: device,
			Disks: []string{"nvme0n1"}},
		Group: fio.Group{
			Name: "test", Params: l.params, Seconds: l.seconds,
			Values: map[string]float64{"elapsed": l.seconds}, Latency: map[string]lab.Histogram{},
		},
		Wanted: 30 * time.Second,
		Machine: Machine{MemoryBytes: memory, Cores: 8, LogicalBlock: 512, PhysicalBlock: 512, Rotational: new(bool),
			WriteCache: "write through", ClockSource: "tsc", FioVersion: "fio-3.33"},
		Repetition: lab.Repetition{
			Cell: "c1", Number: 1, Block: 1, Position: 1, Start: start, Seconds: l.seconds,
			Layout: lab.LayoutState{Kind: "fill", ID: "1", Written: start.Add(-time.Hour), Bytes: device},
		},
	}
	if l.params["runtime"] == "" {
		e.Wanted = 0
	}
	r := rand.New(rand.NewPCG(7, 7))
	d := DiskCounters{}
	for n := range jobs {
		j := fio.Job{Name: "test", Seconds: l.seconds, Directions: map[string]fio.Direction{},
			UserCPU: l.cpu / 3, SystemCPU: l.cpu * 2 / 3, Depth: map[string]float64{strconv.FormatInt(depth, 10): 1}}
		for _, dir := range lab.Directions() {
			iops, ok := l.iops[dir]
			if !ok {
				continue
			}
			rate := iops / float64(jobs)
			j.Directions[dir] = fio.Direction{
				IOs: int64(rate * l.seconds), Bytes: int64(rate*l.seconds) * bs, Seconds: l.seconds,
				IOPS: rate, Bandwidth: rate * float64(bs),
				Submission: &fio.Latency{Mean: 1.5e-6, N: 1}, Completion: &fio.Latency{Mean: mean, N: 1},
				Total: &fio.Latency{Mean: mean + 1.5e-6, N: 1},
			}
			moved := int64(rate*l.seconds) * bs
			switch dir {
			case lab.Read:
				d.ReadBytes += moved
			case lab.Write:
				d.WriteBytes += moved
			}
			if n > 0 {
				continue
			}
			e.Group.Values[lab.IOPS(dir)] = iops
			e.Group.Values[lab.Bandwidth(dir)] = iops * float64(bs)
			for _, q := range []string{"p50", "p99", "p99.9", "p99.99"} {
				e.Group.Values[lab.Latency(dir, q)] = mean
			}
			s := lab.Series{Metric: lab.IOPS(dir), Interval: 1}
			for range int(l.seconds) + 1 {
				s.Values = append(s.Values, iops*(1+0.02*r.NormFloat64()))
			}
			e.Repetition.Series = append(e.Repetition.Series, s)
		}
		e.Group.Jobs = append(e.Group.Jobs, j)
	}
	e.Group.Values["cpu.user"], e.Group.Values["cpu.system"] = l.cpu/3*float64(jobs), l.cpu*2/3*float64(jobs)
	e.Document = fio.Document{Version: "fio-3.33", Jobs: e.Group.Jobs}
	e.Repetition.Values = e.Group.Values
	// The counters since boot, and what the load added: its bytes and a little metadata and logging.
	since := DiskCounters{ReadBytes: 9 << 30, WriteBytes: 5 << 30, FlushIOs: 4000, ReadIOs: 1e6, WriteIOs: 1e6}
	after := since
	after.ReadBytes += d.ReadBytes + 1<<20
	after.WriteBytes += d.WriteBytes + 2<<20
	idle := CPUTimes{User: 1000, System: 500, Idle: 90_000, IOWait: 50}
	worked := idle
	worked.User += l.seconds
	worked.System += l.seconds
	worked.Idle += 6 * l.seconds
	counters := func(at time.Time, d DiskCounters, cpu CPUTimes, celsius float64) Counters {
		return Counters{Time: at, Disks: map[string]DiskCounters{"nvme0n1": d}, CPU: cpu, Throttles: 12,
			MHz: 800, MaxMHz: 3900, PressureIO: -1, DiskCelsius: map[string]float64{"nvme0n1": celsius}}
	}
	e.Before = counters(start, since, idle, 41)
	e.After = counters(start.Add(31*time.Second), after, worked, 52)
	return e
}

// change lets a test alter evidence in place.
func change(e Evidence, how func(*Evidence)) Evidence {
	how(&e)
	return e
}

func (e *Evidence) disk(how func(*DiskCounters)) {
	d := e.After.Disks[e.Place.Disks[0]]
	how(&d)
	e.After.Disks[e.Place.Disks[0]] = d
}

// serve leaves only a share of the bytes to the disk.
func (e *Evidence) serve(direction string, share float64) {
	before := e.Before.Disks[e.Place.Disks[0]]
	moved := share * float64(e.traffic(direction).bytes)
	e.disk(func(d *DiskCounters) {
		if direction == lab.Read {
			d.ReadBytes = before.ReadBytes + int64(moved)
		} else {
			d.WriteBytes = before.WriteBytes + int64(moved)
		}
	})
}

func (e *Evidence) series(direction string, values []float64) {
	e.Repetition.Series = []lab.Series{{Metric: lab.IOPS(direction), Interval: 1, Values: values}}
}

// reads and writes are the usual loads on the device.
func reads() Evidence { return reading(350e3) }

func writes(over ...string) Evidence {
	return writing(120e3, append([]string{"rw", "randwrite"}, over...)...)
}

// reading is 30 s of reads at a rate, with as much in flight as was asked for.
func reading(iops float64, over ...string) Evidence {
	return measure(load{params: params(over...), iops: map[string]float64{"read": iops}, seconds: 30})
}

func writing(iops float64, over ...string) Evidence {
	return measure(load{params: params(over...), iops: map[string]float64{"write": iops}, seconds: 30})
}

// shallow is reading with so many in flight; shallowWrites is the same for writing.
func shallow(depth, iops float64, over ...string) Evidence {
	return measure(load{params: params(over...), iops: map[string]float64{"read": iops}, seconds: 30, depth: depth})
}

func shallowWrites(depth, iops float64, over ...string) Evidence {
	return measure(load{params: params(over...), iops: map[string]float64{"write": iops}, seconds: 30, depth: depth})
}

// busy is reading with so much of a core used by each job.
func busy(cpu, iops float64, over ...string) Evidence {
	return measure(load{params: params(over...), iops: map[string]float64{"read": iops}, seconds: 30, cpu: cpu})
}

// mixing is 30 s of reads and writes.
func mixing(reads, writes float64, over ...string) Evidence {
	return measure(load{params: params(over...), iops: map[string]float64{"read": reads, "write": writes}, seconds: 30})
}

// lasting is reading for another time.
func lasting(seconds, iops float64, over ...string) Evidence {
	return measure(load{params: params(over...), iops: map[string]float64{"read": iops}, seconds: seconds})
}

// inFile is a load on a scratch file of an ext4 file system, laid out in full an hour before.
func inFile(e Evidence, size int64) Evidence {
	e.Place = lab.Place{Kind: lab.Directory, Path: "/srv", Size: size, Disks: []string{"nvme0n1"}, Filesystem: "ext4"}
	e.Machine.Filesystem = "ext4"
	e.Machine.MountOptions = []string{"rw", "relatime"}
	e.Repetition.Layout.Kind, e.Repetition.Layout.Bytes = "file", size
	return e
}

// imported is an import: what fio printed and nothing else.
func imported(e Evidence) Evidence {
	return Evidence{Cell: e.Cell, Group: e.Group, Document: e.Document,
		Repetition: lab.Repetition{Cell: "c1", Number: 1, Values: e.Group.Values, Seconds: e.Group.Seconds}}
}
