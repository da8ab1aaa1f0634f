package ladder

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
)

// betweenPods is a simulated ladder between two pods: what their nodes do in one flow, in all, and both ways, and what
// share of it the pods do.
func betweenPods(r *rand.Rand, share float64) Document {
	var steps []Step
	var rates []float64
	add := func(network Network, kind Kind, name string, below int, rate float64) {
		steps = append(steps,
			Step{Rung: Rung{Name: name, Kind: kind, Network: network, Places: []string{string(network)}, Jobs: 1},
				Below: below})
		rates = append(rates, rate)
		if network == Pods && kind != Loopback {
			steps[len(steps)-1].CNI = "flannel vxlan"
		}
	}
	add(Pods, Loopback, "loopback of the server's pod", -1, 60e9)
	add(Nodes, Flow, "one flow, node to node", -1, 8e9)
	add(Nodes, Port, "node to node", -1, 24e9)
	add(Pods, Flow, "one flow, pod to pod", 1, 8e9*share)
	add(Pods, Port, "pod to pod", 2, 24e9*share)
	add(Nodes, BothWays, "node to node, both ways", 2, 24e9)
	add(Pods, BothWays, "pod to pod, both ways", 5, 24e9*share)
	var measured []Measured
	for block := 1; block <= 6; block++ {
		pass := math.Exp(0.1 * (2*r.Float64() - 1))
		for i, rate := range rates {
			measured = append(measured, Measured{Rung: i, Cell: "send", Block: block,
				Values: map[string]float64{"send.bitrate": rate * pass * math.Exp(0.01*r.NormFloat64())}})
		}
	}
	load := Load{Title: "tcp x4 to the server", Metric: "send.bitrate", Cell: lab.Cell{ID: "send"}}
	return Analyze(steps, []Load{load}, measured, nil, nil,
		Terms{Margin: DefaultMargin, Alpha: DefaultAlpha, Passes: 6})
}

// What the pod network takes is reported with an interval that covers it, and attributed to the pod network; what it
// does not take is not.
func TestThePodNetworkIsCharged(t *testing.T) {
	const ladders = 200
	for share, named := range map[float64]bool{0.4: true, 0.9: true, 1: false} {
		missed, right := 0, 0
		for seed := range uint64(ladders) {
			d := betweenPods(rand.New(rand.NewPCG(21, seed)), share)
			if len(d.PodNetwork) != 1 || d.Rungs[d.PodNetwork[0].Rung].Name != "pod to pod" {
				t.Fatalf("%+v", d.PodNetwork)
			}
			cost := d.PodNetwork[0].Cost
			if cost.Lo == nil || *cost.Lo > 1-share || *cost.Hi < 1-share {
				missed++
			}
			accused := d.Answer.Rung != nil && d.Rungs[*d.Answer.Rung].Network == Pods &&
				strings.Contains(d.Answer.Text, "the pod network (flannel vxlan) costs ")
			if accused == named && (named || d.Answer.Verdict == Reaches || d.Answer.Verdict == Undecided) {
				right++
			}
		}
		what := fmt.Sprintf("%.0f%%", 100*(1-share))
		figure.Record(t, figure.Share(figure.Name("ladder/pod-network/right", what), right, ladders,
			figure.Higher).Saying("ladders whose pod network takes %s that are told so", what))
		figure.Record(t, figure.Share(figure.Name("ladder/pod-network/missed", what), missed, ladders,
			figure.Lower).Saying("ladders whose pod network takes %s, of which the interval does not hold it", what))
		if right < ladders*95/100 || missed > ladders*5/100 {
			t.Errorf("at %g: %d right, %d missed", share, right, missed)
		}
	}
}

// Just within the margin nobody is accused but by chance.
func TestAPodNetworkWithinTheMarginIsNotAccused(t *testing.T) {
	accused := 0
	for seed := range uint64(400) {
		if d := betweenPods(rand.New(rand.NewPCG(22, seed)), 1-DefaultMargin); d.Answer.Rung != nil {
			accused++
		}
	}
	figure.Record(t, figure.Share("ladder/pod-network/accused", accused, 400,
		figure.Lower).Saying("ladders whose pod network takes just the margin that are accused"))
	if accused > 20 {
		t.Errorf("%d", accused)
	}
}

// What is not known of the cost is not made up.
func TestPodsThatWereMeasuredOnce(t *testing.T) {
	steps := []Step{{Rung: Rung{Name: "node to node", Kind: Port, Network: Nodes, Places: []string{"a"}}, Below: -1},
		{Rung: Rung{Name: "pod to pod", Kind: Port, Network: Pods, Places: []string{"b"}}, Below: 0}}
	measured := []Measured{{Rung: 0, Cell: "send", Block: 1, Values: map[string]float64{"send.bitrate": 10}},
		{Rung: 1, Cell: "send", Block: 1, Values: map[string]float64{"send.bitrate": 5}}}
	d := Analyze(steps, []Load{{Title: "tcp", Metric: "send.bitrate", Cell: lab.Cell{ID: "send"}}}, measured, nil, nil,
		Terms{Margin: DefaultMargin, Alpha: DefaultAlpha, Passes: 1})
	if len(d.PodNetwork) != 1 || d.PodNetwork[0].Cost.Lo != nil || d.PodNetwork[0].Verdict != Undecided ||
		strings.Contains(d.PodNetwork[0].Text, "[") {
		t.Errorf("%+v", d.PodNetwork)
	}
}
