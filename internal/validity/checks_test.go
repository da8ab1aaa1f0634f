package validity

import (
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
)

// one is a case of a check: what the warning must say, or "" when the check must be silent.
type one struct {
	name string
	e    Evidence
	says string
}

// cases are those of every check, by its code.
func cases() map[string][]one {
	yes := true
	buffered := func(size int64, share float64) Evidence {
		e := inFile(reading(90e3, "direct", "0", "ioengine", "psync", "iodepth", "1"), size)
		e.serve(lab.Read, share)
		return e
	}
	bufferedWrites := func(share float64, over ...string) Evidence {
		p := append([]string{"rw", "write", "bs", "1M", "direct", "0", "ioengine", "psync", "iodepth", "1"}, over...)
		e := inFile(shallowWrites(0.98, 900, p...), 40<<30)
		e.serve(lab.Write, share)
		return e
	}
	durable := func(syncs uint64, flushes int64, p50 float64, cache string) Evidence {
		e := inFile(shallowWrites(0.2, 1000, "rw", "randwrite", "iodepth", "1", "ioengine", "psync", "fsync", "1"),
			4<<30)
		e.disk(func(d *DiskCounters) {
			d.FlushIOs += flushes
			d.WriteBytes *= 3 // the journal
		})
		e.Group.Latency[lab.Sync] = lab.Histogram{Nanoseconds: []int64{int64(p50 * 1e9)}, Counts: []uint64{syncs}}
		e.Group.Values[lab.Latency(lab.Sync, "p50")] = p50
		e.Machine.WriteCache = cache
		return e
	}
	series := func(values func(i int, noise float64) float64) Evidence {
		e := writes()
		r := rand.New(rand.NewPCG(5, 5))
		var s []float64
		for i := range 61 {
			s = append(s, values(i, 1+0.02*r.NormFloat64()))
		}
		e.series(lab.Write, s)
		return e
	}
	rated := func(asked string, got float64) Evidence {
		return shallow(0.3, got, "rate_iops", asked)
	}
	two := func(first, second float64) Evidence {
		e := lasting(second, 300e3, "numjobs", "2")
		e.Group.Jobs[0].Seconds = first
		return e
	}

	return map[string][]one{
		"errors": {
			{"a job failed", change(writes(), func(e *Evidence) {
				e.Group.Errors = []string{`job "test" failed: no space left on device (errno 28)`}
				e.ExitCode = 1
			}), "no space left on device"},
			{"exit status alone", change(reads(), func(e *Evidence) {
				e.ExitCode, e.Stderr = 1, "some note\nfio: failed allocating random map\n"
			}), "exit status 1 (fio: failed allocating random map)"},
			{"O_DIRECT refused", change(reads(), func(e *Evidence) {
				e.Group.Errors = []string{`job "test" failed: invalid argument (errno 22)`}
				e.Stderr = "fio: looks like your file system does not support direct=1/buffered=0\n"
			}), "refuses O_DIRECT"},
			{"short I/Os", change(reads(), func(e *Evidence) {
				d := e.Group.Jobs[0].Directions[lab.Read]
				d.ShortIOs = 3
				e.Group.Jobs[0].Directions[lab.Read] = d
			}), "3 I/Os came back short"},
			{"notes on stderr", change(reads(), func(e *Evidence) { e.Stderr = "fio: a note about nothing\n" }), ""},
		},
		"no-io": {
			{"mixed without writes", reading(100e3, "rw", "randrw"), "write"},
			{"mixed with both", mixing(70e3, 30e3, "rw", "randrw"), ""},
			{"reads only, by share", reading(70e3, "rw", "randrw", "rwmixread", "100"), ""},
			{"pasted text", change(reading(100e3, "rw", "randrw"),
				func(e *Evidence) { e.Document.Partial = true }), ""},
		},
		"ended-early": {
			{"end of the file", lasting(11, 350e3, "time_based", "-"), "add time_based"},
			{"a hair short", lasting(29.98, 350e3), ""},
			{"by size", lasting(11, 350e3, "runtime", "-", "time_based", "-", "size", "10g"), ""},
		},
		"short-run": {
			{"half a second", change(lasting(0.5, 350e3, "runtime", "-"), func(e *Evidence) {
				e.Wanted = 0
			}), "500 ms"},
			{"three seconds", lasting(3, 350e3, "runtime", "3"), ""},
		},
		"uneven-jobs": {
			{"one left early", two(12, 30), "12.0 s and the last after 30.0 s"},
			{"together", two(29.9, 30), ""},
		},
		"unlike-jobs": {
			{"added up by fio", change(reads(), func(e *Evidence) { e.Group.Unlike = true }), "group_reporting"},
			{"of one load", reads(), ""},
		},
		"concurrent-jobs": {
			{"another of the same name", change(reads(), func(e *Evidence) {
				first, other := e.Document.Jobs[0], e.Document.Jobs[0]
				first.Options, other.Options = map[string]string{"bs": "4k"}, map[string]string{"bs": "256k"}
				e.Document.Jobs, e.Group.Jobs = []fio.Job{first, other}, []fio.Job{first}
			}), "another job of that name"},
			{"reads and writes at once", change(reads(), func(e *Evidence) {
				e.Document.Jobs = append(slices.Clone(e.Document.Jobs), fio.Job{Name: "writer", Group: 0})
			}), "writer"},
			{"one after the other", change(reads(), func(e *Evidence) {
				e.Document.Jobs = append(slices.Clone(e.Document.Jobs), fio.Job{Name: "writer", Group: 1})
			}), ""},
		},

		"never-written": {
			{"discarded", change(reads(), func(e *Evidence) {
				e.Repetition.Layout = lab.LayoutState{Kind: "discarded"}
			}), "discarded"},
			{"half filled", change(reads(), func(e *Evidence) {
				e.Repetition.Layout.Bytes = device / 2
			}), "only 447 GiB of the 894 GiB"},
			{"a sparse file", change(inFile(reading(350e3), 8<<30), func(e *Evidence) {
				e.Repetition.Layout = lab.LayoutState{}
				e.serve(lab.Read, 0.001)
			}), "holes"},
			{"create_on_open", mixing(60e3, 60e3, "rw", "randrw", "create_on_open", "1"), "create_on_open"},
			{"filled", reads(), ""},
			{"only the part that was filled is read", change(reading(350e3, "size", "100g"),
				func(e *Evidence) { e.Repetition.Layout.Bytes = 100 << 30 }), ""},
			{"writes to a discarded device", change(writes(), func(e *Evidence) {
				e.Repetition.Layout = lab.LayoutState{Kind: "discarded"}
			}), ""},
			{"a device of unknown content", change(reads(), func(e *Evidence) {
				e.Repetition.Layout = lab.LayoutState{}
			}), ""},
			{"an import", imported(reads()), ""},
		},
		"page-cache": {
			{"all from memory", buffered(8<<30, 0.01), "99% of what fio read"},
			{"from the disk", buffered(64<<30, 0.99), ""},
			{"direct", reads(), ""},
			{"with a ramp", change(buffered(64<<30, 1.34), func(e *Evidence) {
				e.Group.Params["ramp_time"] = "10"
			}), ""},
			{"with a ramp that hid it", change(buffered(8<<30, 0.95), func(e *Evidence) {
				e.Group.Params["ramp_time"] = "30"
			}), "52%"},
			{"no counters", change(buffered(8<<30, 0), func(e *Evidence) { e.After.Disks = nil }), ""},
			{"NFS, a tenth from the server", served(buffered(8<<30, 0), 0.1), "the server only"},
			{"NFS, all from the server", served(buffered(8<<30, 0), 1), ""},
		},
		"direct-not-honoured": {
			{"reads from memory", change(inFile(reading(900e3), 8<<30), func(e *Evidence) {
				e.serve(lab.Read, 0)
			}), "direct=1 was asked for"},
			{"writes stay in memory", change(inFile(writing(200e3, "rw", "randwrite"), 8<<30), func(e *Evidence) {
				e.serve(lab.Write, 0.4)
			}), "wrote only 40%"},
			{"ZFS without counters", change(inFile(reading(900e3), 8<<30), func(e *Evidence) {
				e.Place.Filesystem, e.Place.Disks = "zfs", nil
			}), "ZFS"},
			{"honoured", inFile(reading(350e3), 8<<30), ""},
			{"a device, whose multipath counts elsewhere", change(reads(), func(e *Evidence) {
				e.serve(lab.Read, 0)
			}), ""},
			{"NFS has no disks", network(64 << 30), ""},
			{"NFS whose server has sent all", served(network(64<<30), 1), ""},
			{"NFS that answers from memory", served(network(64<<30), 0.5), "the server read only 50%"},
		},
		"memory-backed": {
			{"tmpfs", change(inFile(reading(900e3), 1<<30), func(e *Evidence) {
				e.Place.Filesystem, e.Place.Disks = "tmpfs", nil
			}), "tmpfs"},
			{"RAM disk", change(reads(), func(e *Evidence) { e.Place.Disks = []string{"ram0"} }), "ram0"},
			{"a disk", reads(), ""},
			{"nothing known", imported(reads()), ""},
		},
		"server-cache": {
			{"a gigabyte", network(1 << 30), "nfs4"},
			{"more than memory", network(3 * memory), ""},
			{"local", inFile(reading(350e3), 1<<30), ""},
		},
		"small-file": {
			{"fits", buffered(8<<30, 0.01), "fits into the page cache"},
			{"fits, but came from the disk", buffered(8<<30, 0.99), ""},
			{"twice the memory", buffered(2*memory, 0.5), ""},
			{"direct", inFile(reading(350e3), 1<<30), ""},
			{"an import", imported(buffered(8<<30, 0)), ""},
		},
		"implausibly-fast": {
			{"3 µs", shallow(0.75, 250e3, "iodepth", "1"), "3.00 µs"},
			{"60 µs", shallow(0.9, 15e3, "iodepth", "1"), ""},
			{"null engine", shallow(0.2, 2e6, "iodepth", "1", "ioengine", "null"), ""},
			{"sequential, which the drive reads ahead", shallow(0.75, 250e3, "iodepth", "1", "rw", "read"), ""},
			{"deeper", shallow(0.75, 250e3), "3.00 µs of reads"},
			{"polled", shallow(0.95, 180e3, "iodepth", "1", "ioengine", "io_uring", "hipri", ""), ""},
			{"writes", shallowWrites(0.5, 1e6, "rw", "randwrite", "iodepth", "1"), "500 ns of writes"},
			{"writes that are flushed", shallowWrites(0.5, 1e6, "rw", "randwrite", "iodepth", "1", "fsync", "1"), ""},
			{"writes into a drive's cache", shallowWrites(0.9, 70e3, "rw", "randwrite", "iodepth", "1"), ""},
			{"buffered writes", shallowWrites(0.5, 1e6, "rw", "write", "iodepth", "1", "direct", "0"), ""},
			{"a mebibyte from memory", shallow(0.9, 360e3, "rw", "read", "bs", "1M", "iodepth", "1", "direct", "0"),
				"2.50 µs of reads"},
			{"a mebibyte over a fast link", shallow(0.9, 13e3, "rw", "read", "bs", "1M", "iodepth", "1"), ""},
			{"trims inside the call", change(trims(12.9e3, 76e-9), func(e *Evidence) {
				d := e.Group.Jobs[0].Directions[lab.Trim]
				d.Total = &fio.Latency{Mean: 71.6e-6}
				e.Group.Jobs[0].Directions[lab.Trim] = d
			}), "76.0 ns of trims (71.6 µs with submission) is less than any drive takes"},
			{"trims", trims(12.9e3, 72e-6), ""},
			{"both of two directions", mixing(2e6, 2e6, "rw", "randrw", "iodepth", "1", "direct", "1"),
				"237 ns of reads, and a median latency of 237 ns of writes is faster"},
			{"persistent memory", change(shallow(0.75, 250e3, "iodepth", "1"), func(e *Evidence) {
				e.Place.Path, e.Place.Disks = "/dev/pmem0", []string{"pmem0"}
			}), ""},
			{"another tool, whose engine is unknown", other(map[string]float64{"write.iops": 900e3,
				"write.latency.mean": 0.6e-6}, "rw", "randwrite", "bs", "4k", "iodepth", "1", "numjobs", "1"),
				"a mean latency of 600 ns of writes"},
		},

		"generator-bound": {
			{"a full core", busy(0.99, 420e3), "99% of a core"},
			{"an import", imported(busy(0.99, 420e3)), "99% of a core"},
			{"new data each time", busy(0.99, 420e3, "refill_buffers", ""), "refill_buffers"},
			{"the whole machine", change(busy(0.25, 1e6, "numjobs", "32"), func(e *Evidence) {
				e.After.CPU = e.Before.CPU
				e.After.CPU.System += 239
				e.After.CPU.Idle++
			}), "fewer jobs may be as fast"},
			{"somebody else's work", change(reads(), func(e *Evidence) {
				e.After.CPU = e.Before.CPU
				e.After.CPU.User += 239
				e.After.CPU.Idle++
			}), "fio itself used 7.5%"},
			{"room left", reads(), ""},
			{"polling", busy(1, 420e3, "ioengine", "io_uring", "hipri", "1"), ""},
		},
		"depth-not-reached": {
			{"a tenth",
				shallow(3, 20e3, "ioengine", "io_uring"),
				"32 I/Os were asked to be in flight (iodepth 32 times numjobs 1) and on average 3.0"},
			{"fsync empties the queue", shallowWrites(1, 2e3, "rw", "randwrite", "fsync", "1"), "each fsync waits"},
			{"blocked in submission", change(shallowWrites(30, 900, "rw", "write", "bs", "1M"), func(e *Evidence) {
				d := e.Group.Jobs[0].Directions[lab.Write]
				d.Submission.Mean = 1e-3
				e.Group.Jobs[0].UserCPU, e.Group.Jobs[0].SystemCPU = 0.02, 0.08
			}), "blocked in calls that submit"},
			{"no latency, shallow table", change(reading(350e3, "gtod_reduce", "1"), func(e *Evidence) {
				d := e.Group.Jobs[0].Directions[lab.Read]
				d.Completion, d.Submission, d.Total = nil, nil, nil
				e.Group.Jobs[0].Directions[lab.Read] = d
				e.Group.Jobs[0].Depth = map[string]float64{"1": 0.2, "4": 0.7, "16": 0.1}
			}), "less than half of that in flight 90% of the time"},
			{"no latency, full table", change(reading(350e3, "gtod_reduce", "1"), func(e *Evidence) {
				d := e.Group.Jobs[0].Directions[lab.Read]
				d.Completion = nil
				e.Group.Jobs[0].Directions[lab.Read] = d
			}), ""},
			{"reached", reads(), ""},
			{"depth 1", shallow(0.9, 15e3, "iodepth", "1"), ""},
			{"held to a rate", rated("1000", 1000), ""},
			{"many jobs, each deep", shallow(120, 900e3, "numjobs", "4"), ""},
			{"another tool", other(map[string]float64{"write.iops": 10.8, "write.latency.mean": 2.56e-3}, "rw", "write",
				"bs", "1M", "iodepth", "8", "numjobs", "1"),
				"on average 0.0 were; the rest of the time went elsewhere"},
			{"another tool that flushed at the end", other(map[string]float64{"write.iops": 240,
				"write.latency.mean": 50.96e-6}, "rw", "randwrite", "bs", "4k", "iodepth", "1", "numjobs", "1"),
				"1 I/O was asked to be in flight (iodepth 1 times numjobs 1) and on average 0.012 were"},
			{"another tool, at a rate", other(map[string]float64{"write.iops": 240, "write.latency.mean": 50.96e-6},
				"rw", "randwrite", "iodepth", "1", "rate_iops", "240"), ""},
			{"another tool that does not say how deep", other(map[string]float64{"write.iops": 240,
				"write.latency.mean": 50.96e-6}, "rw", "randwrite"), ""},
			{"another tool that reached it", other(map[string]float64{"read.iops": 7083.7,
				"read.latency.mean": 987.81e-6}, "rw", "read", "bs", "1M", "iodepth", "8", "numjobs", "1"), ""},
			{"workers", change(other(map[string]float64{"read.iops": 1000, "read.latency.mean": 8e-3}, "rw", "read",
				"iodepth", "8", "numjobs", "1"), func(e *Evidence) { e.Workers = 4 }), "32 I/Os were asked"},
			{"two hosts", change(reading(200e3, "numjobs", "1"), func(e *Evidence) {
				second := e.Group.Jobs[0]
				second.Host = "b"
				e.Group.Jobs = append(e.Group.Jobs, second)
			}), ""},
			{"by batches", shallow(12, 300e3, "iodepth_batch_complete_min", "16"), ""},
		},
		"latency-target": {
			{"found 1", change(reads(), func(e *Evidence) {
				e.Group.Jobs[0].LatencyTarget, e.Group.Jobs[0].LatencyDepth = 200000, 1
			}), "found 1: this is no result at iodepth=32"},
			{"found all", change(reads(), func(e *Evidence) {
				e.Group.Jobs[0].LatencyTarget, e.Group.Jobs[0].LatencyDepth = 200000, 32
			}), ""},
			{"no target", change(reads(), func(e *Evidence) { e.Group.Jobs[0].LatencyDepth = 1 }), ""},
		},
		"above-depth": {
			{"twice", shallow(1.8, 955, "iodepth", "1"), "1.8 I/Os in flight, and 1 could be"},
			{"another tool", other(map[string]float64{"read.iops": 12.2e3, "read.latency.mean": 810e-6}, "rw",
				"randread", "bs", "4k", "iodepth", "1", "numjobs", "1"), "9.88 I/Os in flight"},
			{"how many jobs is not said", other(map[string]float64{"read.iops": 12.2e3, "read.latency.mean": 810e-6},
				"rw", "randread", "bs", "4k", "iodepth", "1"), ""},
			{"how deep is not said", change(shallow(1.8, 955, "iodepth", "-"), func(e *Evidence) {
				e.Document.Partial = true
			}), ""},
			{"how deep the command tells", change(shallow(1.8, 955, "iodepth", "-"), func(e *Evidence) {
				e.Document.Partial, e.Repetition.Command = true, []string{"fio", "--name=x", "--rw=randread"}
			}), "1.8 I/Os"},
			{"eight jobs in one entry", change(shallow(7.9, 8e3, "iodepth", "1", "group_reporting", ""),
				func(e *Evidence) { e.Group.Jobs[0].RunSeconds = 8 * 30 }), ""},
			{"some jobs in one entry", shallow(7.9, 8e3, "iodepth", "1", "group_reporting", ""), ""},
			{"workers", change(other(map[string]float64{"read.iops": 2000, "read.latency.mean": 1e-3}, "rw", "read",
				"iodepth", "1", "numjobs", "1"), func(e *Evidence) { e.Workers = 2 }), ""},
			{"reads that verify", change(mixing(1000, 1000, "rw", "write", "iodepth", "1"), func(e *Evidence) {
				for name, d := range e.Group.Jobs[0].Directions {
					d.Total = &fio.Latency{Mean: 0.95e-3}
					e.Group.Jobs[0].Directions[name] = d
				}
			}), ""},
			{"as deep as asked", reads(), ""},
		},
		"import-disagrees": {
			{"four times", change(reads(), func(e *Evidence) { e.Group.Values["read.bandwidth"] *= 4 }), "5.34 GiB/s"},
			{"a quarter", change(reads(), func(e *Evidence) { e.Group.Values["read.bandwidth"] /= 4 }), "342 MiB/s"},
			{"decimal megabytes", other(map[string]float64{"read.iops": 113.4, "read.bandwidth": 113.4e6}, "bs", "1M"),
				"113 IOPS of 1.00 MiB"},
			{"trims", other(map[string]float64{"trim.iops": 5000, "trim.bandwidth": 20e6}, "bs", "4k,4k,64k"), "5.00k"},
			{"samples that one I/O a second is one of", change(other(map[string]float64{"write.iops": 1,
				"write.bandwidth": 2457.12 * 1024}, "bs", "4k"), func(e *Evidence) {
				e.Document.Partial = true
			}), "2.40 MiB/s"},
			{"three digits", other(map[string]float64{"read.iops": 19.6e3, "read.bandwidth": 76.7 * (1 << 20)}, "bs",
				"4k"), ""},
			{"whole figures", other(map[string]float64{"read.iops": 6, "read.bandwidth": 108 * 1024}, "bs", "16k"), ""},
			{"one digit", other(map[string]float64{"read.iops": 500, "read.bandwidth": 2 << 20}, "bs", "4k"), ""},
			{"the end of a ramp", other(map[string]float64{"read.iops": 317.22, "read.bandwidth": 1285 * 1024}, "bs",
				"4k", "iodepth", "64"), ""},
			{"bits", other(map[string]float64{"read.iops": 3662, "read.bandwidth": 15e6}, "bs", "4k"), ""},
			{"several sizes", change(other(map[string]float64{"read.iops": 19.6e3, "read.bandwidth": 1e9}, "bssplit",
				"4k/50:64k/50", "bs", "4k"), func(*Evidence) {}), ""},
			{"a range", other(map[string]float64{"read.iops": 19.6e3, "read.bandwidth": 1e9}, "bs", "4k-64k"), ""},
			{"a k of 1000", other(map[string]float64{"read.iops": 19.6e3, "read.bandwidth": 78.4e6}, "bs", "4k",
				"kb_base", "1000"), ""},
			{"no size", other(map[string]float64{"read.iops": 19.6e3, "read.bandwidth": 1e9}), ""},
			{"agree", reads(), ""},
		},
		"clock-jumped": {
			{"a twentieth", zeros("fio-3.7", map[float64]float64{0.01: 0, 0.05: 0, 0.1: 725e-6}),
				"0 ns for 5.0% of the reads"},
			{"one", zeros("fio-3.33", map[float64]float64{0.01: 725e-6}), "0 ns for some reads"},
			{"whole microseconds", zeros("fio-2.16", map[float64]float64{0.01: 0}), ""},
			{"terse", change(zeros("fio-3.33", nil), func(e *Evidence) {
				e.Group.Jobs[0].Directions[lab.Read].Completion.Microseconds = true
			}), ""},
			{"no clock at all", change(reads(), func(e *Evidence) {
				d := e.Group.Jobs[0].Directions[lab.Read]
				d.Completion = nil
				e.Group.Jobs[0].Directions[lab.Read] = d
			}), ""},
			{"nothing printed but the mean", reads(), ""},
		},
		"sync-engine": {
			{"psync at 32", shallow(1, 15e3, "ioengine", "psync"), "psync"},
			{"fio's default engine", shallow(1, 15e3, "ioengine", "-"), "psync"},
			{"psync at 1", shallow(1, 15e3, "ioengine", "psync", "iodepth", "1"), ""},
			{"engine unknown", change(shallow(1, 15e3, "ioengine", "-"), func(e *Evidence) {
				e.Document.Partial = true
			}), ""},
		},
		"buffered-async": {
			{"direct=0", shallow(30, 15e3, "direct", "0"), "io_submit"},
			{"direct left out", shallow(30, 15e3, "direct", "-"), "io_submit"},
			{"buffered=0", reading(350e3, "direct", "-", "buffered", "0"), ""},
			{"io_uring", shallow(30, 15e3, "direct", "0", "ioengine", "io_uring"), ""},
		},
		"rate-limited": {
			{"kept", rated("1000", 999.8), "1.00k reads a second"},
			{"not kept", rated("1000", 700), ""},
			{"no rate", reads(), ""},
		},
		"rate-not-reached": {
			{"missed", rated("1000", 700), "70% of that reached"},
			{"each job's, four jobs", shallow(1, 2000, "rate_iops", "1000", "numjobs", "4"), "4.00k reads"},
			{"bytes, of writes only", mixing(2000, 1000, "rw", "randrw", "rate", ",10M"), "10.0 MiB/s of writes"},
			{"kept", rated("1000", 1001), ""},
		},
		"same-blocks": {
			{"four readers in step", reading(900e3, "rw", "read", "numjobs", "4"), "4 jobs"},
			{"apart", reading(900e3, "rw", "read", "numjobs", "4", "offset_increment", "25%"), ""},
			{"random", reading(900e3, "numjobs", "4"), ""},
			{"a device for each", change(reading(900e3, "rw", "read", "numjobs", "2"), func(e *Evidence) {
				e.Place.Members = []string{"/dev/sda", "/dev/sdb"}
			}), ""},
			{"files of their own", imported(reading(900e3, "rw", "read", "numjobs", "4")), ""},
		},
		"repeated-offsets": {
			{"second time, buffered", change(buffered(64<<30, 0.99), func(e *Evidence) {
				e.Repetition.Number = 2
			}), "randrepeat"},
			{"first time", buffered(64<<30, 0.99), ""},
			{"randrepeat=0", change(buffered(64<<30, 0.99), func(e *Evidence) {
				e.Repetition.Number, e.Group.Params["randrepeat"] = 2, "0"
			}), ""},
			{"direct on a local drive", change(reads(), func(e *Evidence) { e.Repetition.Number = 2 }), ""},
		},
		"gtod-reduce": {
			{"asked for", reading(350e3, "gtod_reduce", "1"), "no latency"},
			{"switched off", reading(350e3, "gtod_reduce", "0"), ""},
		},
		"clock-source": {
			{"hpet", change(reads(), func(e *Evidence) { e.Machine.ClockSource = "hpet" }), "hpet"},
			{"hpet and a slow disk", change(reading(200), func(e *Evidence) { e.Machine.ClockSource = "hpet" }), ""},
			{"tsc", reads(), ""},
		},
		"fio-version": {
			{"2.21 and 90 µs", change(reads(), func(e *Evidence) {
				e.Document.Version = "fio-2.21"
			}), "whole microseconds"},
			{"2.21 and a slow disk", change(reading(2000), func(e *Evidence) {
				e.Document.Version = "fio-2.21"
			}), ""},
			{"lat_percentiles", change(reading(350e3, "lat_percentiles", "1"), func(e *Evidence) {
				e.Document.Version = "fio-3.10-15-ged060"
			}), "lat_percentiles"},
			{"both, before the fix", change(reading(350e3, "unified_rw_reporting", "both"), func(e *Evidence) {
				e.Document.Version = "fio-3.38"
			}), "#1882"},
			{"3.33", reads(), ""},
			{"unknown", change(reads(), func(e *Evidence) { e.Document.Version, e.Machine.FioVersion = "", "" }), ""},
		},
		"ramp-longer-than-run": {
			{"60 before 30", reading(350e3, "ramp_time", "60"), "60 s"},
			{"5 before 30", change(reading(350e3, "ramp_time", "5"), func(e *Evidence) {
				e.disk(func(d *DiskCounters) { d.ReadBytes += 350e3 * 4096 * 5 })
			}), ""},
		},
		"latency-clipped": {
			{"17 s", change(writes(), func(e *Evidence) {
				v := e.Group.Values
				v["write.latency.p99.9"], v["write.latency.p99.99"], v["write.latency.max"] = 17.112, 17.112, 94.4
			}), "94.4 s"},
			{"2 s", change(writes(), func(e *Evidence) { e.Group.Values["write.latency.p99.99"] = 2 }), ""},
		},

		"unsynced-writes": {
			{"half still in memory", bufferedWrites(0.5), "only 50% had reached the disk"},
			{"NFS, half at the server", served(bufferedWrites(0), 0.5), "had reached the server at the end"},
			{"NFS, all at the server when the file was closed", served(bufferedWrites(0), 1), "until it fills"},
			{"no counters", change(bufferedWrites(0.5), func(e *Evidence) {
				e.After.Disks = nil
			}), "this is the speed of the page cache"},
			{"an import", imported(bufferedWrites(0.5)), "this is the speed of the page cache"},
			{"depth 1 into a volatile cache", change(writes("iodepth", "1"), func(e *Evidence) {
				e.Machine.WriteCache = "write back"
			}), "volatile write cache"},
			{"with fsync", bufferedWrites(1, "fsync", "32"), ""},
			{"flushed at the end", bufferedWrites(0.5, "end_fsync", "1"), ""},
			{"all of it written back", bufferedWrites(0.97), ""},
			{"depth 32 into a volatile cache", change(writes(), func(e *Evidence) {
				e.Machine.WriteCache = "write back"
			}), ""},
			{"depth 1, no volatile cache", writes("iodepth", "1"), ""},
		},
		"flush-absorbed": {
			{"none sent", durable(30000, 0, 12e-6, "write through"), "power-loss protection"},
			{"dropped", durable(30000, 40, 900e-6, "write back"), "joined or dropped"},
			{"answered from memory", durable(30000, 30000, 12e-6, "write back"), "within 12.0 µs"},
			{"stored", durable(30000, 30000, 900e-6, "write back"), ""},
			{"a kernel that does not count flushes",
				change(durable(30000, 0, 900e-6, "write back"), func(e *Evidence) {
					d := e.Before.Disks["nvme0n1"]
					d.FlushIOs = 0
					e.Before.Disks["nvme0n1"] = d
					e.disk(func(d *DiskCounters) { d.FlushIOs = 0 })
				}), ""},
			{"one flush at the end", durable(1, 0, 900e-6, "write through"), ""},
		},
		"flush-apart": {
			{"no latency of flushes", change(shallowWrites(0.39, 1192, "rw", "write", "ioengine", "sync", "iodepth",
				"1", "fdatasync", "1"), func(e *Evidence) { e.Group.Values["write.latency.mean"] = 326e-6 }),
				"a write and its flush take 839 µs on average, the write alone 326 µs"},
			{"at depth", change(shallowWrites(0.39, 1192, "rw", "write", "fsync", "32"), func(e *Evidence) {
				e.Group.Values["write.latency.mean"] = 326e-6
			}), "not latencies of durable writes; use"},
			{"flushes timed", change(shallowWrites(0.39, 1192, "rw", "write", "iodepth", "1", "fsync", "1"),
				func(e *Evidence) {
					e.Group.Values["write.latency.mean"], e.Group.Values["sync.latency.mean"] = 20e-6, 1.6e-3
				}), ""},
			{"O_SYNC, which is in each write", change(shallowWrites(0.39, 1192, "rw", "write", "iodepth", "1", "sync",
				"1"), func(e *Evidence) { e.Group.Values["write.latency.mean"] = 326e-6 }), ""},
		},
		"fsync-dominated": {
			{"mostly waiting", change(bufferedWrites(1, "end_fsync", "1"), func(e *Evidence) {
				d := e.Group.Jobs[0].Directions[lab.Write]
				d.Total.Mean = 0.1 / d.IOPS
			}), "90% of the 30.0 s"},
			{"a moment", bufferedWrites(1, "end_fsync", "1"), ""},
			{"no latency printed", change(bufferedWrites(1, "end_fsync", "1"), func(e *Evidence) {
				d := e.Group.Jobs[0].Directions[lab.Write]
				d.Total = nil
				e.Group.Jobs[0].Directions[lab.Write] = d
			}), ""},
		},
		"not-preconditioned": {
			{"just discarded", change(writes(), func(e *Evidence) {
				e.Repetition.Layout = lab.LayoutState{Kind: "discarded"}
			}), "empty drive"},
			{"filled", writes(), ""},
			{"a hard disk", change(writes(), func(e *Evidence) {
				e.Repetition.Layout = lab.LayoutState{Kind: "discarded"}
				e.Machine.Rotational = &yes
			}), ""},
			{"reads", change(reads(), func(e *Evidence) {
				e.Repetition.Layout = lab.LayoutState{Kind: "discarded"}
			}), ""},
		},
		"compressible": {
			{"zeros", writes("zero_buffers", ""), "zero_buffers"},
			{"stored as less", change(inFile(writing(8000, "rw", "write", "bs", "128k"), 8<<30), func(e *Evidence) {
				e.Place.Filesystem = "btrfs"
				e.Machine.MountOptions = []string{"rw", "compress=zstd:3"}
				e.serve(lab.Write, 0.03)
			}), "only 3.0%"},
			{"random data", change(inFile(writing(8000, "rw", "write", "bs", "128k"), 8<<30), func(e *Evidence) {
				e.Place.Filesystem = "btrfs"
				e.Machine.MountOptions = []string{"rw", "compress=zstd:3"}
			}), ""},
			{"compress=no", change(inFile(writing(8000, "rw", "write", "bs", "128k"), 8<<30), func(e *Evidence) {
				e.Machine.MountOptions = []string{"compress=no"}
				e.serve(lab.Write, 0.5)
			}), ""},
		},
		"block-below-sector": {
			{"512 on a 4k drive", change(writes("bs", "512"), func(e *Evidence) {
				e.Machine.PhysicalBlock = 4096
			}), "bs=4096"},
			{"1000 bytes", writes("bs", "1000"), "whole number of the device's sectors (512 B)"},
			{"writes of the second size", change(mixing(1e4, 1e4, "rw", "randrw", "bs", "4k,512"), func(e *Evidence) {
				e.Machine.PhysicalBlock = 4096
			}), "writes of 512 B"},
			{"4k on 512", writes(), ""},
			{"512 reads on a 4k drive", change(reading(350e3, "bs", "512"), func(e *Evidence) {
				e.Machine.PhysicalBlock = 4096
			}), ""},
			{"sectors unknown", change(writes("bs", "1000"), func(e *Evidence) {
				e.Machine.LogicalBlock, e.Machine.PhysicalBlock = 0, 0
			}), ""},
		},

		"warming-up": {
			{"a cache of 12 s", series(func(i int, noise float64) float64 {
				if i < 12 {
					return 300e3 * noise
				}
				return 100e3 * noise
			}), "add ramp_time=15"},
			{"even", series(func(_ int, noise float64) float64 { return 100e3 * noise }), ""},
			{"held to a rate", change(rated("1000", 1000), func(e *Evidence) {
				e.series(lab.Read, make([]float64, 31))
			}), ""},
		},
		"drifting": {
			{"slower all the time",
				series(func(i int, noise float64) float64 { return 100e3 * noise * (1 - 0.4*float64(i)/60) }),
				"fell by"},
			{"faster all the time",
				series(func(i int, noise float64) float64 { return 100e3 * noise * (1 + 0.4*float64(i)/60) }),
				"rose by"},
			{"3% slower",
				series(func(i int, noise float64) float64 { return 100e3 * noise * (1 - 0.03*float64(i)/60) }), ""},
		},
		"not-steady": {
			{"a slow wave", series(func(i int, noise float64) float64 {
				return 100e3 * noise * []float64{1, 1.25, 1, 0.75, 1}[min(i/12, 4)]
			}), "between fifths"},
			{"journal commits", series(func(i int, noise float64) float64 {
				if i%5 == 0 {
					noise *= 0.7
				}
				return 100e3 * noise
			}), ""},
			{"a trend, which has its own",
				series(func(i int, noise float64) float64 { return 100e3 * noise * (1 - 0.4*float64(i)/60) }), ""},
		},
		"stalls": {
			{"every ten seconds", series(func(i int, noise float64) float64 {
				if i%10 == 4 {
					return 2000
				}
				return 100e3 * noise
			}), "one every 10.0 s"},
			{"once", series(func(i int, noise float64) float64 {
				if i == 30 {
					return 2000
				}
				return 100e3 * noise
			}), ""},
			{"journal commits", series(func(i int, noise float64) float64 {
				if i%5 == 0 {
					noise *= 0.7
				}
				return 100e3 * noise
			}), ""},
			{"three seconds of it", change(writes(), func(e *Evidence) {
				e.series(lab.Write, []float64{1, 100, 100})
			}), ""},
		},

		"other-load": {
			{"another reader", change(reads(), func(e *Evidence) {
				e.disk(func(d *DiskCounters) { d.ReadBytes += 8 << 30 })
			}), "8.00 GiB"},
			{"a writer beside reads", change(inFile(reading(50e3), 8<<30), func(e *Evidence) {
				e.disk(func(d *DiskCounters) { d.WriteBytes += 2 << 30 })
			}), "2.00 GiB"},
			{"a writer beside writes in a file", change(inFile(writes(), 8<<30), func(e *Evidence) {
				e.disk(func(d *DiskCounters) { d.WriteBytes += 4 << 30 })
			}), "4.00 GiB"},
			{"the same where files are written elsewhere", change(inFile(writes(), 8<<30), func(e *Evidence) {
				e.Machine.Filesystem = "btrfs"
				e.disk(func(d *DiskCounters) { d.WriteBytes += 4 << 30 })
			}), ""},
			{"the journal of writes in a file", change(inFile(writes("fdatasync", "1"), 8<<30), func(e *Evidence) {
				e.disk(func(d *DiskCounters) { d.WriteBytes += 4 << 30 })
			}), ""},
			{"alone", reads(), ""},
			{"a ramp", change(reads(), func(e *Evidence) {
				e.Group.Params["ramp_time"] = "5"
				e.disk(func(d *DiskCounters) { d.ReadBytes += 350e3 * 4096 * 5 })
			}), ""},
			{"a journal", durable(30000, 30000, 900e-6, "write back"), ""},
			{"a mirror", change(writes(), func(e *Evidence) {
				e.Place.Disks = []string{"nvme0n1", "nvme1n1"}
				e.Before.Disks["nvme1n1"], e.After.Disks["nvme1n1"] = e.Before.Disks["nvme0n1"],
					e.After.Disks["nvme0n1"]
			}), ""},
		},
		"core-full": {
			{"interrupts of one core", throughNetwork(func(e *Evidence) {
				e.Server.After.Cores[3] = CPUTimes{User: 2, SoftIRQ: 9, Idle: 100}
			}), "CPU 3 of the server was full, 90% of its time with interrupts"},
			{"several", throughNetwork(func(e *Evidence) {
				e.After.Cores[0] = CPUTimes{User: 2, System: 9, Idle: 100}
				e.After.Cores[2] = CPUTimes{User: 1, System: 6, SoftIRQ: 4, Idle: 100}
			}), "2 CPUs of the client were full, CPU 2 among them, 40%"},
			{"one machine", throughNetwork(func(e *Evidence) {
				e.After.Cores[0] = CPUTimes{User: 1, System: 10, Idle: 100}
				e.Server.After.Cores[0], e.Server.Same = CPUTimes{User: 1, System: 10, Idle: 100}, true
			}), "CPU 0 of the machine was full, 0% of its time with interrupts"},
			{"busy", throughNetwork(func(e *Evidence) { e.After.Cores[0] = CPUTimes{User: 1, System: 8, Idle: 102} }),
				""},
			{"a core that is offline", throughNetwork(func(e *Evidence) {
				e.Before.Cores[1], e.After.Cores[1] = CPUTimes{}, CPUTimes{}
			}), ""},
			{"failed", throughNetwork(func(e *Evidence) {
				e.After.Cores[0], e.Repetition.Values = CPUTimes{User: 1, System: 10, Idle: 100}, nil
			}), ""},
			{"no network", change(reads(), func(e *Evidence) { e.After.CPU.User += 200 }), ""},
			{"the server of storage", change(reads(), func(e *Evidence) {
				e.Backends = []EndCounters{
					{Name: "server", Before: Counters{Cores: []CPUTimes{{User: 1, Idle: 100}, {User: 1, Idle: 100}}},
						After: Counters{Cores: []CPUTimes{{User: 1, Idle: 110},
							{User: 1, System: 2, SoftIRQ: 8, Idle: 100}}}}}
			}), "CPU 1 of the server was full, 80% of its time with interrupts: that may be the limit, and not the " +
				"network or the disks"},
			{"an idle server of storage", change(reads(), func(e *Evidence) {
				e.Backends = []EndCounters{{Name: "server", Before: Counters{Cores: []CPUTimes{{User: 1, Idle: 100}}},
					After: Counters{Cores: []CPUTimes{{User: 3, Idle: 108}}}}}
			}), ""},
		},
		"another-way": {
			{"a route", throughPorts(func(p *NetworkPath) { p.move(1<<30, "eth0", "eth1") }),
				"eth0 of the client (198.51.100.2) sent 38.1 KiB of the 1.00 GiB that iperf3 counted, eth1 sent 1.04 " +
					"GiB; eth0 of the server"},
			{"the loopback", throughPorts(func(p *NetworkPath) { p.move(1<<30, "eth0", "lo") }),
				"it never left the machine"},
			{"nothing", throughPorts(func(p *NetworkPath) { p.move(1<<30, "eth0", "") }),
				"that iperf3 counted, no other port did"},
			{"half of it", throughPorts(func(p *NetworkPath) { p.move(1<<29, "eth0", "eth1") }), "eth1 sent"},
			{"a VLAN counts once", throughPorts(func(p *NetworkPath) {
				p.move(1<<30, "eth0", "eth1")
				p.Client.After["eth1.5"], p.Client.Before["eth1.5"] = p.Client.After["eth1"], PortCounters{}
				p.Client.Over = map[string][]string{"eth1": {"eth1.5"}}
			}), "iperf3 counted, eth1.5 sent 1.04 GiB; eth0 of the server"},
			{"both are one", throughPorts(func(p *NetworkPath) {
				p.move(1<<30, "eth0", "lo")
				p.Same = true
			}), "eth0 of the machine (198.51.100.2) sent"},
			{"as meant", throughPorts(func(*NetworkPath) {}), ""},
			{"half over each next hop", throughHops(1<<29, 8), ""},
			{"all over one next hop", throughHops(0, 8), ""},
			{"below a bond", throughPorts(func(p *NetworkPath) {
				p.Client.After["eth9"], p.Client.Before["eth9"] = p.Client.After["eth0"], p.Client.Before["eth0"]
				p.Client.Over = map[string][]string{"eth9": {"eth0"}}
			}), ""},
			{"not known which", throughPorts(func(p *NetworkPath) {
				p.move(1<<30, "eth0", "eth1")
				p.Client.Expected, p.Server.Expected = nil, nil
			}), ""},
			{"a voice", throughPorts(func(p *NetworkPath) {
				p.move(1<<30, "eth0", "eth1")
				p.Client.Sent.Arrived, p.Server.Received.Arrived = 1<<20, 1<<20
			}), ""},
			{"no counters", throughPorts(func(p *NetworkPath) { p.Client.Before, p.Server.Before = nil, nil }), ""},
		},
		"unused-hop": {
			{"none of many flows", throughHops(0, 8),
				"of 8 flows eth0 sent 1.04 GiB (100%), eth1 sent 0 B (0%) at the client; of 8 flows eth0 received"},
			{"half over each", throughHops(1<<29, 8), ""},
			{"fewer flows than would take all", throughHops(0, 7), ""},
			{"one way", throughPorts(func(p *NetworkPath) { p.Client.Sent.Flows = 100 }), ""},
			{"no counters", throughPorts(func(p *NetworkPath) {
				p.Client.Before, p.Client.Expected = nil, []string{"eth0", "eth1"}
			}), ""},
		},
		"shared-port": {
			{"a tenth more", throughPorts(func(p *NetworkPath) {
				p.count(&p.Client, func(c *PortCounters) { c.Sent.Bytes += 200 << 20 })
			}), "eth0 of the client sent 1.23 GiB, and the test accounts for 1.06 GiB at most"},
			{"the other direction", throughPorts(func(p *NetworkPath) {
				p.count(&p.Client, func(c *PortCounters) { c.Received.Bytes += 200 << 20 })
			}), ""},
			{"what was still on its way", throughPorts(func(p *NetworkPath) {
				p.Client.Sent.Handed += 200 << 20
				p.count(&p.Client, func(c *PortCounters) { c.Sent.Bytes += 200 << 20 })
			}), ""},
			{"headers", throughPorts(func(*NetworkPath) {}), ""},
		},
		"port-errors": {
			{"drops", throughPorts(func(p *NetworkPath) {
				p.count(&p.Server, func(c *PortCounters) {
					c.Received.Dropped += 900
				})
			}), "of 740000 packets that eth0 of the server received: dropped 900"},
			{"errors and pauses", throughPorts(func(p *NetworkPath) {
				p.count(&p.Client, func(c *PortCounters) { c.Sent.Errors++; c.Sent.Paused += 7 })
			}), "errors 1, pause frames 7"},
			{"what switches say to each other", throughPorts(func(p *NetworkPath) {
				p.count(&p.Server, func(c *PortCounters) { c.Received.Dropped += 9 })
			}), ""},
			{"few of many", throughPorts(func(p *NetworkPath) {
				p.count(&p.Server, func(c *PortCounters) { c.Received.Dropped += 70 })
			}), ""},
			{"from before", throughPorts(func(p *NetworkPath) {
				for _, of := range []map[string]PortCounters{p.Server.Before, p.Server.After} {
					c := of["eth0"]
					c.Received.Dropped += 1e6
					of["eth0"] = c
				}
			}), ""},
		},
		"cpu-steal": {
			{"5%", change(reads(), func(e *Evidence) { e.After.CPU.Steal += 12 }), "4.8%"},
			{"a tick", change(reads(), func(e *Evidence) { e.After.CPU.Steal += 0.1 }), ""},
			{"a tick of a command of 30 ms", change(reads(), func(e *Evidence) {
				e.After.CPU = e.Before.CPU
				e.After.CPU.Idle, e.After.CPU.Steal = e.After.CPU.Idle+0.04, e.After.CPU.Steal+0.01
			}), ""},
			{"unknown", imported(reads()), ""},
		},
		"throttled": {
			{"hot", change(reads(), func(e *Evidence) { e.After.Throttles += 7 }), "7 times"},
			{"no counters", change(reads(), func(e *Evidence) { e.Before.Throttles, e.After.Throttles = -1, 7 }), ""},
		},
		"cpu-quota": {
			{"held back", change(reads(), func(e *Evidence) {
				e.Before.Quota, e.After.Quota = &Quota{Periods: 100, Throttled: 7, Seconds: 1},
					&Quota{Periods: 200, Throttled: 57, Seconds: 3.5}
			}), "50 of 100 periods, for 2.5s"},
			{"once, when it began", change(reads(), func(e *Evidence) {
				e.Before.Quota, e.After.Quota = &Quota{}, &Quota{Periods: 100, Throttled: 1, Seconds: 0.01}
			}), ""},
			{"a limit that was not met", change(reads(), func(e *Evidence) {
				e.Before.Quota, e.After.Quota = &Quota{}, &Quota{Periods: 100}
			}), ""},
			{"no limit", change(reads(), func(e *Evidence) { e.Before.Quota, e.After.Quota = &Quota{}, &Quota{} }), ""},
			{"unknown", reads(), ""},
		},
		"cpu-frequency": {
			{"held back", change(reads(), func(e *Evidence) {
				e.During = Counters{Time: e.Before.Time.Add(time.Second), MHz: 1200, MaxMHz: 3900}
				e.After.CPU.User += 200
			}), "1200 MHz of 3900 MHz"},
			{"idle cores sleep", change(reads(), func(e *Evidence) {
				e.During = Counters{Time: e.Before.Time.Add(time.Second), MHz: 1200, MaxMHz: 3900}
			}), ""},
			{"not looked at", reads(), ""},
		},
		"disk-hot": {
			{"78 °C", change(reads(), func(e *Evidence) { e.After.DiskCelsius["nvme0n1"] = 78 }), "78 °C"},
			{"52 °C", reads(), ""},
		},
	}
}

