//go:build bench && system

package cli

import (
	"fmt"
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/interference"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/testing/figure"
)

// precise records a rate, and holds it against the one that was planted: on a machine that does nothing else it is
// that, to 3%.
func precise(t *testing.T, name, what string, got *float64, want float64) {
	t.Helper()
	if got == nil {
		t.Errorf("%s was not measured", what)
		return
	}
	figure.Record(t, figure.Figure{Name: figure.Name("net", name), Unit: "bit/s", Center: *got,
		Text: fmt.Sprintf("%s; planted are %.1f Mbit/s", what, want/1e6)})
	if *got < 0.97*want || *got > 1.03*want {
		t.Errorf("%s: %.1f Mbit/s, planted are %.1f", what, *got/1e6, want/1e6)
	}
}

// What goes through a link of a known rate is that rate, in either direction, and of many pairs together.
func TestNetRatesPrecisely(t *testing.T) {
	h := newTwoHosts(t, 200)
	d := h.measured(h.net(bothWays, "--json"))
	for i, metric := range []string{lab.Bitrate(lab.Send), lab.Bitrate(lab.Receive)} {
		rate := d.Cells[i].Metrics[metric].Center
		precise(t, "link/"+metric, fmt.Sprintf("%s of a link of %d Mbit/s", metric, h.mbit), &rate, h.goodput())
	}
	h.checkNothingLeft()
	const pairs = 24
	h = newTwoHosts(t, 400)
	d = h.manyPairs(pairs, 12)
	sum := 0.0
	for _, c := range d.Cells[:pairs] {
		sum += c.Metrics[lab.Bitrate(lab.Send)].Center
	}
	all := d.Cells[pairs].Metrics
	together := all[lab.Bitrate(lab.Send)].Center
	precise(t, "pairs/together", fmt.Sprintf("%d pairs over a link of %d Mbit/s, over the %.0f seconds of all", pairs,
		h.mbit, all[lab.CommonSeconds].Center), &together, h.goodput())
	figure.Record(t, figure.Figure{Name: "net/pairs/sum", Unit: "bit/s", Center: sum,
		Text: "what the means of each pair add up to"})
	figure.Record(t, figure.Figure{Name: "net/pairs/apart", Unit: "s", Center: all[lab.StartSkew].Center,
		Better: figure.Lower, Text: "how far apart the pairs started"})
	h.checkNothingLeft()
}

// How long an answer takes is what the link makes a request wait, and how many come is what it carries.
func TestRequestsPrecisely(t *testing.T) {
	h := slowHosts(t, 2)
	d := h.asked(5, 1000)
	for i, frame := range []int{datagram(1400), segment(1400)} {
		c, want := d.Cells[i], h.each(frame)
		rate, p50, mean := c.Metrics[lab.RequestRate].Center, c.Metrics[lab.Latency(lab.Request, "p50")].Center,
			c.Metrics[lab.Latency(lab.Request, "mean")].Center
		printed := fmt.Sprintf("a message of 1400 bytes over %s waits %.3f ms for a link of %d Mbit/s", c.Job, 1e3*want,
			h.mbit)
		figure.Record(t, figure.Figure{Name: figure.Name("net/requests", c.Job, "p50"), Unit: "s", Center: p50,
			Text: printed + ": the median answer"})
		figure.Record(t, figure.Figure{Name: figure.Name("net/requests", c.Job, "mean"), Unit: "s", Center: mean,
			Text: printed + ": the mean answer"})
		figure.Record(t, figure.Figure{Name: figure.Name("net/requests", c.Job, "rate"), Unit: "1/s", Center: rate,
			Text: printed + ": answers a second"})
		if p50 < 0.97*want || p50 > 1.05*want || rate > 1.03/want || rate < 0.9/want {
			t.Errorf("%s: the median answer took %g s of %g, %g came a second", c.Job, p50, want, rate)
		}
		if one := mean * rate; one < 0.95 || one > 1.05 {
			t.Errorf("%s: one at a time, the mean answer takes %g s and %g come a second", c.Job, mean, rate)
		}
	}
	most := 1 / h.each(datagram(1400))
	rate, lost := d.Cells[2].Metrics[lab.RequestRate].Center, d.Cells[2].Metrics[lab.RequestsLost].Center
	figure.Record(t, figure.Figure{Name: "net/requests/under-load/rate", Unit: "1/s", Center: rate,
		Text: fmt.Sprintf("answers a second of 1000 requests a second, where the link carries %.1f", most)})
	figure.Record(t, figure.Figure{Name: "net/requests/under-load/lost", Unit: "share", Center: lost,
		Text: "requests of those that were not answered"})
	if rate < 0.9*most || rate > 1.05*most || lost < 0.95*(1-most/1000) || lost > 1.05*(1-most/1000) {
		t.Errorf("%.1f answered a second, %.3f lost", rate, lost)
	}
	h.checkNothingLeft()

	h = slowHosts(t, 4)
	const pairs = 3
	all := h.askedTogether(pairs, 10).Metrics
	most = 1 / h.each(datagram(1400))
	rate, p50 := all[lab.RequestRate].Center, all[lab.Latency(lab.Request, "p50")].Center
	figure.Record(t, figure.Figure{Name: "net/requests/pairs/rate", Unit: "1/s", Center: rate,
		Text: fmt.Sprintf("answers a second of %d pairs over the %.0f seconds of all; the link carries %.1f",
			pairs, all[lab.CommonSeconds].Center, most)})
	figure.Record(t, figure.Figure{Name: "net/requests/pairs/p50", Unit: "s", Center: p50,
		Text: "the median answer of them"})
	if rate < 0.9*most || rate > 1.03*most || p50 < 0.9*pairs/most || p50 > 1.1*pairs/most {
		t.Errorf("%.1f a second, %.2f ms", rate, 1e3*p50)
	}
	h.checkNothingLeft()
}

