package counters

import (
	"context"
	"time"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/validity"
)

// EnergyMeter reads what a whole machine has spent since it was started, every program on it and the kernel together.
// It is read just before a load and just after it, never while one runs.
type EnergyMeter struct {
	target host.Target
	energy []energyCounter
	files  []string
}

// EnergyReading is what a EnergyMeter showed at one moment.
type EnergyReading struct {
	time   time.Time
	cpu    validity.CPUTimes
	energy []int64
}

// Spent is what was spent between two readings. What is not known is 0.
type Spent struct {
	// CPUSeconds of all cores together.
	CPUSeconds float64
	// Joules of all processors together.
	Joules float64
}

// NewEnergyMeter looks for what a machine counts.
func NewEnergyMeter(ctx context.Context, t host.Target) (*EnergyMeter, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m := &EnergyMeter{target: t, energy: energyCounters(collect.Reader{FS: t.FS()}), files: []string{statPath}}
	for _, c := range m.energy {
		m.files = append(m.files, c.file)
	}
	return m, nil
}

// Read reads all of it in one round trip. What can't be read is not known; the error says that the machine can't be
// reached.
func (m *EnergyMeter) Read(ctx context.Context) (EnergyReading, error) {
	if err := ctx.Err(); err != nil {
		return EnergyReading{}, err
	}
	now := time.Now()
	files, err := m.target.ReadFiles(ctx, m.files...)
	if err != nil {
		return EnergyReading{}, &lab.Error{What: "can't read what the machine has spent",
			Target: host.RemoteName(m.target),
			Err:    err}
	}
	r := EnergyReading{time: now, energy: microjoules(m.energy, files)}
	r.cpu, _ = parseStat(files[statPath].Data)
	return r, nil
}

// Between is what was spent from one reading to a later one.
func (m *EnergyMeter) Between(before, after EnergyReading) Spent {
	return Spent{CPUSeconds: busySeconds(before.cpu, after.cpu), Joules: joules(m.energy, before.energy, after.energy,
		after.time.Sub(before.time))}
}

// minTicks is the least busy time that is reported. The kernel cuts each of the five columns off to a tick in both
// readings, so that their sum is off by up to five ticks either way, one or so as a rule: of twenty that is a
// twentieth, of fewer soon as much as levels differ by.
const minTicks = 20

// busySeconds is the CPU time that was spent. A guest's time is inside user and nice already. Steal is none of it:
// another machine had the CPU. Source: proc_stat(5).
func busySeconds(before, after validity.CPUTimes) float64 {
	busy := func(t validity.CPUTimes) float64 { return t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ }
	spent := busy(after) - busy(before)
	if before == (validity.CPUTimes{}) || spent < minTicks/float64(ticksPerSecond) {
		return 0
	}
	return spent
}