// trims is 30 s of trims of such a latency.
func trims(iops, latency float64) Evidence {
	return measure(load{params: params("rw", "randtrim", "iodepth", "1"), iops: map[string]float64{"trim": iops},
		seconds: 30, depth: iops * latency})
}

// other is what a tool other than fio says: values and parameters.
func other(values map[string]float64, over ...string) Evidence {
	p := map[string]string{}
	for i := 0; i+1 < len(over); i += 2 {
		p[over[i]] = over[i+1]
	}
	return Evidence{Cell: lab.Cell{Params: p}, Repetition: lab.Repetition{Number: 1, Values: values}}
}

// zeros are reads at depth 1 of which some took no time at all.
func zeros(version string, percentiles map[float64]float64) Evidence {
	e := shallow(0.9, 955, "iodepth", "1")
	e.Document.Version = version
	e.Group.Jobs[0].Directions[lab.Read].Completion.Max = 1
	e.Group.Jobs[0].Directions[lab.Read].Completion.Percentiles = percentiles
	return e
}

// throughNetwork is a test of a network for ten seconds between machines of four cores each, which have nothing else to
// do.
func throughNetwork(and func(*Evidence)) Evidence {
	idle := func(seconds float64) Counters {
		c := Counters{Throttles: -1}
		for range 4 {
			c.Cores = append(c.Cores, CPUTimes{User: 1, Idle: 100 + seconds})
		}
		return c
	}
	e := Evidence{Cell: lab.Cell{Engine: lab.EngineIperf3},
		Repetition: lab.Repetition{Values: map[string]float64{lab.Bitrate(lab.Send): 1e9}}, Before: idle(0),
		After: idle(10), Server: &ServerCounters{Before: idle(0), After: idle(10)}}
	and(&e)
	return e
}