// What iperf3 claims is what the ports of both ends counted, but for headers.
func TestPortsPrecisely(t *testing.T) {
	h := newTwoHosts(t, 200)
	check := func(port, jobs string) {
		t.Helper()
		for _, c := range h.reportedTraffic(port, jobs) {
			figure.Record(t, figure.Figure{Name: figure.Name("net/ports", c.what), Unit: "ratio",
				Center: float64(c.arrived) / c.claimed,
				Text: fmt.Sprintf("what the receiver's port counted of the %.1f MB that iperf3 claims; the "+
					"sender's counted %.1f", c.claimed/1e6, float64(c.sent)/1e6)})
			c.within(t, 0.95, 1.2)
		}
	}
	jobs := bothWays + "  - {name: both, iperf3: {time: 2s, bidir: 1}}\n"
	check("headroom0", jobs)
	h.bridged()
	check("bridge0", jobs)
	h.checkNothingLeft()
}

// Ports of 50, 100 (two) and 50 Mbit/s that have 100 together, as in the field report a thousand times as fast: each
// alone has its own, and all share one ceiling, which is named.
func TestInterferencePrecisely(t *testing.T) {
	h := newPorts(t, 100, port{"198.18.8.1", 50}, port{"198.18.8.2", 50}, port{"198.18.8.3", 50},
		port{"198.18.8.4", 50})
	d := h.interference("--group", "application=198.18.8.1", "--group", "data=198.18.8.2,198.18.8.3", "--group",
		"backup=198.18.8.4", "--passes", "3", "--set", "time=3s", "--set", "parallel=2")
	for i, mbit := range []int{50, 100, 50} {
		precise(t, figure.Name("interference", d.Groups[i].Name), d.Groups[i].Name+" alone", d.Groups[i].Alone.Value,
			goodputOf(mbit))
	}
	for _, together := range d.Combinations {
		what := fmt.Sprintf("groups %v together", together.Groups)
		precise(t, figure.Name("interference", what), what, together.Sum.Value, goodputOf(100))
	}
	t.Log(d.Answer.Text)
	if len(d.Shared) != 1 || !slices.Equal(d.Shared[0].Groups, []int{0, 1, 2}) ||
		d.Shared[0].One == interference.Disagrees || d.Answer.Verdict != interference.Loses {
		t.Errorf("%+v", d.Shared)
	}
	h.checkNothingLeft()
}

// Beside a storage that fio reads from, a link loses nothing: the two share no ceiling here, and both are measured at
// the same time.
func TestInterferenceBesideStoragePrecisely(t *testing.T) {
	h := newPorts(t, 100, port{"198.18.8.1", 20})
	d := h.interference("--group", "backup=198.18.8.1", "--group", "data="+inMemory(t), "--passes", "2", "--set",
		"time=5s", "--size", "16m", "--set-fio", "rate=20m")
	precise(t, "interference/link/alone", "a link alone", d.Groups[0].Alone.Value, goodputOf(20))
	precise(t, "interference/storage/alone", "storage alone", d.Groups[1].Alone.Value, 8*20*1<<20)
	precise(t, "interference/both", "a link and storage together", d.Combinations[0].Sum.Value,
		goodputOf(20)+8*20*1<<20)
	if d.Answer.Verdict == interference.Loses {
		t.Errorf("%+v", d)
	}
	h.checkNothingLeft()
}

