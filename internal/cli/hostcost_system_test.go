//go:build system

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/sweep"
)

// nullLoad takes CPU time alone: a million operations of nothing, which no machine does in no time.
const nullLoad = "version: 1\nname: idle\njobs:\n  - {name: nothing, fio: {rw: randread, bs: 4k, ioengine: \"null\", " +
	"size: 1g, io_size: 4g}}\n"

func (v fixture) suiteOf(text string) string {
	v.t.Helper()
	file := filepath.Join(filepath.Dir(v.suite), "one.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		v.t.Fatal(err)
	}
	return file
}

// hostSeconds are the CPU seconds of the host that stand behind the value of a repetition.
func hostSeconds(r lab.Repetition) float64 {
	return r.Values[lab.HostCPUPerIO] * r.Values[lab.IOPS(lab.Read)] * r.Seconds
}

// The CPU time of the host is there for each load. How much it is, tests with the tag bench say.
func TestHostCPUOfALoad(t *testing.T) {
	t.Parallel()
	t.Run("here", func(t *testing.T) {
		t.Parallel()
		hostCPUIsShown(t, newFixture(t), "local")
	})
	t.Run("over ssh", func(t *testing.T) {
		t.Parallel()
		v, _ := newRemoteFixture(t)
		hostCPUIsShown(t, v, "ssh://under-test")
	})
}

// nullLoads are the repetitions of a null load at two levels.
func nullLoads(t *testing.T, v fixture, on string) []lab.Repetition {
	t.Helper()
	if out, err := v.command("sweep", v.suiteOf(nullLoad), "--factor", "job:bs=4k,8k", "--blocks", "2", "--on",
		on).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return onlyRepetitions(t, v)
}

// onlyRepetitions are those of the only run of a store.
func onlyRepetitions(t *testing.T, v fixture) []lab.Repetition {
	t.Helper()
	var all []lab.Repetition
	for r, err := range v.onlyRun().Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

func hostCPUIsShown(t *testing.T, v fixture, on string) {
	t.Helper()
	all := nullLoads(t, v, on)
	if len(all) != 4 {
		t.Errorf("%d repetitions", len(all))
	}
	for _, r := range all {
		if hostSeconds(r) <= 0 {
			t.Errorf("%s: %v", r.Cell, r.Values)
		}
	}
	out, err := v.command("sweep", "--show", "last", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var d sweep.Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	for _, p := range d.Cells[0].Levels {
		if p.Costs[lab.HostCPUPerIO].Value <= 0 {
			t.Errorf("at %s: %v", p.Level, p.Costs)
		}
	}
	for format, want := range map[string]string{"csv": "host_cpu",
		"openmetrics": "headroom_host_cpu_seconds_per_operation", "json": "host_cpu.per_io"} {
		if out, err := v.command("export", "last", "--format", format).Output(); err != nil ||
			!strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%.2000s", format, err, out)
		}
	}
}