// throughPorts is a test that sends a GiB from eth0 to eth0 in 740000 packets.
func throughPorts(and func(*NetworkPath)) Evidence {
	end := func() NetworkPathEnd {
		return NetworkPathEnd{Expected: []string{"eth0"}, Address: "198.51.100.2",
			Before: map[string]PortCounters{"eth0": {Received: lab.PortFlow{Bytes: 5000}}, "eth1": {}, "lo": {}},
			After:  map[string]PortCounters{"eth0": {Received: lab.PortFlow{Bytes: 5000}}, "eth1": {}, "lo": {}}}
	}
	p := &NetworkPath{Client: end(), Server: end()}
	p.Client.Sent, p.Client.Received = WithHeaders(ReportedTraffic{Arrived: 1 << 30, Handed: 1 << 30},
		ReportedTraffic{}, 1500)
	p.Server.Received, p.Server.Sent = p.Client.Sent, p.Client.Received
	const onTheWire = 1<<30 + 740000*52
	p.count(&p.Client, func(c *PortCounters) { c.Sent = lab.PortFlow{Bytes: onTheWire, Packets: 740000} })
	p.count(&p.Server, func(c *PortCounters) {
		c.Received.Bytes, c.Received.Packets = c.Received.Bytes+onTheWire, 740000
	})
	and(p)
	return Evidence{Cell: lab.Cell{Engine: lab.EngineIperf3},
		Repetition: lab.Repetition{Values: map[string]float64{lab.Bitrate(lab.Send): 1e9}}, NetworkPath: p}
}

