//go:build system && kube

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/layers"
	"github.com/headroom/headroom/internal/stat"
)

// A waterfall over targets: a bare volume of the class "fast", and a file system on one of "slow", where each read
// takes 5 ms longer.
func TestLayersOfPods(t *testing.T) {
	layersOfPods(t)
}

// layersOfPods is by how much longer a read of the second takes, and how sure each interval is.
func layersOfPods(t *testing.T) (delay stat.Estimate, confidence float64) {
	t.Helper()
	r := newClassRun(t)
	raw, files := r.class("fast")+"&mode=block", r.class("slow")
	cmd := r.command("compare", "--layers", "--json", "raw="+raw, "pod="+files, "--size", "8m", "--set",
		"runtime=500ms", "--pairs", "6")
	var printed listened
	cmd.Stderr = &printed
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &printed)
	}
	var d layers.Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(d.Layers) != 2 || d.Layers[0].Name != "raw" || d.Layers[0].Kind != "device" || d.Layers[1].Name != "pod" ||
		d.Layers[1].Kind != "directory" {
		t.Errorf("%+v", d.Layers)
	}
	delay = added(t, d, "randread-q1", "read.latency.mean", 1)
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "they are on two targets") {
		t.Errorf("%q", d.Notes)
	}
	if left := r.made(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
	return delay, d.Confidence
}

// A survey that is killed in its pods goes on by itself: what the killed one left in the cluster is removed first.
func TestLayersOfPodsOfAHeadroomThatIsKilled(t *testing.T) {
	t.Parallel()
	r := newPodRun(t)
	g := r.start("compare", "--layers", "lower="+r.pod("&memory=128Mi"), "upper="+r.pod("&memory=192Mi"), "--suite",
		r.suite, "--set", "runtime=2s", "--pairs", "2")
	g.said.await(t, "1/8  ")
	if err := g.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = g.cmd.Wait() // it was killed
	left := r.made()
	if len(left) != 2 {
		t.Fatalf("%q are left by a kill", left)
	}
	cmd := r.command("compare", "--layers", "--resume", "last", "--json")
	var printed listened
	cmd.Stderr = &printed
	out, err := cmd.Output()
	var d layers.Document
	if err == nil {
		err = json.Unmarshal(out, &d)
	}
	if err != nil || len(d.Layers) != 2 {
		t.Fatalf("%v\n%s", err, &printed)
	}
	for _, name := range left {
		if !strings.Contains(printed.String(), strings.TrimPrefix(name, "pod/")) {
			t.Errorf("nothing of %s in\n%s", name, &printed)
		}
	}
	if strings.Contains(printed.String(), "headroom restore") ||
		strings.Count(printed.String(), "removed from namespace "+r.namespace) != 2 {
		t.Errorf("it is left to others what to remove:\n%s", &printed)
	}
	if out, err := r.command("restore").CombinedOutput(); err != nil || string(out) != "nothing was left behind\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
