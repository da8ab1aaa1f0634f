//go:build system

package cli

import (
	"strings"
	"testing"

	"headroom/internal/ladder"
)

// climbed is a ladder of some ports, to the server.
func (h twoHosts) climbed(args ...string) ladder.Document {
	h.t.Helper()
	all := append([]string{"ladder", "--on", "client=ssh://net-a", "--on", "server=ssh://net-b", "--json", "--set", "time=4s", "--set", "parallel=2", "--passes", "3", "--direction", "send"}, args...)
	return documentOf[ladder.Document](h, h.command(all...))
}

// rungCalled is the rate of a rung to the server.
func rungCalled(t *testing.T, d ladder.Document, name string) *ladder.Cell {
	t.Helper()
	for i := range d.Rungs {
		if strings.HasPrefix(d.Rungs[i].Name, name) {
			return &d.Rungs[i].Cells[0]
		}
	}
	t.Fatalf("no rung %s in %+v", name, d.Rungs)
	return nil
}

// Two ports of 60 Mbit/s and one of 30, of which all have 75 together: the rates of the rungs are those that were planted, and each rung that is held back is named. One flow may be slower than its port.
func TestALadderOfANetworkNamesWhatIsPlanted(t *testing.T) {
	h := newPorts(t, 75, port{"198.18.8.1", 60}, port{"198.18.8.2", 60}, port{"198.18.8.3", 30})
	d := h.climbed("--group", "data=198.18.8.1,198.18.8.2", "--address", "198.18.8.3", "--pairs", "2")
	for name, mbit := range map[string]int{"198.18.8.1": 60, "198.18.8.2": 60, "198.18.8.3": 30, "data (2 ports)": 75, "all 3 ports": 75} {
		within(t, name, rungCalled(t, d, name).Center, goodputOf(mbit))
	}
	t.Logf("figure: %s", d.Answer.Text)
	for name, reached := range map[string]float64{"198.18.8.3": 0.5, "data (2 ports)": 0.625, "all 3 ports": 0.5} {
		c := rungCalled(t, d, name)
		if c.Reached == nil || c.Reached.Value < 0.95*reached || c.Reached.Value > 1.05*reached || c.Verdict != ladder.Short {
			t.Errorf("%s: %s, %+v", name, c.Verdict, c.Reached)
		}
	}
	for _, name := range []string{"198.18.8.1", "198.18.8.2"} {
		if c := rungCalled(t, d, name); c.Verdict == ladder.Short {
			t.Errorf("%s: %+v", name, c.Reached)
		}
	}
	if d.Answer.Rung == nil || d.Rungs[*d.Answer.Rung].Name != "198.18.8.3" {
		t.Errorf("%+v", d.Answer)
	}
	if c := rungCalled(t, d, "one flow"); c.Center == nil || *c.Center > 1.03*goodputOf(60) {
		t.Errorf("one flow: %+v", c)
	}
	if c := rungCalled(t, d, "loopback of"); c.Center == nil || *c.Center < 1e9 {
		t.Errorf("the loopback: %+v", c)
	}
	h.nothingLeft()
}
