//go:build system && kube

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/kubetest"
)

// classSuite has a load of a pace that a volume of the class "fast" keeps and one of "slow", where each write takes 5
// ms longer, can't.
const classSuite = `version: 1
name: classes
title: a load at a pace
place: directory
repetitions: 4
size: 4m
defaults: {ioengine: psync, bs: 4k, direct: 1, runtime: 2s, time_based: 1, rate_iops: 300}
jobs:
  - {name: write, fio: {rw: randwrite}}
`

// There are two volumes of each class, so that the tests that claim them take turns.
func TestVolumesOfClasses(t *testing.T) {
	t.Parallel()
	t.Run("compared live", twoClassesAreComparedLive)
	t.Run("compared afterwards", twoClassesAreComparedAfterwards)
	t.Run("gone with the pod", aRunWhoseVolumeGoesWithItsPod)
}

// newClassRun is a podRun of that suite.
func newClassRun(t *testing.T) podRun {
	t.Helper()
	r := newPodRun(t)
	r.suite = filepath.Join(filepath.Dir(r.suite), "classes.yaml")
	if err := os.WriteFile(r.suite, []byte(classSuite), 0o644); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r podRun) class(name string) string {
	return "kube:pod?class=" + name + "&size=1Gi&namespace=" + r.namespace
}

// verdicts are those of a comparison, by job and metric.
func (r podRun) verdicts(args ...string) map[string]string {
	r.t.Helper()
	cmd := r.command(append(args, "--json")...)
	var printed listened
	cmd.Stderr = &printed
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatalf("%v: %v\n%s", args, err, &printed)
	}
	var document struct {
		Cells []struct{ Job, Metric, Verdict, Why string }
	}
	if err := json.Unmarshal(out, &document); err != nil {
		r.t.Fatal(err)
	}
	found := map[string]string{}
	for _, c := range document.Cells {
		found[c.Job+" "+c.Metric] = strings.TrimSpace(c.Verdict + " " + c.Why)
	}
	return found
}

// expect holds that the only verdict is one of some.
func (r podRun) expect(verdicts map[string]string, want ...string) {
	r.t.Helper()
	verdict, _, _ := strings.Cut(verdicts["write write.iops"], " ")
	if !slices.Contains(want, verdict) || len(verdicts) != 1 {
		r.t.Errorf("%q, want %s", verdicts, strings.Join(want, " or "))
	}
}

// Two classes in turns: what is slower is found, and of two volumes of one class no difference is claimed.
func twoClassesAreComparedLive(t *testing.T) {
	r := newClassRun(t)
	live := func(base, next string) map[string]string {
		return r.verdicts("compare", "--live", r.suite, r.class(base), r.class(next), "--metrics", "write.iops",
			"--pairs", "8", "--confirm", "0")
	}
	r.expect(live("fast", "slow"), "slower")
	kubetest.Start(t).ReleaseNamespace(t, r.namespace)
	r.expect(live("fast", "fast"), "same", "undecided") // on a machine that has much else to do, neither keeps its pace
}

// The same of two runs that were saved, as fast as each goes. What else the machine does taints both, and they differ
// by far; as one session each, of which no others are known, they are not called more than that.
func twoClassesAreComparedAfterwards(t *testing.T) {
	r := newClassRun(t)
	for _, class := range []string{"fast", "slow"} {
		if out, err := r.command("run", r.suite, "--on", r.class(class), "--label", class, "--set",
			"rate_iops=0").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	r.expect(r.verdicts("compare", "fast", "slow", "--metrics", "write.iops", "--anyway"), "differs")
}

// A volume that went with its pod is made again with the next one.
func aRunWhoseVolumeGoesWithItsPod(t *testing.T) {
	r := newClassRun(t)
	g := r.start("run", r.suite, "--on", r.class("fast"), "--json")
	g.said.await(t, "1/4  ")
	r.kubectl("delete", "-n", r.namespace, "pvc", "--all", "--wait=false")
	r.kubectl("delete", "-n", r.namespace, "pod", "--all", "--grace-period=0", "--force")
	if lost := g.whole(1, 4).lost(); len(lost) != 1 {
		t.Errorf("%q", lost)
	}
}