// throughHops is a test of some flows over the two next hops eth0 and eth1, of which the second carried a part.
func throughHops(second, flows int64) Evidence {
	return throughPorts(func(p *NetworkPath) {
		if second > 0 {
			p.move(second, "eth0", "eth1")
		}
		for _, end := range []*NetworkPathEnd{&p.Client, &p.Server} {
			end.Expected, end.Sent.Flows, end.Received.Flows = []string{"eth0", "eth1"}, flows, flows
		}
	})
}

// count changes what the port under test has counted in the end.
func (p *NetworkPath) count(end *NetworkPathEnd, with func(*PortCounters)) {
	c := end.After["eth0"]
	with(&c)
	end.After["eth0"] = c
}

// move has another port count so many of the bytes at both ends, with all headers but a few, or none where it has no
// name.
func (p *NetworkPath) move(payload int64, from, to string) {
	for _, end := range []*NetworkPathEnd{&p.Client, &p.Server} {
		a, b := end.After[from], end.After[to]
		for _, f := range []struct{ from, to *lab.PortFlow }{{&a.Received, &b.Received}, {&a.Sent, &b.Sent}} {
			if f.from.Packets > 0 {
				moved := payload + 740000*52 - 39000
				f.from.Bytes, f.to.Bytes = f.from.Bytes-moved, f.to.Bytes+moved
			}
		}
		end.After[from] = a
		if to != "" {
			end.After[to] = b
		}
	}
}

