//go:build system && kube

package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"headroom/internal/layers"
)

// A waterfall over targets: a bare volume of the class "fast", and a file system on one of "slow", where each read takes 5 ms longer.
func TestLayersOfPods(t *testing.T) {
	r := newClassRun(t)
	raw, files := r.class("fast")+"&mode=block", r.class("slow")
	cmd := r.command("compare", "--layers", "--json", "raw="+raw, "pod="+files, "--size", "8m", "--set", "runtime=500ms", "--pairs", "6")
	var said listened
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	var d layers.Document
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(d.Layers) != 2 || d.Layers[0].Name != "raw" || d.Layers[0].Kind != "device" || d.Layers[1].Name != "pod" || d.Layers[1].Kind != "directory" {
		t.Errorf("%+v", d.Layers)
	}
	delay := added(t, d, "randread-q1", "read.latency.mean", 1)
	t.Logf("figure: a class with 5 ms more for each read, above a bare volume of another: %.2f ms [%.2f, %.2f] added", 1e3*delay.Value, 1e3**delay.Lo, 1e3**delay.Hi)
	// What delays it and what carries it to there are programs that wait for a CPU: it is 5 ms at least.
	if *delay.Lo < 2.5e-3 || *delay.Hi < 5e-3 {
		t.Errorf("5 ms are found as %.2f ms [%.2f, %.2f]", 1e3*delay.Value, 1e3**delay.Lo, 1e3**delay.Hi)
	}
	if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, "they are on two targets") {
		t.Errorf("%q", d.Notes)
	}
	if left := r.made(); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}
