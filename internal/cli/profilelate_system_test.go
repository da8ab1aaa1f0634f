//go:build system

package cli

import (
	"os"
	"testing"
)

// lateSuite has a load that waits before its jobs begin, as one does that starts slowly: fio that is ended meanwhile
// says nothing, or does not end.
const lateSuite = `version: 1
name: late
title: a load whose jobs begin late
place: directory
repetitions: 1
size: 4m
defaults: {ioengine: libaio, direct: 1, iodepth: 4, bs: 4k, runtime: 1s, time_based: 1, startdelay: 22s}
jobs:
  - {name: read, fio: {rw: randread}}
`

// A load is recorded, and ended, when its jobs are at work, however long they take to begin.
func TestALoadThatStartsLateIsProfiled(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("tracing takes root")
	}
	v := newFixture(t)
	if err := os.WriteFile(v.suite, []byte(lateSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := v.command("run", v.suite, v.place, "--repeat", "1", "--profile=1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := 0
	for l, err := range v.onlyRun().Profiles() {
		if err != nil || l.Failed != "" || len(l.Values) == 0 || l.Traced != nil && len(l.Traced.Completed) == 0 ||
			l.Traced == nil && l.Sampled == nil {
			t.Errorf("profiled was %+v, %v", l, err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d loads were profiled:\n%s", n, out)
	}
}
