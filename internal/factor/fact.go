package factor

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// OfFact is the factor that sets what a fact reports: sysctl:vm.swappiness for sysctl.vm.swappiness. Kernel arguments
// are not among them, since a fact holds the whole command line; see DifferingArguments.
func OfFact(key string) (factorName string, ok bool) {
	for _, f := range factSchemes() {
		if name, is := strings.CutPrefix(key, f.facts); is {
			return f.factors + name, true
		}
	}
	factorName, ok = factFactors()[key]
	return factorName, ok
}

// FactOf returns the fact that reports a factor's setting, the inverse of OfFact. For each queue: and queue@DEVICE: it
// is the fact of disks.
func FactOf(factorName string) (key string, ok bool) {
	if attribute, is := strings.CutPrefix(WithoutDevice(factorName), "queue:"); is {
		return "disk.queue." + attribute, true
	}
	for _, f := range factSchemes() {
		if name, is := strings.CutPrefix(factorName, f.factors); is {
			return f.facts + name, true
		}
	}
	for key, name := range factFactors() {
		if name == factorName {
			return key, true
		}
	}
	return "", false
}

// factSchemes pair the prefixes of facts with those of the factors that set them.
func factSchemes() []struct{ facts, factors string } {
	return []struct{ facts, factors string }{{"sysctl.", "sysctl:"}, {"module.", "module:"},
		{"disk.queue.", "queue@disks:"}}
}

// factFactors are the factors that set what single facts report.
func factFactors() map[string]string {
	return map[string]string{
		"cpu.governor":                       "cpu:governor",
		"cpu.energy_preference":              "cpu:epp",
		"cpu.boost":                          "cpu:boost",
		"cpu.smt":                            "cpu:smt",
		"clock.source":                       "sysfs:/sys/devices/system/clocksource/clocksource0/current_clocksource",
		"memory.ksm":                         "sysfs:/sys/kernel/mm/ksm/run",
		"memory.transparent_hugepage":        "sysfs:/sys/kernel/mm/transparent_hugepage/enabled",
		"memory.transparent_hugepage.defrag": "sysfs:/sys/kernel/mm/transparent_hugepage/defrag",
		"pcie.aspm.policy":                   "sysfs:/sys/module/pcie_aspm/parameters/policy",
	}
}

// DifferingFactors returns the settings that differ between two machines, as choices of two levels: the first machine's
// and the second's. Factors are named for the second machine. If a place was measured, only its devices count;
// otherwise a queue setting counts if all disks of a machine have the same value. Facts that are unknown on one
// machine, and facts that no factor sets, are left out.
func DifferingFactors(good, bad []lab.Fact) []string {
	setter := Setters(bad)
	good, bad = withQueuesOfPlace(good), withQueuesOfPlace(bad)
	fast, slow := levelsOfFacts(setter, good), levelsOfFacts(setter, bad)
	var list []string
	for _, f := range good {
		name, ok := setter(f.Key)
		a, b := fast[name], slow[name]
		if !ok || len(a) != 1 || len(b) != 1 || Equal(schemeOf(name), a[0], b[0]) {
			continue
		}
		delete(fast, name) // of several devices the first has spoken for all
		choice := name + "=" + levels(a[0], b[0])
		if _, err := Parse(choice); err == nil {
			list = append(list, choice)
		}
	}
	return list
}

// queueUnderTest matches facts about the queues of a place's devices: "disk.under-test.queue.scheduler",
// "disk.under-test.2.queue.scheduler" for the second of several disks, "volume.under-test.queue.scheduler" for a device
// that is made of others.
var queueUnderTest = prose.Pattern(`^((disk|volume)\.under-test(\.[0-9]+)?)\.queue\.(.+)$`)

// Setters returns a function that names the factor for each fact of a machine. It is OfFact with the names of the
// devices that the place under test is stacked on.
func Setters(machine []lab.Fact) func(key string) (factorName string, ok bool) {
	devices := map[string]string{} // by role: "volume.under-test.2" → "md0"
	var underTest, disks []string
	measured := false
	for _, f := range machine {
		role, last := f.Key[:max(0, strings.LastIndexByte(f.Key, '.'))], f.Key[strings.LastIndexByte(f.Key, '.')+1:]
		switch {
		case f.Unknown != "":
		case f.Key == "device.under-test.name":
			underTest = strings.Split(f.Value, ",")
		case last == "device":
			devices[role] = f.Value
		case last == "name" && strings.HasPrefix(role, "disk.under-test"):
			disks = append(disks, f.Value)
		}
		measured = measured || queueUnderTest().MatchString(f.Key)
	}
	// The name of a partition starts with the name of its disk: sda1 is on sda.
	stacked := slices.ContainsFunc(underTest, func(top string) bool {
		return !slices.ContainsFunc(disks, func(d string) bool { return strings.HasPrefix(top, d) })
	})
	return func(key string) (string, bool) {
		role, class, attribute := "", "disk", strings.TrimPrefix(key, "disk.queue.")
		if m := queueUnderTest().FindStringSubmatch(key); m != nil {
			role, class, attribute = m[1], m[2], m[4]
		} else if attribute == key {
			return OfFact(key)
		}
		device := devices[role]
		switch {
		case class == "disk" && measured && !stacked, device != "" && slices.Contains(underTest, device):
			return "queue:" + attribute, true
		case class == "disk":
			return "queue@disks:" + attribute, true
		}
		return "queue@" + device + ":" + attribute, device != "" // empty: this machine has no such device
	}
}

// withQueuesOfPlace removes facts about disks outside the place under test, if there are facts about its own.
func withQueuesOfPlace(facts []lab.Fact) []lab.Fact {
	ofPlace := func(f lab.Fact) bool { return queueUnderTest().MatchString(f.Key) }
	if !slices.ContainsFunc(facts, ofPlace) {
		return facts
	}
	return slices.DeleteFunc(slices.Clone(facts), func(f lab.Fact) bool {
		return strings.HasPrefix(f.Key, "disk.") && !ofPlace(f)
	})
}

func schemeOf(factorName string) string {
	scheme, _, _ := strings.Cut(factorName, ":")
	return scheme
}

// levelsOfFacts are the different values of each factor.
func levelsOfFacts(setter func(string) (string, bool), facts []lab.Fact) map[string][]string {
	all := map[string][]string{}
	for _, f := range facts {
		if name, ok := setter(f.Key); ok && f.Unknown == "" && !slices.Contains(all[name], f.Value) {
			all[name] = append(all[name], f.Value)
		}
	}
	return all
}
