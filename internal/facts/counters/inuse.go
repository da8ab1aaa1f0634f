package counters

import (
	"context"
	"fmt"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/validity"
)

// InUseInterval is the time between the two readings of InUse.
const InUseInterval = 300 * time.Millisecond

// Activity is the I/O of other programs on some disks while headroom is idle.
type Activity struct {
	// ReadIOPS and WriteIOPS are operations a second, ReadBandwidth and WriteBandwidth bytes a second, of all disks
	// together.
	ReadIOPS, WriteIOPS           float64
	ReadBandwidth, WriteBandwidth float64
	// Busy is the share of the time in which the busiest disk had something to do.
	Busy float64
}

// InUse looks whether another load runs on some disks: two readings of their counters, InUseInterval apart. It sees a
// steady load; one that comes in bursts (a journal's commit every five seconds) can fall between the readings.
func InUse(ctx context.Context, t host.Target, disks []string) (Activity, error) {
	first, err := readDisks(ctx, t, disks)
	if err != nil {
		return Activity{}, err
	}
	start := time.Now()
	timer := time.NewTimer(InUseInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Activity{}, ctx.Err()
	case <-timer.C:
	}
	second, err := readDisks(ctx, t, disks)
	if err != nil {
		return Activity{}, err
	}
	return activity(first, second, time.Since(start).Seconds()), nil
}

func readDisks(ctx context.Context, t host.Target, disks []string) (map[string]validity.DiskCounters, error) {
	files, err := t.ReadFiles(ctx, diskStatsPath)
	if err == nil {
		err = files[diskStatsPath].Err
	}
	if err != nil {
		return nil, &lab.Error{What: "can't see whether the disks are in use", Target: host.RemoteName(t), Err: err}
	}
	return parseDiskStats(files[diskStatsPath].Data, disks), nil
}

func activity(first, second map[string]validity.DiskCounters, seconds float64) Activity {
	var a Activity
	for disk, now := range second {
		then, ok := first[disk]
		if !ok {
			continue
		}
		a.ReadIOPS += float64(now.ReadIOs-then.ReadIOs) / seconds
		a.WriteIOPS += float64(now.WriteIOs-then.WriteIOs) / seconds
		a.ReadBandwidth += float64(now.ReadBytes-then.ReadBytes) / seconds
		a.WriteBandwidth += float64(now.WriteBytes-then.WriteBytes) / seconds
		a.Busy = max(a.Busy, min(1, (now.BusySeconds-then.BusySeconds)/seconds))
	}
	return a
}

// Disturbing reports whether the activity is more than an idle system's. Measured over 0.3 s, 20 operations a second
// are six operations: a commit of a journal or a line of a log causes fewer. A disk that is busy for a tenth of the
// time is in use however few its operations are: a disk with spinning platters does only a hundred a second.
func (a Activity) Disturbing() bool { return a.ReadIOPS+a.WriteIOPS >= 20 || a.Busy >= 0.1 }

func (a Activity) String() string {
	return fmt.Sprintf("%s reads and %s writes a second, %s and %s, busy %s of the time", unit.IOPS(a.ReadIOPS),
		unit.IOPS(a.WriteIOPS), unit.Bandwidth(a.ReadBandwidth), unit.Bandwidth(a.WriteBandwidth), unit.Percent(a.Busy))
}
