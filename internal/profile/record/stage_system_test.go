//go:build system

package record_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/record"
)

// traced runs shell commands on a new loop device, $device, while its requests are traced, and returns the stages, and
// the growth of the device's counters in /proc/diskstats. tracefs is mounted in a private namespace.
func traced(t *testing.T, load string) (profile.Stages, []uint64) {
	t.Helper()
	for _, tool := range []string{"fio", "losetup", "unshare"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	if os.Geteuid() != 0 {
		t.Skip("tracing needs root")
	}
	dir := t.TempDir()
	run := func(name string, argv ...string) []byte {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Minute)
		defer cancel()
		c := exec.CommandContext(ctx, name, argv...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %v: %v\n%s", name, argv, err, out)
		}
		return out
	}
	file := filepath.Join(dir, "disk")
	if err := os.WriteFile(file, make([]byte, 64<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	device := strings.TrimSpace(string(run("losetup", "--find", "--show", file)))
	t.Cleanup(func() { run("losetup", "--detach", device) })
	script := fmt.Sprintf(tracing, os.Getpid(), strings.Join(record.StageEvents(), " "), load)
	run("unshare", "--mount", "sh", "-c", script, "sh", device, filepath.Base(device))
	return decoded(t, dir), grown(t, dir)
}

const tracing = `set -eu
device=$1 name=$2 queue=/sys/block/$2/queue
mount --make-rprivate /
mkdir tracefs
mount -t tracefs nodev tracefs
instance=tracefs/instances/headroom-test-%d
mkdir $instance
scheduler=$(sed 's/.*\[\(.*\)\].*/\1/' $queue/scheduler)
echo none > $queue/scheduler
requests=$(cat $queue/nr_requests) kib=$(cat $queue/max_sectors_kb) # the loop device is used again by others
put_back() { [ "$(cat $queue/$1)" = $2 ] || echo $2 > $queue/$1; } # the kernel may refuse a value that is set already
# How many requests there can be is limited by the scheduler, so it is none when their number is put back.
trap 'echo 0 > $instance/events/enable; rmdir $instance; echo none > $queue/scheduler
	put_back nr_requests $requests; put_back max_sectors_kb $kib; echo $scheduler > $queue/scheduler' EXIT
echo 0 > $instance/tracing_on
echo mono > $instance/trace_clock
echo 16384 > $instance/buffer_size_kb
for event in %s; do echo 1 > $instance/events/block/${event#*:}/enable; done
load() {
	%s
}
grep " $name " /proc/diskstats > before
echo 1 > $instance/tracing_on
load
sync $device
echo 0 > $instance/tracing_on
grep " $name " /proc/diskstats > after
cat /sys/block/$name/dev > number
for folder in $instance/per_cpu/cpu*; do
	timeout 600 dd if=$folder/trace_pipe_raw of=${folder##*/}.raw bs=4096 iflag=nonblock 2> /dev/null || true
done
mkdir events
cp tracefs/events/header_* events
for format in tracefs/events/block/*/format; do
	mkdir -p events/block/$(basename $(dirname $format))
	cp $format events/block/$(basename $(dirname $format))
done
`

func decoded(t *testing.T, dir string) profile.Stages {
	t.Helper()
	formats, err := record.ReadEventFormats(os.DirFS(dir), record.StageEvents()...)
	if err != nil {
		t.Fatal(err)
	}
	number, err := os.ReadFile(filepath.Join(dir, "number"))
	if err != nil {
		t.Fatal(err)
	}
	raws, err := filepath.Glob(filepath.Join(dir, "cpu*.raw"))
	if err != nil || len(raws) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	pages := map[int][]byte{}
	for cpu, raw := range raws {
		if pages[cpu], err = os.ReadFile(raw); err != nil {
			t.Fatal(err)
		}
	}
	a, err := record.NewStageAccumulator(formats, []string{strings.TrimSpace(string(number))})
	if err != nil {
		t.Fatal(err)
	}
	merger := formats.Layout.Merge(pages)
	for event := range merger.Events {
		a.Add(event)
	}
	if merger.Damaged > 0 {
		t.Errorf("%d pages are damaged", merger.Damaged)
	}
	return a.Result(1)
}

// Counters of a line of /proc/diskstats, from the third field on.
const (
	readsDone = iota
	readsMerged
	_
	readTime // in ms, of all requests together
	writesDone
	writesMerged
	_
	writeTime
)

func grown(t *testing.T, dir string) []uint64 {
	t.Helper()
	counters := func(name string) []uint64 {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		var values []uint64
		for _, field := range strings.Fields(string(text))[3:] {
			value, err := strconv.ParseUint(field, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return values
	}
	before, after := counters("before"), counters("after")
	for i := range after {
		after[i] -= before[i]
	}
	return after
}

// total returns the number of times, and their sum.
func total(h lab.Histogram) (count uint64, seconds float64) {
	for i, n := range h.Counts {
		count += n
		seconds += float64(n) * float64(h.Nanoseconds[i]) / 1e9
	}
	return count, seconds
}

// sums are the sums over the groups of a direction, or over all.
type sums struct {
	count                      uint64
	above, scheduler, inDevice float64
}

func sum(s profile.Stages, direction string) sums {
	var all sums
	for _, g := range s.Groups {
		if direction != "" && g.Direction != direction {
			continue
		}
		all.count += g.Count
		_, above := total(g.Above)
		_, scheduler := total(g.Scheduler)
		_, inDevice := total(g.InDevice)
		all.above, all.scheduler, all.inDevice = all.above+above, all.scheduler+scheduler, all.inDevice+inDevice
	}
	return all
}

// Requests, merges and times agree with the kernel's counts in /proc/diskstats: every request once. The kernel's time
// runs from the creation of a request until it has completed, so it includes the time in the device.
func TestAgreesWithTheKernelsCounters(t *testing.T) {
	for name, load := range map[string]string{
		"direct, several at once": "fio --name=a --filename=$device --rw=randrw --bs=8k --iodepth=8 --ioengine=libaio " +
			"--direct=1 --size=32m --number_ios=2000",
		"buffered, with a scheduler": "echo mq-deadline > $queue/scheduler; fio --name=a --filename=$device --rw=write " +
			"--bs=4k --ioengine=psync --size=32m --end_fsync=1",
		"large ones that are split, with another scheduler": "echo bfq > $queue/scheduler || true; " +
			"echo 64 > $queue/max_sectors_kb; fio --name=a --filename=$device --rw=randrw --bs=1m --iodepth=4 " +
			"--ioengine=libaio --direct=1 --size=32m",
	} {
		t.Run(name, func(t *testing.T) {
			s, counters := traced(t, load)
			reads, writes, flushes := sum(s, lab.Read), sum(s, lab.Write), sum(s, "flush")
			// A flush counts as a write there.
			if reads.count != counters[readsDone] || writes.count+flushes.count != counters[writesDone] {
				t.Errorf("%d reads, %d writes and %d flushes, the kernel counts %d and %d", reads.count, writes.count,
					flushes.count, counters[readsDone], counters[writesDone])
			}
			var merged uint64
			for _, n := range s.Merged {
				merged += n
			}
			if want := counters[readsMerged] + counters[writesMerged]; merged != want {
				t.Errorf("%d merged, the kernel counts %d", merged, want)
			}
			// The middle of a bin is at most 1/128 off, and the kernel counts whole milliseconds.
			kernel := float64(counters[readTime]+counters[writeTime]) / 1e3
			if inDevice := (reads.inDevice + writes.inDevice) * 127 / 128; inDevice > kernel+0.002 {
				t.Errorf("%g s in the device, the kernel counts %g s from being a request to completion", inDevice,
					kernel)
			}
			t.Logf("reads %+v, writes %+v, kernel %g s, merged %d, split %v", reads, writes, kernel, merged, s.Split)
			littlesLaw(t, s)
		})
	}
}

// littlesLaw compares the depth with the times in the device, which measure the same in different ways.
func littlesLaw(t *testing.T, s profile.Stages) {
	t.Helper()
	inDevice, longest := sum(s, "").inDevice, 0.0
	for _, g := range s.Groups {
		for _, ns := range g.InDevice.Nanoseconds {
			longest = max(longest, float64(ns)/1e9)
		}
	}
	for _, seconds := range s.Depth {
		var weighted, most float64
		for depth, at := range seconds {
			weighted += float64(depth) * at
			most = float64(depth)
		}
		// At the beginning, depth is not counted until the first request has completed, while the requests issued
		// together with it are: at most the maximum depth, each for no longer than the longest.
		if weighted > inDevice*129/128 || weighted < (inDevice-most*longest)*127/128 {
			t.Errorf("depth over time adds up to %g s, times in the device to %g s", weighted, inDevice)
		}
	}
}

// Sixteen threads wait for four requests: the wait is in the stage above. How long depends on how often they meet.
func TestWaitingForATagIsAbove(t *testing.T) {
	s, _ := traced(t, "echo 4 > $queue/nr_requests; fio --name=a --filename=$device "+
		"--rw=randwrite --bs=256k --ioengine=psync --direct=1 --size=32m --numjobs=16 --thread --number_ios=16")
	all := sum(s, "")
	if all.count == 0 || all.above <= 0 {
		t.Errorf("nothing above: %+v", all)
	}
	for _, seconds := range s.Depth {
		if len(seconds) > 5 {
			t.Errorf("%d requests at once, there are four", len(seconds)-1)
		}
	}
}