// served is a load over NFS whose server has sent a share of what was read.
func served(e Evidence, share float64) Evidence {
	of := func(direction string) int64 { return 1<<20 + int64(share*float64(e.traffic(direction).bytes)) }
	e.Place.Filesystem, e.Place.Disks = "nfs4", nil
	e.Before.Server, e.After.Server = &ServerBytes{Read: 1 << 20, Written: 1 << 20},
		&ServerBytes{Read: of(lab.Read), Written: of(lab.Write)}
	return e
}

// network is reading of a file over NFS.
func network(size int64) Evidence {
	e := inFile(reading(30e3, "ioengine", "io_uring"), size)
	e.Place.Filesystem, e.Place.Disks = "nfs4", nil
	return e
}

func TestRepetitionChecks(t *testing.T) {
	all := cases()
	for _, check := range Checks() {
		if check.Repetition == nil {
			continue
		}
		fires, silent := 0, 0
		for _, c := range all[check.Code] {
			found := slices.DeleteFunc(Repetition(c.e), func(w lab.Warning) bool { return w.Code != check.Code })
			switch {
			case c.says == "":
				silent++
				for _, w := range found {
					t.Errorf("%s, %s: must be silent, says: %s", check.Code, c.name, w.Text)
				}
			case len(found) != 1:
				fires++
				t.Errorf("%s, %s: %d warnings, want one; all: %v", check.Code, c.name, len(found),
					codes(Repetition(c.e)))
			default:
				fires++
				if w := found[0]; !strings.Contains(w.Text, c.says) || strings.Contains(w.Text, "%!") ||
					len(w.Taints) == 0 {
					t.Errorf("%s, %s: says %q and taints %v; want %q in it", check.Code, c.name, w.Text, w.Taints,
						c.says)
				}
			}
		}
		if fires == 0 || silent == 0 {
			t.Errorf("%s: %d cases that make it happen and %d that do not; it needs both", check.Code, fires, silent)
		}
		delete(all, check.Code)
	}
	for code := range maps.Keys(all) {
		t.Errorf("there are cases for %s, which is no check of a repetition", code)
	}
}

