//go:build system && kube

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/sweep"
)

// sweptTogether is a sweep of two pods that are loaded at the same moment, each held to 100 and to 200 a second. It is
// killed after its first load.
func (r podRun) sweptTogether() sweep.Document {
	t := r.t
	t.Helper()
	args := []string{"sweep", r.suite, "--on", r.pod(""), "--on", r.pod(""), "--factor", "job:rate_iops=100,200",
		"--set", "runtime=5s", "--blocks", "1", "--reference", r.pod("")}
	if out, err := r.command(append(args, "--dry-run")...).CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "at the same time: ") {
		t.Errorf("%v\n%s", err, out)
	}
	// Cut off after its first load, and gone on with in other pods.
	run := r.command(args...)
	var printed listened
	run.Stderr = &printed
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	printed.await(t, "loads left")
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // it was killed
	if left := r.made(); len(left) != 4 {
		t.Errorf("%q are left by a kill", left)
	}
	if out, err := r.command("sweep", "--resume", "last").CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "sum-of-targets") {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := r.command("sweep", "--show", "last", "--json").Output()
	var d sweep.Document
	if err == nil {
		err = json.Unmarshal(out, &d)
	}
	if err != nil || len(d.Curves) != 2 {
		t.Fatalf("%d loads, %v\n%s", len(d.Curves), err, out)
	}
	return d
}

// Two pods that are loaded at the same moment are a target each, and one curve together.
func TestASweepOfSeveralPods(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	for _, c := range r.sweptTogether().Curves {
		if len(c.Points) != 2 || c.Points[0].Reached.Value <= 0 || c.Points[1].Reached.Value <= 0 {
			t.Errorf("%s: %+v", c.Title, c.Points)
		}
	}
	out, err := r.command("show", "last", "--json").Output()
	if err != nil || strings.Count(string(out), `"role": "storage-2"`)+strings.Count(string(out),
		`"role":"storage-2"`) != 1 ||
		strings.Count(string(out), `"role": "reference-2"`)+strings.Count(string(out), `"role":"reference-2"`) != 1 {
		t.Errorf("its targets: %v\n%s", err, out)
	}
	for words, want := range map[string]string{
		"--on a=" + r.pod("") + " --on " + r.pod("") +
			" --factor job:iodepth=1,2": `no role "a"`,
		"--on local --on " + r.pod("") +
			" --factor job:iodepth=1,2": "local is not headroom's own",
		"--on " + r.pod("&node=node1") + " --on " + r.pod("&node=node1") +
			" --factor queue:scheduler=x,y": "is set on a running machine",
	} {
		if out, err := r.command(append([]string{"sweep", r.suite},
			strings.Fields(words)...)...).CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", words, err, out)
		}
	}
}