// ladder is a ladder of some ports, to the server.
func (h twoHosts) ladder(args ...string) ladder.Document {
	h.t.Helper()
	all := append([]string{"ladder", "--on", "client=ssh://net-a", "--on", "server=ssh://net-b", "--json", "--set",
		"parallel=2", "--passes", "3", "--direction", "send"}, args...)
	return documentOf[ladder.Document](h, h.command(all...))
}

// named says that some rungs of a ladder fall short, no other port does, and one of them is the answer.
func (h twoHosts) named(d ladder.Document, answer string, short ...string) {
	h.t.Helper()
	h.t.Log(d.Answer.Text)
	for i := range d.Rungs {
		r := &d.Rungs[i]
		if c := r.Cells[0]; (c.Verdict == ladder.Short) != slices.Contains(short, r.Name) &&
			(slices.Contains(short, r.Name) || r.Kind == ladder.Port) {
			h.t.Errorf("%s: %s, %+v", r.Name, c.Verdict, c.Reached)
		}
	}
	for _, w := range d.Warnings {
		if slices.Contains(portsChecked, w.Code) {
			h.t.Errorf("%s of %+v: %s", w.Code, d.Rungs[w.Rung].Name, w.Text)
		}
	}
	if d.Answer.Rung == nil || d.Rungs[*d.Answer.Rung].Name != answer {
		h.t.Errorf("%+v", d.Answer)
	}
}

// Two ports of 60 Mbit/s and one of 30, of which all have 75 together: the rates of the rungs are those that were
// planted, and each rung that is held back is named.
func TestANetworkLadderPrecisely(t *testing.T) {
	h := newPorts(t, 75, port{"198.18.8.1", 60}, port{"198.18.8.2", 60}, port{"198.18.8.3", 30})
	d := h.ladder("--group", "data=198.18.8.1,198.18.8.2", "--address", "198.18.8.3", "--set", "time=4s", "--pairs",
		"2")
	for name, mbit := range map[string]int{"198.18.8.1": 60, "198.18.8.2": 60, "198.18.8.3": 30, "data (2 ports)": 75,
		"all 3 ports": 75} {
		precise(t, figure.Name("ladder", name), name, rungCalled(t, d, name).Center, goodputOf(mbit))
	}
	for name, reached := range map[string]float64{"198.18.8.3": 0.5, "data (2 ports)": 0.625, "all 3 ports": 0.5} {
		if c := rungCalled(t, d, name); c.Reached == nil || c.Reached.Value < 0.95*reached ||
			c.Reached.Value > 1.05*reached || c.Verdict != ladder.Short {
			t.Errorf("%s: %s, %+v", name, c.Verdict, c.Reached)
		}
	}
	h.named(d, "198.18.8.3", "198.18.8.3", "data (2 ports)", "all 3 ports")
	if c := rungCalled(t, d, "one flow"); c.Center == nil || *c.Center > 1.03*goodputOf(60) {
		t.Errorf("one flow: %+v", c)
	}
	if c := rungCalled(t, d, "loopback of"); c.Center == nil || *c.Center < 1e9 {
		t.Errorf("the loopback: %+v", c)
	}
	h.checkNothingLeft()
}

// How much of a send buffer is on its way at a time is the kernel's: a writer is woken when a third is free
// (sk_stream_is_writeable in include/net/sock.h), and what is kept beside the data counts. Half of it is, at least.
func TestSendBuffersPrecisely(t *testing.T) {
	h := newFarHosts(t)
	sizes := []int{262144, 393216, 524288}
	c := h.sweptBuffers(3, 3, sizes...)
	for i, l := range c.Levels {
		least, most := window(sizes[i])
		figure.Record(t, figure.Figure{Name: figure.Name("net/send-buffer", sizes[i]), Unit: "bit/s", Center: *l.Value,
			Text: fmt.Sprintf("through a send buffer of %d KiB over a round trip of %v; at most %.1f Mbit/s by the "+
				"window", sizes[i]>>10, roundTrip, most/1e6)})
		if *l.Value > most || *l.Value < least {
			t.Errorf("%s: %.1f Mbit/s, planted are %.1f to %.1f", l.Level, *l.Value/1e6, least/1e6, most/1e6)
		}
	}
	if c.Top != buffer(sizes[2]) || c.Gain == nil {
		t.Errorf("top %q, gain %+v", c.Top, c.Gain)
	}
	h.checkNothingLeft()
}
