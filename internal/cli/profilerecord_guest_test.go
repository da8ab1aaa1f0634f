//go:build system && guests

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/profile"
)

// recordInGuest has loads of fio recorded: calls, times, and calls by a recorder that is killed while it traces. It
// prints what each recorder printed, and what is left of all, with guestNext in between.
const recordInGuest = `b=/bin/busybox
load() {
	cd /tmp/load.1
	/usr/bin/fio --name=r --filename=/dev/nvme0n1 --size=32M --rw=randread --bs=4k --iodepth=4 --ioengine=libaio ` +
	`--direct=1 --runtime=3600 --time_based --eta=never --output=/tmp/fio
}
# record REQUEST: starts the recorder $recorder, and the load $fio when that is ready.
record() {
	: > /tmp/said # what reads it may come before the recorder
	echo "{\"owner\":\"headroom-GUEST-1\",\"folder\":\"load.\",\"wait_for\":600000000000,\"delay\":1000000000,$1}" |
		/bin/headroom profile record > /tmp/recording 2> /tmp/said &
	recorder=$!
	until $b grep -q ready /tmp/said; do
		$b kill -0 $recorder || break
		$b sleep 0.2
	done
	load &
	fio=$!
}
# ended: prints what the recorder printed, and ends the load.
ended() {
	wait $recorder
	$b killall fio
	wait $fio
	$b cat /tmp/recording
	echo ` + guestNext + `
}
$b mkdir -p /tmp/load.1 /tmp/tracing
record '"part":"calls","trace":600000000'
ended
record '"part":"time","hz":199,"sample":2000000000,"follow":2000000000,"devices":["259:0"]'
ended
record '"part":"calls","trace":600000000000'
$b mount -t tracefs t /tmp/tracing
until $b grep -q nvme_queue_rq /tmp/tracing/enabled_functions; do
	$b kill -0 $recorder || break
	$b sleep 0.2
done
$b ls /tmp/tracing/instances
$b kill -9 $recorder
ended
n=0
while $b ps | $b grep -q '[-]-guard' && [ $n -lt 2000 ]; do $b sleep 0.3; n=$((n+1)); done
$b ls /tmp/tracing/instances
$b cat /tmp/tracing/enabled_functions /tmp/said
$b umount /tmp/tracing
$b grep trac /proc/mounts`

// TestRecordInGuest asserts what is exact even in an emulated guest: each read of a load with direct I/O is one request
// to the driver, in the thread that submits it.
func TestRecordInGuest(t *testing.T) {
	t.Parallel()
	g := guest{kernel: "linux-image-amd64", cpus: 2, programs: []string{"fio"}}
	parts := strings.Split(g.boot(t, recordInGuest), guestNext+"\n")
	if len(parts) != 4 {
		t.Fatalf("%d parts: %q", len(parts), parts)
	}
	calls, times, killed, left := parts[0], parts[1], parts[2], parts[3]
	checkCalls(t, calls)
	checkTimes(t, times)
	if strings.TrimSuffix(killed, "Killed\n") != "headroom-GUEST-1\n" { // of which the shell may tell
		t.Errorf("what was there of the recorder that was killed: %s", tail(killed, 1000))
	}
	if left != "ready\n" {
		t.Errorf("left: %s", tail(left, 1000))
	}
}

func recorded(t *testing.T, printed string) profile.Recording {
	t.Helper()
	var r profile.Recording
	if err := json.Unmarshal([]byte(printed), &r); err != nil {
		t.Fatalf("%v in %.300q … %s", err, printed, tail(printed, 200))
	}
	return r
}

func checkTimes(t *testing.T, printed string) {
	t.Helper()
	r := recorded(t, printed)
	if r.Sampled == nil || r.Waits == nil || r.Stages == nil {
		t.Fatalf("%s", tail(printed, 2000))
	}
	t.Logf("%d samples in %v s, missing %+v; waits of %d threads; stages %+v", r.Sampled.Samples, r.Sampled.Seconds,
		r.Missing, r.Waits.Threads, r.Stages)
	if r.Modules["nvme_queue_rq"] != "nvme" {
		t.Errorf("modules: %v", r.Modules)
	}
	if g := r.Stages.Groups; len(g) != 1 || g[0].Bytes != 4096 || g[0].Direction != "read" || g[0].Count == 0 {
		t.Errorf("stages: %+v", g)
	}
}

func checkCalls(t *testing.T, printed string) {
	t.Helper()
	r := recorded(t, printed)
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
	// At the beginning and at the end of a burst the four reads of the queue may be on their way.
	between := 2 * 4 * max(1, r.Traced.Bursts)
	for _, name := range []string{"nvme_queue_rq", "blk_mq_submit_bio", "block:block_rq_issue"} {
		if n := calls[name+" load"]; int(n) < int(reads)-between || int(n) > int(reads)+between {
			t.Errorf("%s: %d calls of %d reads, in %d bursts", name, n, reads, r.Traced.Bursts)
		}
	}
	if r.Modules["nvme_queue_rq"] != "nvme" {
		t.Errorf("modules: %v", r.Modules)
	}
	if d := r.Traced.Completed; len(d) != 1 || d[0].Device != "259:0" || d[0].Bytes != 4096*d[0].Requests {
		t.Errorf("completed: %+v", d)
	}
}
