package diagnosis

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/rule"
)

// syncedWrites returns a run on a drive without power-loss protection, with three repetitions of its cells but one.
func syncedWrites() (lab.Run, []lab.Repetition) {
	run := lab.Run{Arms: []lab.Arm{{ID: "all", Role: "storage"}}, Cells: []lab.Cell{
		{ID: "fsync", Arm: "all", Engine: "fio", Params: map[string]string{"fsync": "1", "numjobs": "2"}},
		{ID: "net", Arm: "all", Engine: lab.EngineIperf3}, {ID: "never", Arm: "all", Engine: "fio"}}}
	var all []lab.Repetition
	for _, flush := range []float64{1.6e-3, 1.608e-3, 9e-3} {
		all = append(all, lab.Repetition{Cell: "fsync", Values: map[string]float64{"write.latency.mean": 20.44e-6,
			"write.submit_latency.mean": 4.03e-6, "sync.latency.mean": flush, "cpu.user": 0.006, "cpu.system": 0.036}})
	}
	return run, append(all, lab.Repetition{Cell: "net", Values: map[string]float64{"send.bitrate": 1e9}})
}

func TestFactsOfLoads(t *testing.T) {
	run, repetitions := syncedWrites()
	each := func(yield func(lab.Repetition, error) bool) {
		for _, r := range repetitions {
			if !yield(r, nil) {
				return
			}
		}
	}
	got, err := FactsOfLoads(run, "storage", each)
	text := ""
	for _, f := range got {
		text += fmt.Sprintln(f.Key, f.About, f.Value, f.Source)
	}
	want := "measured.busy fsync@all 0.021 3 repetitions\nmeasured.flush.share fsync@all 0.985 3 repetitions\n" +
		"measured.flush.time fsync@all 0.001608 3 repetitions\nmeasured.busy net@all  \n"
	if err != nil || text != want {
		t.Errorf("%v:\n%s\nwant\n%s", err, text, want)
	}
	if got, err := FactsOfLoads(run, "server", each); err != nil || len(got) > 0 {
		t.Errorf("of another target: %v, %v", got, err)
	}
	damaged := errors.New("damaged")
	if _, err := FactsOfLoads(run, "", func(yield func(lab.Repetition, error) bool) {
		yield(lab.Repetition{}, damaged)
	}); !errors.Is(err, damaged) {
		t.Errorf("%v", err)
	}
}

// Synced writes wait for a drive without power-loss protection: a mitigation that costs CPU time is ranked below,
// unless some load of the run is busy.
func TestWhatCantAccountForTheTime(t *testing.T) {
	set, err := rule.BuiltInSet()
	if err != nil {
		t.Fatal(err)
	}
	machine := []lab.Fact{{Key: "vm.hypervisor", Value: "none"}, {Key: "cpu.vendor", Value: "AuthenticAMD"},
		{Key: "cpu.bugs", Value: "srso"},
		{Key: "cpu.vulnerability.spec_rstack_overflow", Value: "Mitigation: Safe RET", Source: "/sys/x/y"},
		{Key: "iommu.strict", Value: "on"},
		{Key: "disk.queue.write_cache", About: "nvme0n1", Value: "write back"},
		{Key: "disk.driver", About: "nvme0n1", Value: "nvme"}, {Key: "disk.rotational", About: "nvme0n1", Value: "off"}}
	load := func(about, busy, share string) []lab.Fact {
		return []lab.Fact{{Key: "measured.busy", About: about, Value: busy},
			{Key: "measured.flush.share", About: about, Value: share},
			{Key: "measured.flush.time", About: about, Value: "0.0016"}}
	}
	for name, c := range map[string]struct {
		loads    []lab.Fact
		first    string
		severity string // of the mitigation
		cache    bool   // whether the cache alone is reported
	}{
		"waits for flushes": {load("a", "0.021", "0.985"), "flush-wait", rule.Low, false},
		"one load is busy": {slices.Concat(load("a", "0.021", "0.985"), load("b", "0.6", "0.1")), "flush-wait",
			rule.Medium, false},
		"not known how busy": {append(load("a", "0.021", "0.985"), lab.Fact{Key: "measured.busy", About: "b",
			Unknown: "not said"}), "flush-wait", rule.Medium, false},
		"nothing measured": {nil, "volatile-cache", rule.Medium, true},
	} {
		var order []string
		severity, note := "", ""
		for _, f := range Ask(set, facts.Document{Facts: slices.Concat(machine, c.loads)}, rule.Options{}).Findings {
			if f.Verdict == rule.Found {
				order = append(order, f.Rule)
			}
			if f.Rule == "srso-safe-ret" {
				severity, note = f.Severity, f.Note
			}
		}
		if len(order) == 0 || order[0] != c.first || severity != c.severity ||
			slices.Contains(order, "volatile-cache") != c.cache || (severity == rule.Low) != (note != "") {
			t.Errorf("%s: %v, the mitigation is %s (%s)", name, order, severity, note)
		}
	}
}
