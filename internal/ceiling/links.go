package ceiling

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// Links are one or several equal links whose rate is stated by a user, because there are no facts of the machine in a
// report.
type Links struct {
	N int
	// Rate of each in one direction, in B/s, data only, on average; Most can't be exceeded at any time, and is larger
	// for a slot, because packets can be larger than assumed.
	Rate, Most float64
	// Name of one link: "QDR", "32 Gbit/s", "PCIe 3.0 x8".
	Name string
	// Derivation of the rate.
	Derivation string
}

// maxLinks limits how many links one place can have.
const maxLinks = 64

// ParseLinks parses links in users' notation, and an InfiniBand port as the kernel prints it. Rates are data rates,
// except for InfiniBand's generations, whose encoding is subtracted: a QDR port of four lanes signals at 40 Gbit/s and
// carries 32.
//
//	32 Gbit/s
//	2x32Gbit/s
//	2 x QDR
//	2 x 40 Gb/sec (4X QDR)
//	PCIe 3.0 x8
//	2 x PCIe 4.0 x16
func ParseLinks(text string) (Links, error) {
	rest := strings.TrimSpace(text)
	l := Links{N: 1}
	if lanes, ok := slot(rest); ok {
		return lanes, nil
	}
	if number, after, ok := strings.Cut(rest, "x"); ok {
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil || n < 1 || n > maxLinks {
			return Links{}, fmt.Errorf("%q: before the x stands how many links there are, 1 to %d", text, maxLinks)
		}
		l.N, rest = n, strings.TrimSpace(after)
	}
	if lanes, ok := slot(rest); ok {
		lanes.N = l.N
		return lanes, nil
	}
	port, isPort := ParsePortRate(rest)
	if !isPort {
		generation := strings.ToUpper(strings.TrimPrefix(rest, "4X "))
		if _, isPort = lane(generation); isPort {
			port = PortRate{Lanes: 4, Generation: generation}
		}
	}
	if isPort {
		l.Rate, l.Derivation = InfiniBand(port, false)
		l.Most = l.Rate
		l.Name = port.Generation
		if port.Lanes != 4 {
			l.Name += " " + strconv.Itoa(port.Lanes) + "X"
		}
		return l, nil
	}
	for _, u := range []struct {
		name  string
		bytes float64
	}{{"Gbit/s", 1e9 / 8}, {"Mbit/s", 1e6 / 8}, {"GB/s", 1e9}, {"MB/s", 1e6}, {"GiB/s", 1 << 30}, {"MiB/s", 1 << 20}} {
		digits, ok := strings.CutSuffix(rest, u.name)
		if !ok {
			continue
		}
		digits = strings.TrimSpace(digits)
		v, err := strconv.ParseFloat(digits, 64)
		if err != nil || !(v > 0 && v*u.bytes < 1e15) {
			break
		}
		l.Rate, l.Most, l.Name = v*u.bytes, v*u.bytes, digits+" "+u.name
		l.Derivation = l.Name + " = " + figure(l.Rate)
		return l, nil
	}
	return Links{}, fmt.Errorf("%q is no link: write 32Gbit/s, 2x25Gbit/s, 4GB/s, QDR, 2xEDR or PCIe 3.0 x8", text)
}

var slotPattern = prose.Pattern(`(?i)^pcie\s*([1-6])(?:\.0)?\s*x\s*(\d{1,2})$`)

// slot parses a slot given by its generation and lanes; its rate follows from PCIe.
func slot(text string) (Links, bool) {
	m := slotPattern().FindStringSubmatch(text)
	if m == nil {
		return Links{}, false
	}
	lanes, ok := ParseWidth(m[2])
	if !ok {
		return Links{}, false
	}
	g := generations()[m[1][0]-'1']
	l := Links{N: 1, Name: fmt.Sprintf("%s x%d", g.name, lanes)}
	l.Rate, l.Most, l.Derivation = PCIe(g.gigatransfers, lanes, 0)
	return l, true
}

// String describes the links: "2 links of QDR".
func (l Links) String() string {
	if l.N == 1 {
		return "one link of " + l.Name
	}
	return fmt.Sprintf("%d links of %s", l.N, l.Name)
}

// Ceilings returns the ceilings of a load over the links: all of them in each direction, and if there are several, one
// of them.
func (l Links) Ceilings() []Ceiling {
	var all []Ceiling
	for _, d := range directions() {
		whole := Ceiling{Metric: lab.Bandwidth(d), Value: float64(l.N) * l.Rate, Most: float64(l.N) * l.Most,
			Limiter: l.String(), Derivation: l.Derivation}
		if l.N > 1 {
			whole.Derivation = fmt.Sprintf("%d x (%s) = %s", l.N, l.Derivation, figure(whole.Value))
			all = append(all, Ceiling{Metric: whole.Metric, Value: l.Rate, Most: l.Most, Limiter: "a link of " + l.Name,
				Derivation: l.Derivation,
				Part:       fmt.Sprintf("one of %d links", l.N)})
		}
		all = append(all, whole)
	}
	return all
}

// CheckExtremes checks the largest sample of each metric if the samples themselves are unknown; mean are the results by
// metric. The largest sample of one job was measured at one time. For several jobs, whose maxima fio adds up, it only
// shows that there may have been such a time: that is a reason to check, but no proof.
func CheckExtremes(samples map[string]lab.Samples, mean map[string]float64, ceilings []Ceiling) []lab.Warning {
	var all []lab.Warning
	for _, d := range directions() {
		metric := lab.Bandwidth(d)
		s, known := samples[metric]
		c, ok := firstExceeded(ceilings, metric)
		if !known || !ok || s.Max <= c.Most*overSample {
			continue
		}
		if s.Jobs <= 1 {
			all = append(all, lab.Warning{Code: "samples-above-ceiling", Taints: []string{d + ".*"}, Text: fmt.Sprintf(
				"the highest sample is %s around a mean of %s, and no more than %s can pass %s (%s); these bytes "+
					"went to a cache, and the mean is the rate of a cache that fills and drains; use direct=1, or "+
					"end_fsync=1 and more data than memory holds",
				figure(s.Max), figure(mean[metric]), figure(c.Most), c.Limiter, c.Derivation)})
			continue
		}
		all = append(all, lab.Warning{Code: "maxima-above-ceiling", Taints: []string{d + ".*"}, Text: fmt.Sprintf(
			"the highest samples of the %d jobs add up to %s around a mean of %s, and no more than %s can pass %s "+
				"(%s); fio adds up each job's own, which need not be of one moment, so this is no proof, but it is "+
				"what a cache that fills and drains looks like; use direct=1, or end_fsync=1 and more data than "+
				"memory holds",
			s.Jobs, figure(s.Max), figure(mean[metric]), figure(c.Most), c.Limiter, c.Derivation)})
	}
	return all
}
