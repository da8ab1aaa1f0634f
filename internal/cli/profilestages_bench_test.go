//go:build bench && system && guests

package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/record"
)

// stageDevices makes devices whose time is spent in a known place: nullb1 takes 20 ms, nullb2 has room for one request,
// nullb3 takes no time and has a device on top that delays by 100 ms.
const stageDevices = `/bin/busybox --install -s /bin
dmesg -n 1
mount -t tmpfs t /tmp
mkdir -p /dev/shm && mount -t tmpfs t /dev/shm
mount -t configfs t /sys/kernel/config
device() {
	mkdir /sys/kernel/config/nullb/nullb$1 && cd /sys/kernel/config/nullb/nullb$1
	echo $1 > index; echo 64 > size; echo 2 > queue_mode; echo 2 > irqmode; echo 1 > submit_queues
	echo $2 > completion_nsec; echo $3 > hw_queue_depth; echo 1 > power
	cd /
	echo none > /sys/block/nullb$1/queue/scheduler
}
device 1 20000000 64
device 2 5000000 1
device 3 1000 64
dmsetup create d --table "0 $(blockdev --getsz /dev/nullb3) delay /dev/nullb3 0 100"
n=0
record() { # the devices to follow, the one under load, fio's options
	n=$((n + 1)) devices= under=$2
	for d in $1; do devices="$devices,\"$(cat /sys/block/$d/dev)\""; done
	shift 2
	mkdir /tmp/load.$n
	echo '{"owner":"headroom-GUEST-'$n'","part":"time","folder":"load.'$n'","wait_for":60000000000,` +
	`"delay":8000000000,"follow":3000000000,"devices":['${devices#,}']}' |
		headroom profile record > /tmp/recording 2> /tmp/said &
	recorder=$!
	until grep -qs ready /tmp/said; do kill -0 $recorder || break; sleep 0.2; done
	(cd /tmp/load.$n && exec fio --name=r --filename=/dev/$under --size=16M --bs=4k --direct=1 --runtime=90 ` +
	`--time_based "$@" > /tmp/fio 2>&1) &
	fio=$!
	wait $recorder
	kill $fio
	wait $fio
	cat /tmp/recording /tmp/said
	echo ` + guestNext + `
}
`

// stageLoads are loads in turn, each recorded. What is recorded of each comes after that of the one before.
const stageLoads = `record nullb1 nullb1 --rw=randrw --ioengine=libaio --iodepth=8
record "dm-0 nullb3" dm-0 --rw=randread --ioengine=libaio --iodepth=8
echo mq-deadline > /sys/block/nullb2/queue/scheduler
echo 64 > /sys/block/nullb2/queue/nr_requests
record nullb2 nullb2 --rw=randread --ioengine=libaio --iodepth=32
echo bfq > /sys/block/nullb2/queue/scheduler
echo 64 > /sys/block/nullb2/queue/nr_requests
record nullb2 nullb2 --rw=randread --ioengine=libaio --iodepth=32
echo none > /sys/block/nullb2/queue/scheduler
record nullb2 nullb2 --rw=randread --ioengine=psync --numjobs=16 --thread
`

// traceByBlktrace follows two loads with blktrace, and with headroom's tracepoints at the same time: one at random, and
// one whose writes are merged. It prints what btt and blkparse say, and packs the pages of the trace.
const traceByBlktrace = `mount -t tracefs t /sys/kernel/tracing
mkdir /tmp/pages && cd /sys/kernel/tracing
mkdir -p /tmp/pages/events/block && cp events/header_* /tmp/pages/events
for f in events/block/*/format; do mkdir -p /tmp/pages/$(dirname $f); cat $f > /tmp/pages/$f; done
mkdir instances/test && cd instances/test
both() { # a name, fio's options
	name=$1
	shift
	echo mono > trace_clock
	echo 4096 > buffer_size_kb
	echo 1 > events/block/enable
	blktrace -d /dev/nvme0n1 -D /tmp -o $name > /tmp/blktrace 2>&1 &
	traced=$!
	until [ -e /sys/kernel/debug/block/nvme0n1/trace0 ]; do kill -0 $traced || break; sleep 0.2; done
	sleep 1
	fio --name=r --filename=/dev/nvme0n1 --size=16M --bs=4k "$@" > /tmp/fio 2>&1
	sync
	sleep 1
	kill -INT $traced
	wait $traced
	echo 0 > events/block/enable
	mkdir /tmp/pages/$name
	for c in per_cpu/cpu*; do
		timeout 3 dd if=$c/trace_pipe_raw of=/tmp/pages/$name/$(basename $c).raw bs=4096 2> /dev/null
	done
	blkparse -D /tmp -i $name -d /tmp/$name.bin -O > /dev/null
	(cd /tmp && btt -i $name.bin | grep D2C | head -n 1) # it writes files into its folder
	cat /tmp/blktrace
	blkparse -D /tmp -i $name | sed -n '/^CPU/,$p'
	echo ` + guestNext + `
}
both random --rw=randrw --ioengine=libaio --iodepth=8 --direct=1 --number_ios=500
both merged --rw=write --ioengine=psync --end_fsync=1
cd /tmp/pages && tar c . | gzip | base64
`

