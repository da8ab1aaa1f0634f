package record

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/profile"
)

// blockTracepoints is the name of missing data about requests.
const blockTracepoints = "block tracepoints"

// requestBuffers is the size of the buffers of all CPUs, in KiB. Their pages are kept until a burst is over.
const requestBuffers = 64 << 10

// firstRequests is how long requests are followed before their rate is known. It is long compared with the time of a
// request: those that are not complete at the end of a burst are not counted.
const firstRequests = 500 * time.Millisecond

// requests follows requests through the block layer.
type requests struct {
	*session
	buffers
	files *tracefs
}

// armRequests does the slow preparations; nil, with a record of what is missing, if the machine refuses.
func (s *session) armRequests() *requests {
	if s.request.Follow <= 0 {
		return nil
	}
	if len(s.request.Devices) == 0 {
		s.miss(profile.Missing{What: blockTracepoints, Why: "the load's block devices are not known",
			Hint: "none is needed where the load uses none (NFS, tmpfs)"})
		return nil
	}
	t, err := openTracefs()
	if err != nil {
		s.miss(readMachine(nil).noTracefs(blockTracepoints, err))
		return nil
	}
	r := &requests{session: s, files: t}
	if r.instance, err = newInstance(t, s.request.Owner); err != nil {
		s.miss(broken(blockTracepoints, errors.Join(err, t.Close())))
		return nil
	}
	if err := errors.Join(r.set("trace_clock", clock()), r.size(requestBuffers)); err != nil {
		s.miss(broken(blockTracepoints, errors.Join(err, r.close())))
		return nil
	}
	return r
}

func (r *requests) close() error { return errors.Join(r.remove(), r.files.Close()) }

// clock is a clock that all CPUs share: "mono" if it is cheap to read, else "global", which CPUs read one at a time.
func clock() string {
	text, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	if err == nil && slices.Contains([]string{"tsc", "kvm-clock", "arch_sys_counter"},
		strings.TrimSpace(string(text))) {
		return "mono"
	}
	return "global"
}

// follow follows requests until the time is up or the context is done. Events are enabled only during that time,
// because they cost the load a little.
func (r *requests) follow(ctx context.Context) error {
	formats, _, err := r.enable(StageEvents())
	if err != nil {
		return err
	}
	all, err := NewStageAccumulator(formats, r.request.Devices)
	if err != nil {
		return err
	}
	if err := r.open(formats.Layout.Size); err != nil {
		return err
	}
	followed := time.Duration(0)
	for length := firstRequests; ctx.Err() == nil && followed < r.request.Follow; {
		took, err := r.fill(ctx, min(length, r.request.Follow-followed))
		if err != nil {
			return err
		}
		pages := map[int][]byte{}
		full, lost, err := r.drain(func(cpu int, page []byte) error {
			pages[cpu] = append(pages[cpu], page...)
			return nil
		})
		if err != nil {
			return err
		}
		followed += took
		gap := true // to the previous burst
		for e := range formats.Layout.Merge(pages).Events {
			e.Gap, gap = e.Gap || gap, false
			all.Add(e)
		}
		length = nextBurst(length, full, lost > 0, r.request.Follow)
	}
	stages := all.Result(followed.Seconds())
	r.recording.Stages = &stages
	return nil
}
