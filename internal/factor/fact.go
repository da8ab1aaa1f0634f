package factor

import (
	"regexp"
	"slices"
	"strings"

	"headroom/internal/lab"
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

// FactOf is the fact that reports what a factor sets, the inverse of OfFact.
func FactOf(factorName string) (key string, ok bool) {
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
	return []struct{ facts, factors string }{{"sysctl.", "sysctl:"}, {"module.", "module:"}, {"disk.queue.", "queue:"}}
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

// DifferingFactors are the settings in which two machines differ, as choices of two levels, the first machine's and the
// second's; those of disks are of the place that was measured, else only where all disks of a machine have the same.
// Facts that are unknown on one machine are left out, and so is what no factor sets.
func DifferingFactors(good, bad []lab.Fact) []string {
	good, bad = withDisksOfPlace(good), withDisksOfPlace(bad)
	fast, slow := levelsOfFacts(good), levelsOfFacts(bad)
	var list []string
	for _, f := range good {
		name, ok := OfFact(f.Key)
		a, b := fast[name], slow[name]
		if !ok || len(a) != 1 || len(b) != 1 || Equal(schemeOf(name), a[0], b[0]) {
			continue
		}
		delete(fast, name) // of several disks the first has spoken for all
		choice := name + "=" + levels(a[0], b[0])
		if _, err := Parse(choice); err == nil {
			list = append(list, choice)
		}
	}
	return list
}

// diskUnderTest is how facts about the disks of a place begin: "disk.under-test.queue.scheduler", of several
// "disk.under-test.2.queue.scheduler".
var diskUnderTest = regexp.MustCompile(`^disk\.under-test(\.[0-9]+)?\.`)

// withDisksOfPlace leaves out what is known of other disks where some are known to be those of the place under test:
// queue: sets these alone.
func withDisksOfPlace(facts []lab.Fact) []lab.Fact {
	ofPlace := func(f lab.Fact) bool { return diskUnderTest.MatchString(f.Key) }
	if !slices.ContainsFunc(facts, ofPlace) {
		return facts
	}
	var kept []lab.Fact
	for _, f := range facts {
		if ofPlace(f) {
			f.Key = diskUnderTest.ReplaceAllString(f.Key, "disk.")
		} else if strings.HasPrefix(f.Key, "disk.") {
			continue
		}
		kept = append(kept, f)
	}
	return kept
}

func schemeOf(factorName string) string {
	scheme, _, _ := strings.Cut(factorName, ":")
	return scheme
}

// levelsOfFacts are the different values of each factor.
func levelsOfFacts(facts []lab.Fact) map[string][]string {
	all := map[string][]string{}
	for _, f := range facts {
		if name, ok := OfFact(f.Key); ok && f.Unknown == "" && !slices.Contains(all[name], f.Value) {
			all[name] = append(all[name], f.Value)
		}
	}
	return all
}