func codes(warnings []lab.Warning) []string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.Code)
	}
	return all
}

// A warning that fires on a healthy run teaches people not to read warnings.
func TestHealthyRunsHaveNoWarnings(t *testing.T) {
	ext4 := func(e Evidence) Evidence { return inFile(e, 8<<30) }
	for name, e := range map[string]Evidence{
		"random reads of a device":         reads(),
		"random writes to a filled device": writes(),
		"the same, imported":               imported(writes()),
		"depth 1":                          shallow(0.93, 14e3, "iodepth", "1"),
		"four jobs":                        lasting(60, 1e6, "numjobs", "4", "iodepth", "128", "group_reporting", ""),
		"sequential, one job":              reading(3300, "rw", "read", "bs", "1M", "iodepth", "8"),
		"a file, three seconds":            ext4(lasting(3, 60e3, "runtime", "3")),
		"writes to a file":                 ext4(writing(40e3, "rw", "randwrite")),
		"mixed 70/30":                      ext4(mixing(21e3, 9e3, "rw", "randrw", "rwmixread", "70", "bs", "8k")),
		"depth 1 writes with psync": ext4(shallowWrites(0.95, 25e3, "rw", "randwrite", "ioengine",
			"psync", "iodepth", "1")),
		"io_uring over NFS, much data":       network(3 * memory),
		"nothing known but what fio printed": imported(reading(350e3, "ramp_time", "5")),
	} {
		e.Wanted = time.Duration(e.Group.Seconds) * time.Second
		for _, w := range Repetition(e) {
			t.Errorf("%s: %s: %s", name, w.Code, w.Text)
		}
	}
}

