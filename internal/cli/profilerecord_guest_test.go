//go:build system && guests

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"headroom/internal/profile"
)

// recordCalls is a shell command that records the calls of a fio load, prints what the recorder printed, and after
// guestNext what the tracer has left.
const recordCalls = `b=/bin/busybox
$b mkdir -p /tmp/load.1
echo '{"owner":"headroom-GUEST-1","part":"calls","folder":"load.","wait_for":60000000000,"delay":2000000000,` +
	`"trace":600000000}' | /bin/headroom profile record > /tmp/recording 2> /tmp/said &
recorder=$!
until $b grep -q ready /tmp/said; do
	$b kill -0 $recorder || break
	$b sleep 0.2
done
cd /tmp/load.1
/usr/bin/fio --name=r --filename=/dev/nvme0n1 --size=32M --rw=randread --bs=4k --iodepth=4 --ioengine=libaio ` +
	`--direct=1 --runtime=40 --time_based --output-format=terse > /tmp/fio 2>&1 &
fio=$!
cd /
wait $recorder
$b kill $fio
$b cat /tmp/recording
echo ` + guestNext + `
$b cat /tmp/said
$b grep trac /proc/mounts
$b mount -t tracefs t /sys/kernel/tracing
$b ls /sys/kernel/tracing/instances
$b cat /sys/kernel/tracing/enabled_functions`

// TestCallsOfEachIO asserts what is exact even in an emulated guest: each read of a load with direct I/O is one request
// to the driver, in the thread that submits it.
func TestCallsOfEachIO(t *testing.T) {
	g := guest{kernel: "linux-image-amd64", cpu: "max", programs: []string{"fio"}, limit: 20 * time.Minute}
	printed, left, _ := strings.Cut(g.boot(t, recordCalls), guestNext+"\n")
	if left != "ready\ndone\n" {
		t.Errorf("it said and left %q", left)
	}
	var r profile.Recording
	if err := json.Unmarshal([]byte(printed), &r); err != nil {
		t.Fatalf("%v in %s", err, tail(printed, 2000))
	}
	if len(r.Missing) > 0 || r.Traced == nil || !r.Traced.Functions || r.Traced.Lost > 0 {
		t.Fatalf("%s", tail(printed, 2000))
	}
	calls := map[string]uint64{}
	for _, c := range r.Traced.Calls {
		calls[c.Function+" "+string(c.Context)] += c.Count
	}
	t.Logf("%v s in %d bursts, %d functions; completed %+v", r.Traced.Seconds, r.Traced.Bursts, len(calls),
		r.Traced.Completed)
	reads := calls["aio_read load"]
	if reads == 0 {
		t.Fatalf("no reads: %s", tail(printed, 2000))
	}
	for _, name := range []string{"nvme_queue_rq", "blk_mq_submit_bio", "block:block_rq_issue"} {
		if each := float64(calls[name+" load"]) / float64(reads); each < 0.97 || each > 1.03 {
			t.Errorf("%s: %.3f calls of each read", name, each)
		}
	}
	if r.Modules["nvme_queue_rq"] != "nvme" {
		t.Errorf("modules: %v", r.Modules)
	}
	if d := r.Traced.Completed; len(d) != 1 || d[0].Device != "259:0" || d[0].Bytes != 4096*d[0].Requests {
		t.Errorf("completed: %+v", d)
	}
}