// TestStagesNameThePlace asserts in emulated guests where requests spend most of their time, which is known; and that
// blktrace counts and times the same requests alike. No time is asserted: a delay of 100 ms is more than all else.
func TestStagesNameThePlace(t *testing.T) {
	for _, kernel := range []string{"linux-image-amd64", "linux-image-6.12-amd64"} {
		t.Run(kernel, func(t *testing.T) {
			g := guest{kernel: kernel, cpus: 2, modules: []string{"null_blk", "dm-delay", "bfq"},
				setup:    stageDevices,
				programs: []string{"fio", "dmsetup", "blktrace", "blkparse", "btt"}, limit: 20 * time.Minute}
			parts := strings.Split(g.boot(t, stageLoads+traceByBlktrace), guestNext+"\n")
			if len(parts) != 8 {
				t.Fatalf("it printed %d parts: %s", len(parts), tail(strings.Join(parts, guestNext), 3000))
			}
			for i, test := range []struct {
				name string
				most func(s []placed) bool
			}{
				{"a slow device", func(s []placed) bool { return s[0].inDevice > s[0].above+s[0].scheduler }},
				{"a delay of dm", func(s []placed) bool {
					return s[0].inDevice > 3*(s[1].above+s[1].scheduler+s[1].inDevice)
				}},
				{"mq-deadline", func(s []placed) bool { return s[0].scheduler > s[0].above+s[0].inDevice }},
				{"bfq", func(s []placed) bool { return s[0].scheduler > s[0].above+s[0].inDevice }},
				{"few requests", func(s []placed) bool { return s[0].above > s[0].scheduler+s[0].inDevice }},
			} {
				t.Run(test.name, func(t *testing.T) {
					places := recordedStages(t, parts[i])
					t.Logf("%+v", places)
					if !test.most(places) {
						t.Errorf("the time is elsewhere: %+v", places)
					}
				})
			}
			pages := unpacked(t, parts[7])
			t.Run("blktrace at random", func(t *testing.T) { agreesWithBlktrace(t, pages, "random", parts[5]) })
			t.Run("blktrace merged", func(t *testing.T) { agreesWithBlktrace(t, pages, "merged", parts[6]) })
		})
	}
}

// placed is where the requests of a device spent their time, in seconds.
type placed struct {
	device                     string
	count                      uint64
	above, scheduler, inDevice float64
}

func recordedStages(t *testing.T, printed string) []placed {
	t.Helper()
	var r profile.Recording
	if err := json.NewDecoder(strings.NewReader(printed)).Decode(&r); err != nil {
		t.Fatalf("%v in %s", err, tail(printed, 2000))
	}
	if r.Stages == nil || len(r.Missing) > 0 || len(r.Stages.Groups) == 0 {
		t.Fatalf("no stages: %s", tail(printed, 2000))
	}
	return places(*r.Stages)
}

// places are those of each device, in the order in which they were asked for.
func places(s profile.Stages) []placed {
	var all []placed
	for _, g := range s.Groups {
		if len(all) == 0 || all[len(all)-1].device != g.Device {
			all = append(all, placed{device: g.Device})
		}
		p := &all[len(all)-1]
		p.count += g.Count
		p.above += seconds(g.Above)
		p.scheduler += seconds(g.Scheduler)
		p.inDevice += seconds(g.InDevice)
	}
	return all
}

func seconds(h lab.Histogram) float64 {
	sum := 0.0
	for i, n := range h.Counts {
		sum += float64(n) * float64(h.Nanoseconds[i]) / 1e9
	}
	return sum
}

// unpacked are the files that the guest has packed.
func unpacked(t *testing.T, printed string) fstest.MapFS {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(printed), ""))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for archive := tar.NewReader(z); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			files[strings.TrimPrefix(header.Name, "./")] = &fstest.MapFile{Data: data}
		}
	}
}

// agreesWithBlktrace compares stages with what blktrace's programs say of the same requests: as many of each kind were
// issued and merged, and where none is merged they were in the device as long as btt says. (It weighs requests by the
// bios that were merged in them.)
func agreesWithBlktrace(t *testing.T, files fstest.MapFS, name, printed string) {
	t.Helper()
	formats, err := record.ReadEventFormats(files, record.StageEvents()...)
	if err != nil {
		t.Fatal(err)
	}
	a, err := record.NewStageAccumulator(formats, []string{"259:0"})
	if err != nil {
		t.Fatal(err)
	}
	pages := map[int][]byte{0: files[name+"/cpu0.raw"].Data, 1: files[name+"/cpu1.raw"].Data}
	for event := range formats.Layout.Merge(pages).Events {
		a.Add(event)
	}
	s := a.Result(1)
	counts := map[string]uint64{}
	for _, g := range s.Groups {
		counts[g.Direction] += g.Count
	}
	totals := printed
	t.Logf("%v, merged %v, %+v\n%s", counts, s.Merged, places(s), printed)
	if _, total, ok := strings.Cut(printed, "Total ("); ok { // of several CPUs
		totals = total
	}
	// A flush that is no write is a read for blkparse.
	for what, got := range map[string]uint64{"Read Dispatches:": counts[lab.Read] + counts["flush"],
		"Write Dispatches:": counts[lab.Write], "Write Merges:": s.Merged["259:0"]} {
		if want := numberBehind(totals, what); strconv.FormatUint(got, 10) != want {
			t.Errorf("%s %d, blktrace counts %s", what, got, want)
		}
	}
	if name != "random" {
		return
	}
	var d2c float64
	if fields := strings.Fields(printed); len(fields) > 2 && fields[0] == "D2C" {
		d2c, err = strconv.ParseFloat(fields[2], 64)
	}
	mean := places(s)[0].inDevice / float64(places(s)[0].count)
	if ratio := mean / d2c; err != nil || ratio < 0.95 || ratio > 1.05 {
		t.Errorf("%g s in the device, btt says %g s: %v", mean, d2c, err)
	}
}

// numberBehind is the number that follows, up to a comma.
func numberBehind(text, what string) string {
	_, rest, _ := strings.Cut(text, what)
	number, _, _ := strings.Cut(strings.TrimSpace(rest), ",")
	return number
}
