// Package paths computes what share of a load went over each of several ways to a server: over its ports, and over the
// connections of a mount. It is pure: repetitions in, shares and sentences out.
package paths

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// Share is the share of one of several paths in the traffic of all: the median over the repetitions, and the least and
// the most.
type Share struct {
	// End is the role of the machine that counted, and Way its name of the path: "eth1", "transport 2 (tcp)".
	End string `json:"end"`
	Way string `json:"way"`
	// Of is what was counted: Bytes or Calls.
	Of    string  `json:"of"`
	Share float64 `json:"share"`
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
	N     int     `json:"n"`
}

// The counted units.
const (
	Bytes = "bytes"
	Calls = "calls"
)

// Counted collects the shares of repetitions.
type Counted struct {
	order  []Share // without figures
	values map[Share][]float64
}

// Add adds the counts of a repetition. Ways are the ports that the load is expected to use, where it names them, else
// all that counted anything.
func (c *Counted) Add(rep lab.Repetition) {
	ends := map[string][]lab.PortTraffic{}
	var roles []string
	for _, p := range rep.Ports {
		if !p.Expected && slices.ContainsFunc(rep.Ports, func(o lab.PortTraffic) bool {
			return o.Expected && o.End == p.End
		}) {
			continue
		}
		if ends[p.End] == nil {
			roles = append(roles, p.End)
		}
		ends[p.End] = append(ends[p.End], p)
	}
	for _, role := range roles {
		ports := ends[role]
		slices.SortFunc(ports, func(a, b lab.PortTraffic) int { return cmp.Compare(a.Port, b.Port) })
		var amounts []int64
		var ways []Share
		for _, p := range ports {
			amounts, ways = append(amounts, p.Sent.Bytes+p.Received.Bytes),
				append(ways, Share{End: role, Way: p.Port, Of: Bytes})
		}
		c.add(ways, amounts)
	}
	var calls []int64
	var ways []Share
	for i, t := range rep.Transports {
		calls, ways = append(calls, t.Calls),
			append(ways, Share{End: t.End, Way: fmt.Sprintf("transport %d (%s)", i+1, t.Kind), Of: Calls})
	}
	c.add(ways, calls)
}

// add takes up what several ways carried; one way has nothing to be shared.
func (c *Counted) add(ways []Share, amounts []int64) {
	sum := int64(0)
	for _, n := range amounts {
		sum += max(0, n)
	}
	if len(ways) < 2 || sum == 0 {
		return
	}
	if c.values == nil {
		c.values = map[Share][]float64{}
	}
	for i, w := range ways {
		if _, known := c.values[w]; !known {
			c.order = append(c.order, w)
		}
		c.values[w] = append(c.values[w], float64(max(0, amounts[i]))/float64(sum))
	}
}

// Shares of all ways, in the order in which they were counted first; none where there was no more than one way.
func (c *Counted) Shares() []Share {
	var all []Share
	for _, w := range c.order {
		values := c.values[w]
		w.Share, w.Least, w.Most, w.N = stat.Median(values), slices.Min(values), slices.Max(values), len(values)
		all = append(all, w)
	}
	return all
}

// maxNamed are the ways that a sentence names one by one.
const maxNamed = 4

// Text returns what each way carried: "bytes at the client: eth1 90%, eth2 10% (n=3)".
func Text(shares []Share) string {
	var parts []string
	for len(shares) > 0 {
		n := 1
		for n < len(shares) && shares[n].End == shares[0].End && shares[n].Of == shares[0].Of {
			n++
		}
		parts, shares = append(parts, textOf(shares[:n])), shares[n:]
	}
	return strings.Join(parts, "; ")
}

// textOf is about the ways of one end.
func textOf(shares []Share) string {
	head := shares[0].Of
	if shares[0].End != "" {
		head += " at the " + shares[0].End
	}
	tail := fmt.Sprintf(" (n=%d)", shares[0].N)
	if len(shares) > maxNamed {
		by := func(a, b Share) int { return cmp.Compare(a.Share, b.Share) }
		least, most := slices.MinFunc(shares, by), slices.MaxFunc(shares, by)
		return fmt.Sprintf("%s: %d ways, from %s of %s to %s of %s", head, len(shares), percent(least.Share), least.Way,
			percent(most.Share), most.Way) + tail
	}
	var each []string
	for _, s := range shares {
		text := s.Way + " " + percent(s.Share)
		if s.N > 1 && s.Most-s.Least > spread {
			text += fmt.Sprintf(" [%s to %s]", percent(s.Least), percent(s.Most))
		}
		each = append(each, text)
	}
	return head + ": " + strings.Join(each, ", ") + tail
}

// spread is how far apart the shares of repetitions must be for the least and the most to be reported.
const spread = 0.05

func percent(share float64) string { return fmt.Sprintf("%.0f%%", 100*share) }
