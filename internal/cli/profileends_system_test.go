//go:build system

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
)

// endsSuite has a load of two jobs.
const endsSuite = `version: 1
name: ends
title: a load that is ended
place: directory
repetitions: 1
size: 4m
defaults: {ioengine: libaio, direct: 1, iodepth: 4, bs: 4k, runtime: 1s, time_based: 1, numjobs: 2}
jobs:
  - {name: read, fio: {rw: randread}}
`

// fio that is ended may print nothing, crash, or go on. The profile is as good as another; nothing of the load is left.
func TestProfiledLoadsThatEndBadly(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("tracing takes root")
	}
	fio, err := exec.LookPath("fio")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ program, why string }{
		"it prints nothing": {`exec $real "$@" --output=/dev/null >/dev/null 2>&1`, ""},
		"it crashes": {`crash() { wait; rm -f fio.json; kill -SEGV $$; }
			trap crash TERM
			$real "$@" >/dev/null &
			wait`, ""},
		// What it has started is in a session of its own, which no signal reaches.
		"it goes on": {`trap '' TERM
			setsid $real "$@" >/dev/null 2>&1 &
			while :; do sleep 1; done`, ""},
		"it fails by itself": {`timeout --signal KILL 0.3 $real "$@"
			echo fio: killed by somebody >&2
			exit 3`, "the load failed: fio printed no result"},
		"it does nothing": {`sleep 90 & sleep 90 & sleep 90`, "the load did no I/O while it was recorded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newFixture(t)
			programs := t.TempDir()
			writeProgram(t, filepath.Join(programs, "fio"), "#!/bin/sh\nreal="+fio+"\ncase \"$*\" in\n"+
				"*runtime=60s*) "+c.program+" ;;\n*) exec $real \"$@\" ;;\nesac\n")
			v.env = []string{"PATH=" + programs + ":" + os.Getenv("PATH")}
			out, err := v.command("run", v.suiteOf(endsSuite), v.place, "--profile=1").CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var loads []profile.Load
			for l, err := range v.onlyRun().Profiles() {
				if err != nil || c.why == "" && l.Failed != "" || !strings.Contains(l.Failed, c.why) {
					t.Errorf("%v, %s of the load: %q\n%s", err, l.Part, l.Failed, out)
				}
				loads = append(loads, l)
			}
			if len(loads) != 2 {
				t.Errorf("%d loads were profiled\n%s", len(loads), out)
			}
			if c.why == "" {
				checkCosts(t, loads)
			}
			if left := processesOf(t, v.onlyRun().Run.ID); len(left) > 0 {
				t.Errorf("still running: %v", left)
			}
			if files, err := os.ReadDir(v.place); err != nil || len(files) > 0 {
				t.Errorf("left in the directory: %v, %v", files, err)
			}
		})
	}
}

// checkCosts has an I/O cost calls, CPU time and waits, by what the kernel counted.
func checkCosts(t *testing.T, loads []profile.Load) {
	t.Helper()
	costs, err := cost.Of(loads, cost.Options{})
	if err != nil || len(costs) != 1 {
		t.Fatalf("%+v, %v", costs, err)
	}
	c := costs[0]
	// Functions are traced for some milliseconds, in which a busy machine may give a load no CPU.
	idle := slices.ContainsFunc(c.Missing, func(m profile.Missing) bool {
		return strings.Contains(m.Why, "I/Os were done while functions were traced")
	})
	if c.TimeLoads != 1 || c.CallLoads != 1 && !idle || c.WaitLoads != 1 || c.CPU == nil ||
		c.Rates[profile.Time].Mean <= 0 {
		t.Errorf("of the time there are %d loads, of calls %d, of waits %d; missing is %+v", c.TimeLoads, c.CallLoads,
			c.WaitLoads, c.Missing)
	}
	for _, l := range loads {
		if len(l.Values) > 0 {
			t.Errorf("the load reports %v", l.Values)
		}
	}
}
