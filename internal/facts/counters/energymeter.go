package counters

import (
	"context"
	"math"
	"strings"
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

// energyPattern finds the domains of RAPL, by which Intel's processors, and AMD's since Linux 5.8, count the energy
// that they take. A domain below a package ("core", "dram") has a second number in its name and matches, too;
// intel-rapl-mmio, another way to the same counters, does not. Source: the kernel's
// Documentation/power/powercap/powercap.rst.
const energyPattern = "/sys/class/powercap/intel-rapl:*"

// energyCounter counts the energy of one package, in microjoules, up to span and then from 0 again.
type energyCounter struct {
	file string
	span int64
}

// energyCounters returns the counters of the packages, each of which includes its cores and the rest of the chip. It
// leaves out parts of packages and the whole platform ("psys"), which would count energy twice. If a package can't be
// counted, it returns nothing for the machine. What a processor with a package, its cores and the platform shows:
//
//	intel-rapl:0    name: package-0  max_energy_range_uj: 262143328850  energy_uj: 65997277274
//	intel-rapl:0:0  name: core       max_energy_range_uj: 262143328850  energy_uj: 48265700414
//	intel-rapl:1    name: psys       max_energy_range_uj: 262143328850  energy_uj: 117870082040
//
// A package of several dies has a domain for each: "package-0-die-1".
func energyCounters(r collect.Reader) []energyCounter {
	var found []energyCounter
	for _, dir := range r.Glob(energyPattern) {
		name, err := r.Text(dir + "/name")
		if err == nil && !strings.HasPrefix(name, "package-") {
			continue
		}
		span, failed := r.Number(dir + "/max_energy_range_uj")
		if err != nil || failed != nil || span <= 0 {
			return nil
		}
		found = append(found, energyCounter{dir + "/energy_uj", span})
	}
	return found
}

// microjoules are the counts of all packages; nil when one can't be read. Since CVE-2020-8694 only root may read them.
func microjoules(counters []energyCounter, files map[string]host.File) []int64 {
	var counts []int64
	for _, c := range counters {
		n, ok := numberIn(files[c.file])
		if !ok || n < 0 {
			return nil
		}
		counts = append(counts, n)
	}
	return counts
}

// maxWatts is more than any package takes for long: the largest are made for 500 W.
const maxWatts = 700

// joules returns the energy that the packages used in a time; 0 if it is unknown. A counter of 32 bits wraps within
// minutes (AMD's after 65 kJ, which is four minutes at 280 W). An additional wrap would add the counter's whole span.
// If a package can have used that much in the time, the number of wraps is unknown.
func joules(counters []energyCounter, before, after []int64, taken time.Duration) float64 {
	if len(before) != len(counters) || len(after) != len(counters) {
		return 0
	}
	most := maxWatts * 1e6 * taken.Seconds()
	var sum float64
	for i, c := range counters {
		used := after[i] - before[i]
		if used < 0 {
			used += c.span
		}
		if used < 0 || used > math.MaxInt64-c.span || float64(used+c.span) <= most {
			return 0
		}
		sum += float64(used)
	}
	return sum / 1e6
}