// Any evidence may be missing.
func TestEmptyEvidence(t *testing.T) {
	if got := Repetition(Evidence{}); len(got) > 0 {
		t.Errorf("no evidence at all: %v", got)
	}
	half := reads()
	half.After = Counters{}
	half.Document, half.Group.Jobs = fio.Document{}, nil
	for _, w := range Repetition(half) {
		t.Errorf("without fio's jobs: %s: %s", w.Code, w.Text)
	}
}

// Per-second rates of a healthy device wander. Few such series may be called unsteady: at most 2 in 100 by any check,
// with 5% of noise that is remembered from second to second.
func TestSeriesFalseAlarms(t *testing.T) {
	const trials = 300
	for _, seconds := range []int{15, 30, 60, 300} {
		for _, phi := range []float64{0, 0.6} {
			r := rand.New(rand.NewPCG(9, uint64(seconds)))
			alarms := map[string]int{}
			for range trials {
				e := writes()
				values, x := make([]float64, seconds+1), 0.0
				for i := range values {
					x = phi*x + math.Sqrt(1-phi*phi)*r.NormFloat64()
					values[i] = 100e3 * (1 + 0.05*x)
				}
				e.series(lab.Write, values)
				for _, w := range Repetition(e) {
					alarms[w.Code]++
				}
			}
			t.Logf("%d s, memory %.1f: %v of %d", seconds, phi, alarms, trials)
			for code, n := range alarms {
				if n > trials*2/100 {
					t.Errorf("%d s, memory %.1f: %s in %d of %d", seconds, phi, code, n, trials)
				}
			}
		}
	}
}

