package counters

import (
	"maps"
	"math"
	"testing"
	"testing/fstest"
	"time"
)

// domain is what the kernel shows of one.
func domain(dir, name, span, count string) map[string]string {
	dir = "/sys/class/powercap/" + dir
	return map[string]string{dir + "/name": name + "\n", dir + "/max_energy_range_uj": span + "\n",
		dir + "/energy_uj": count + "\n"}
}

func together(domains ...map[string]string) map[string]string {
	all := map[string]string{}
	for _, d := range domains {
		maps.Copy(all, d)
	}
	return all
}

// The ranges are those of an Intel Core i5-13500 and of an AMD EPYC 7543.
const intelSpan, amdSpan = "262143328850", "65532610987"

func TestEnergyOfThePackages(t *testing.T) {
	beside := together(domain("intel-rapl:0:0", "core", intelSpan, "48265700414"),
		domain("intel-rapl:1", "psys", intelSpan, "117870082040"),
		domain("intel-rapl-mmio:0", "package-0", intelSpan, "65997277274"),
		domain("dtpm:0", "package-0", intelSpan, "7"))
	later := together(domain("intel-rapl:0:0", "core", intelSpan, "58265700414"),
		domain("intel-rapl:1", "psys", intelSpan, "217870082040"),
		domain("intel-rapl-mmio:0", "package-0", intelSpan, "85997277274"),
		domain("dtpm:0", "package-0", intelSpan, "70000007"))
	for name, c := range map[string]struct {
		before, after map[string]string
		seconds       float64
		want          float64
	}{
		"one package": {together(domain("intel-rapl:0", "package-0", intelSpan, "65997277274"), beside),
			together(domain("intel-rapl:0", "package-0", intelSpan, "66997277274"), later), 10, 1000},
		"two packages": {together(domain("intel-rapl:0", "package-0", intelSpan, "1000000"),
			domain("intel-rapl:2", "package-1", intelSpan, "2000000"), beside),
			together(domain("intel-rapl:0", "package-0", intelSpan, "4000000"),
				domain("intel-rapl:2", "package-1", intelSpan, "7500000"), later), 1, 8.5},
		"two dies": {together(domain("intel-rapl:0", "package-0-die-0", intelSpan, "0"),
			domain("intel-rapl:1", "package-0-die-1", intelSpan, "0")),
			together(domain("intel-rapl:0", "package-0-die-0", intelSpan, "3000000"),
				domain("intel-rapl:1", "package-0-die-1", intelSpan, "4000000")), 1, 7},
		"from 0 again": {domain("intel-rapl:0", "package-0", amdSpan, "65531610987"),
			domain("intel-rapl:0", "package-0", amdSpan, "2500000"), 60, 3.5},
		"one of two from 0 again": {together(domain("intel-rapl:0", "package-0", amdSpan, "65531610987"),
			domain("intel-rapl:1", "package-1", amdSpan, "10000000")),
			together(domain("intel-rapl:0", "package-0", amdSpan, "2500000"),
				domain("intel-rapl:1", "package-1", amdSpan, "16000000")), 60, 9.5},
		// 280 W for two minutes; twice around would be 826 W.
		"as long as can be told": {domain("intel-rapl:0", "package-0", amdSpan, "0"),
			domain("intel-rapl:0", "package-0", amdSpan, "33600000000"), 120, 33600},
		// 54 W, or 600 W and once around.
		"too long to tell": {domain("intel-rapl:0", "package-0", amdSpan, "0"),
			domain("intel-rapl:0", "package-0", amdSpan, "6480000000"), 120, 0},
		"nothing there": {beside, later, 10, 0},
		"not to be read": {domain("intel-rapl:0", "package-0", intelSpan, ""),
			domain("intel-rapl:0", "package-0", intelSpan, ""), 10, 0},
		"without a range": {domain("intel-rapl:0", "package-0", "", "5"),
			domain("intel-rapl:0", "package-0", "", "50000"), 10, 0},
		"beyond its range": {domain("intel-rapl:0", "package-0", "1000", "5000"),
			domain("intel-rapl:0", "package-0", "1000", "10"), 1e-9, 0},
		"no number": {domain("intel-rapl:0", "package-0", intelSpan, "5"),
			domain("intel-rapl:0", "package-0", intelSpan, "many"), 10, 0},
		"gone when it ended": {together(domain("intel-rapl:0", "package-0", intelSpan, "5")), nil, 10, 0},
	} {
		m := emptyMachine()
		meter, first := readingOf(t, m, c.before)
		m.Files = fstest.MapFS{}
		put(m, c.after)
		last, err := meter.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last.time = first.time.Add(time.Duration(c.seconds * float64(time.Second)))
		if got := meter.Between(first, last).Joules; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v J, want %v J", name, got, c.want)
		}
	}
}

// Only root may read the counts; a machine of which one package is closed has no energy, rather than less than it took.
func TestEnergyThatIsClosed(t *testing.T) {
	m := emptyMachine()
	m.Closed["sys/class/powercap/intel-rapl:1/energy_uj"] = true
	meter, first := readingOf(t, m, together(domain("intel-rapl:0", "package-0", intelSpan, "0"),
		domain("intel-rapl:1", "package-1", intelSpan, "0")))
	_, last := readingOf(t, m, domain("intel-rapl:0", "package-0", intelSpan, "9000000"))
	if got := meter.Between(first, last).Joules; got != 0 {
		t.Errorf("%v J", got)
	}
	m.Closed["sys/class/powercap/intel-rapl:1/name"] = true
	meter, first = readingOf(t, m, nil)
	_, last = readingOf(t, m, domain("intel-rapl:0", "package-0", intelSpan, "18000000"))
	if got := meter.Between(first, last).Joules; got != 0 {
		t.Errorf("%v J of a package whose name can't be read", got)
	}
}

func FuzzEnergy(f *testing.F) {
	f.Add("package-0", intelSpan, "65997277274", "66997277274", int64(time.Second))
	f.Add("package-0", amdSpan, "65531610987", "2500000", int64(time.Minute))
	f.Add("psys", "0", "-1", "9223372036854775807", int64(-1))
	f.Fuzz(func(t *testing.T, name, span, before, after string, taken int64) {
		m := emptyMachine()
		meter, first := readingOf(t, m, domain("intel-rapl:0", name, span, before))
		_, last := readingOf(t, m, domain("intel-rapl:0", name, span, after))
		last.time = first.time.Add(time.Duration(taken))
		if got := meter.Between(first, last).Joules; !(got >= 0) || math.IsInf(got, 0) {
			t.Errorf("%v J", got)
		}
	})
}
