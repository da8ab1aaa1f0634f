//go:build bench && system && kube

package cli

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/testing/figure"
)

// Loads of three pods are added up where they go on together, and are measured alone where they take turns.
func TestSeveralPodsAlikePrecisely(t *testing.T) {
	r := newPodRun(t)
	found := false
	for _, c := range r.alike().Cells {
		if c.ID == "read@all" {
			found = true
			rate := c.Metrics["read.iops"].Center
			figure.Record(t, figure.Figure{Name: "cluster/pods/together", Unit: "1/s", Center: rate,
				Text: "reads a second of three pods at once, each with a limit of 500"})
			if rate < 1200 {
				t.Errorf("three loads of 500 a second come to %v", c.Metrics)
			}
		}
	}
	if !found {
		t.Error("nothing is said of all pods")
	}
	d := r.alike("--at-once", "1")
	if len(d.Cells) != 2*3 {
		t.Errorf("%d cells", len(d.Cells))
	}
	for _, c := range d.Cells {
		if rate := c.Metrics[strings.TrimSuffix(c.ID, "@"+c.Role)+".iops"].Center; rate < 100 {
			t.Errorf("by turns: %s comes to %g a second", c.ID, rate)
		}
	}
}

// Two pods of which one took the place of one that was deleted are added up as before.
func TestASweepOfTwoPodsOneOfWhichIsDeletedPrecisely(t *testing.T) {
	n := 0
	for _, c := range newPodRun(t).sweptWithoutOne().Cells {
		for _, name := range []string{"read.iops", "write.iops"} {
			if m, has := c.Metrics[name]; has {
				n++
				figure.Record(t, figure.Figure{Name: figure.Name("cluster/one-deleted", c.ID), Unit: "1/s",
					Center: m.Center, Text: c.ID + ", two pods at once, each with a limit of 500 a second"})
				if m.Center < 800 || m.Center > 1200 {
					t.Errorf("two loads of 500 a second come to %v in %s", m.Center, c.ID)
				}
			}
		}
	}
	if n != 4 {
		t.Errorf("%d rates", n)
	}
}

// Two pods that are loaded at the same moment do together what each is held to twice.
func TestASweepOfSeveralPodsPrecisely(t *testing.T) {
	for _, c := range newPodRun(t).sweptTogether().Curves {
		for i, want := range []float64{200, 400} {
			got := c.Points[i].Reached.Value
			figure.Record(t, figure.Figure{Name: figure.Name("cluster/swept-together", c.Title, c.Points[i].Level),
				Unit: "1/s", Center: got, Text: "two pods at once, each with this limit"})
			if got < 0.8*want || got > 1.2*want {
				t.Errorf("%s at %s each: %v together", c.Title, c.Points[i].Level, got)
			}
		}
	}
}

// A class takes 5 ms longer for each read, and is found to.
func TestLayersOfPodsPrecisely(t *testing.T) {
	delay, confidence := layersOfPods(t)
	figure.Record(t, figure.Figure{Name: "cluster/layers/delay", Unit: "s", Center: delay.Value, Lo: *delay.Lo,
		Hi: *delay.Hi, Confidence: confidence, N: 6,
		Text: "what a class with 5 ms more for each read is found to add above a bare volume of another"})
	// What delays it and what carries it to there are programs that wait for a CPU: it is 5 ms at least.
	if *delay.Lo < 2.5e-3 || *delay.Hi < 5e-3 {
		t.Errorf("5 ms are found as %.2f ms [%.2f, %.2f]", 1e3*delay.Value, 1e3**delay.Lo, 1e3**delay.Hi)
	}
}

// The pod network is charged with what is planted in it.
func TestALadderBetweenPodsChargesThePodNetworkPrecisely(t *testing.T) {
	d := newPodRun(t).chargedPodNetwork()
	precise(t, "pods", "pod to pod", rungCalled(t, d, "pod to pod").Center, goodputOf(100))
	node := rungCalled(t, d, "the node to itself")
	if node.Center == nil || *node.Center < 5*goodputOf(100) {
		t.Fatalf("the node to itself: %+v", node)
	}
	cost, lost := d.PodNetwork[0].Cost, 1 - goodputOf(100) / *node.Center
	t.Log(d.PodNetwork[0].Text)
	if cost.Lo == nil || *cost.Lo > lost || *cost.Hi < lost || cost.Value < 0.8 {
		t.Fatalf("%+v; planted are %g", cost, lost)
	}
	figure.Record(t, figure.Figure{Name: "cluster/pod-network/cost", Unit: "share", Center: cost.Value, Lo: *cost.Lo,
		Hi: *cost.Hi, Confidence: 0.95, N: 3,
		Text: fmt.Sprintf("what the pod network costs with a limit of 100 Mbit/s; planted are %.3f", lost)})
	if !regexp.MustCompile(`the pod network costs (9\d|100)%`).MatchString(d.Answer.Text) {
		t.Error(d.Answer.Text)
	}
}

// Headroom takes little memory for many nodes.
func TestManySimulatedNodesPrecisely(t *testing.T) {
	nodes, most, took, calls := newPodRun(t).manyNodes()
	printed := fmt.Sprintf("%d SIMULATED nodes, two repetitions of one load of 30 s: ", nodes)
	for _, f := range []figure.Figure{
		{Name: "memory", Unit: "B", Center: float64(most), Text: "memory of headroom at most"},
		{Name: "time", Unit: "s", Center: took.Seconds(), Text: "in all"},
		{Name: "requests", Center: float64(calls["all"]), Text: "requests of the API"},
		{Name: "streams", Center: float64(calls["exec"]), Text: "streams among them"},
	} {
		f.Name, f.Text, f.Better = figure.Name("cluster/simulated", nodes, f.Name), printed+f.Text, figure.Lower
		figure.Record(t, f)
	}
	if most > 300e6 {
		t.Errorf("headroom took %d bytes", most)
	}
}