// What fio itself printed, as an import has it: no counters, no machine.
func TestRealDocuments(t *testing.T) {
	want := map[string][]string{
		"fio-3.42-randread-jobs4-group.json":  nil,
		"fio-2.21-randrw-fsync.json":          {"fio-version", "fio-version", "flush-apart"},
		"fio-3.33-json-with-note-prefix.txt":  {"short-run", "sync-engine"},
		"fio-3.33-json-with-error-prefix.txt": {"errors"},
		"fio-3.33-gtod_reduce-2jobs.json": {"concurrent-jobs", "buffered-async", "gtod-reduce",
			"concurrent-jobs", "buffered-async", "gtod-reduce", "unsynced-writes"},
	}
	entries, err := os.ReadDir("testdata")
	if err != nil || len(entries) != len(want) {
		t.Fatalf("%d fixtures, want %d: %v", len(entries), len(want), err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile("testdata/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		documents, err := fio.ParseBytes(text)
		if err != nil || len(documents) == 0 {
			t.Fatalf("%s: %d documents, %v", entry.Name(), len(documents), err)
		}
		var got []string
		for _, d := range documents {
			for _, g := range d.Groups() {
				got = append(got, codes(Repetition(imported(Evidence{Group: g, Document: d})))...)
			}
		}
		if !slices.Equal(got, want[entry.Name()]) {
			t.Errorf("%s: %v, want %v", entry.Name(), got, want[entry.Name()])
		}
	}
}

// fio leaves the I/Os of a ramp out, and the machine has worked for them.
func TestIOsOfARamp(t *testing.T) {
	e := Evidence{Group: fio.Group{IOs: 1000, Seconds: 10, Params: map[string]string{"ramp_time": "5s"}}}
	if got := e.IOs(); got != 1500 {
		t.Errorf("%v I/Os", got)
	}
	if got := (&Evidence{}).IOs(); got != 0 {
		t.Errorf("%v I/Os of a load that counts none", got)
	}
}
