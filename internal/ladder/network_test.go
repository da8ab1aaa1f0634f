package ladder

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
)

// ports is a simulated network of four ports: what each rung really does, in bit/s.
type ports struct {
	loopback, carries  float64
	alone              [4]float64
	group, all, either float64 // the first two, all, and all in each direction at once
}

func healthyPorts() ports {
	return ports{loopback: 60e9, carries: 100e9 * 0.98, alone: [4]float64{24e9, 24e9, 24e9, 24e9}, group: 48e9,
		all: 96e9, either: 96e9}
}

func (p ports) analyze(r *rand.Rand, warnings ...RungWarning) Document {
	var steps []Step
	var rates []float64
	add := func(kind Kind, rate float64, places ...string) *Step {
		steps = append(steps, Step{Rung: Rung{Name: string(kind) + " " + strings.Join(places, " "), Kind: kind,
			Places: places, Jobs: len(places)}, Below: -1})
		rates = append(rates, rate)
		return &steps[len(steps)-1]
	}
	loopback := add(Loopback, p.loopback, "server")
	if p.carries > 0 {
		loopback.Carries = map[string]ceiling.Ceiling{"send": {Value: p.carries, Limiter: "4 NICs Ethernet 25 Gbit/s"}}
	}
	addresses := []string{"10.0.1.1", "10.0.2.1", "10.0.3.1", "10.0.4.1"}
	add(Flow, 12e9, addresses[0])
	for i, a := range addresses {
		s := add(Port, p.alone[i], a)
		s.Like = "25000000000"
		s.Ceilings = map[string][]ceiling.Ceiling{
			"send": {{Metric: "send.bitrate", Value: 24.6e9, Most: math.Inf(1), Limiter: "Ethernet 25 Gbit/s"}}}
	}
	add(Ports, p.group, addresses[:2]...)
	add(Ports, p.all, addresses...)
	add(BothWays, p.either, addresses...).Below = len(steps) - 2
	var measured []Measured
	for block := 1; block <= 6; block++ {
		pass := math.Exp(0.02 * (2*r.Float64() - 1))
		for i, rate := range rates {
			measured = append(measured, Measured{Rung: i, Cell: "send", Block: block,
				Values: map[string]float64{"send.bitrate": rate * pass * math.Exp(0.005*r.NormFloat64())}})
		}
	}
	load := Load{Title: "tcp x4 to the server", Metric: "send.bitrate", Cell: lab.Cell{ID: "send"}}
	return Analyze(steps, []Load{load}, measured, warnings, nil,
		Terms{Margin: DefaultMargin, Alpha: DefaultAlpha, Passes: 6})
}

// Each rung that lacks something is the answer, and none above it; where the machine itself does less than its ports
// carry, that is.
func TestTheFirstRungOfANetworkThatFallsShort(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ports)
		kind   Kind
		words  string
	}{
		"nothing":         {func(p *ports) { p.loopback = 150e9 }, "", "no rung falls short"},
		"unknown ceiling": {func(p *ports) { p.carries = 0 }, "", "no rung falls short"},
		"the machine": {func(p *ports) { p.all, p.either = 50e9, 30e9 }, Loopback,
			"what its ports can carry: 4 NICs Ethernet 25 Gbit/s"},
		"a port": {func(p *ports) { p.loopback, p.alone[2], p.all, p.either = 150e9, 10e9, 82e9, 82e9 },
			Port, "10.0.3.1 reaches 4"},
		"a group": {func(p *ports) { p.loopback, p.group, p.all, p.either = 150e9, 30e9, 78e9, 78e9 },
			Ports, "10.0.1.1 10.0.2.1 together reach 6"},
		"all of them": {func(p *ports) { p.loopback, p.all, p.either = 150e9, 60e9, 60e9 }, Ports,
			"each alone reaches its own ceiling"},
		"both ways": {func(p *ports) { p.loopback, p.either = 150e9, 60e9 }, BothWays, "10.0.4.1 one way"},
	} {
		p := healthyPorts()
		c.change(&p)
		for seed := range uint64(20) {
			d := p.analyze(rand.New(rand.NewPCG(7, seed)))
			got := Kind("")
			if d.Answer.Rung != nil {
				got = d.Rungs[*d.Answer.Rung].Kind
			}
			if got != c.kind || !strings.Contains(d.Answer.Text, c.words) {
				t.Errorf("%s: %q: %s", name, got, d.Answer.Text)
				break
			}
		}
	}
}

// A full core is named as the reason of a port that falls short where its equals have none; where they have, and reach
// what they should, it is not what sets it apart.
func TestAFullCoreIsNamedWhereItSetsThePortApart(t *testing.T) {
	p := healthyPorts()
	p.loopback, p.alone[2], p.all, p.either = 150e9, 10e9, 82e9, 82e9
	full := func(rung int) RungWarning {
		return RungWarning{rung, lab.Warning{Code: "core-full", Text: "CPU 3 of the server was full",
			Taints: []string{}}.In("send", 0, 0)}
	}
	const short, equal = 4, 2 // the loopback and the flow are below the ports
	for _, c := range []struct {
		at    []RungWarning
		named bool
	}{{[]RungWarning{full(short)}, true}, {[]RungWarning{full(short), full(equal)}, false},
		{[]RungWarning{full(equal)}, false}} {
		d := p.analyze(rand.New(rand.NewPCG(7, 1)), c.at...)
		if d.Answer.Rung == nil || *d.Answer.Rung != short || strings.Contains(d.Answer.Text, "CPU 3") != c.named {
			t.Errorf("%d warnings: %s", len(c.at), d.Answer.Text)
		}
	}
}

// Nothing is promised to one flow, and ports of another speed are no equals.
func TestWhatPortsAreHeldAgainst(t *testing.T) {
	d := healthyPorts().analyze(rand.New(rand.NewPCG(8, 0)))
	for i, r := range d.Rungs {
		e := r.Cells[0].Expected
		switch r.Kind {
		case Flow:
			if e != nil {
				t.Errorf("one flow is promised %+v", e)
			}
		case Ports:
			if e == nil || len(e.Rungs) != len(r.Places) || !slices.Contains(e.Rungs, 2) {
				t.Errorf("%s is held against %+v", r.Name, e)
			}
		case Port:
			if e == nil || len(e.Rungs) != 3 || slices.Contains(e.Rungs, i) {
				t.Errorf("%s is held against %+v", r.Name, e)
			}
		}
	}
}
