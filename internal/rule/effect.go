package rule

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/unit"
)

// setEffect sets the possible cost of a finding: published figures, with where and by whom they were measured. Figures
// published about one machine are never claimed for another.
func (f *Finding) setEffect(r *Rule) {
	f.Effects = r.Effects
	published := r.published()
	switch {
	case published != "":
		f.Effect = published + "; not measured here"
	case r.Derivation != "":
		f.Effect = "follows from the facts: " + r.Derivation
	default:
		f.Effect = "no figure is published"
	}
}

// rate rates a finding low if its layers take little of the CPU time of each profiled load.
func (f *Finding) rate() {
	if share, known := f.mostOfLayers(); known && share < leastShare && f.Severity != Low {
		f.Note = fmt.Sprintf("%s, not %s: its layer takes at most %s of the CPU time of the profiled loads", Low,
			f.Severity, unit.Percent(share))
		f.Severity = Low
	}
}

// measuredClass are the loads that a run measured.
const measuredClass = "measured"

// totalCPU is an upper bound on the CPU time of a load's I/O, as a multiple of the CPU time of its processes:
// interrupts and kernel threads do the rest. A cost below leastCost of a load's time disappears in the spread of
// repetitions.
const (
	totalCPU  = 2
	leastCost = 0.05
)

// rateByLoads rates a finding low if it costs CPU time and the measured loads use so little of it that it can't explain
// their loss: they wait for the device. Loads whose CPU time is unknown change nothing.
func (f *Finding) rateByLoads(r *Rule, m *machine) {
	loads := m.things[measuredClass]
	onCPU := slices.Contains([]string{"mitigation", "kernel"}, r.Class) && slices.Contains(r.Metrics, "cpu")
	if !onCPU || r.Scope == profileClass || len(loads) == 0 || f.Severity == Low {
		return
	}
	busiest := 0.0
	for _, load := range loads {
		busy, err := strconv.ParseFloat(m.find("measured.busy", load).Value, 64)
		if err != nil {
			return
		}
		busiest = max(busiest, busy)
	}
	if most := totalCPU * busiest; most < leastCost {
		f.Note = fmt.Sprintf("%s, not %s: the measured loads are on CPUs for %s of their time, so that it costs them "+
			"%s at most", Low, f.Severity, unit.Percent(busiest), unit.Percent(most))
		f.Severity = Low
	}
}

// mostOfLayers returns the largest share of a profiled load's CPU time that the layers in the evidence take; false
// without a profile.
func (f *Finding) mostOfLayers() (share float64, known bool) {
	of := map[string]float64{}
	for _, e := range f.Evidence {
		value, err := strconv.ParseFloat(e.Value, 64)
		table, _, _ := profileName(e.Fact)
		if err != nil || table != layerTable || !strings.HasSuffix(e.Fact, ".share") {
			continue
		}
		for _, load := range f.loads(e) {
			of[load] += value
			share, known = max(share, of[load]), true
		}
	}
	return share, known
}

// loads returns the loads that evidence is about. For a rule that is evaluated for each load they are in the finding.
func (f *Finding) loads(e Evidence) []string {
	if len(e.About) == 0 {
		return f.About
	}
	return e.About
}

// published returns the figures as text: "published: up to 60% of throughput (100 Gbit/s NIC; Title)".
func (r *Rule) published() string {
	if len(r.Effects) == 0 {
		return ""
	}
	var quotes []string
	for _, e := range r.Effects {
		source := e.Source.Title
		if source == "" {
			source = e.Source.URL
		}
		if e.Where != "" {
			source = e.Where + "; " + source
		}
		quotes = append(quotes, e.Text+" ("+source+")")
	}
	return "published: " + strings.Join(quotes, "; ")
}

// MainEffect returns the first published figure and how many more the rule has.
func (f Finding) MainEffect() string {
	more := len(f.Effects) - 1
	if more < 1 {
		return f.Effect
	}
	figures := "1 more figure"
	if more > 1 {
		figures = fmt.Sprintf("%d more figures", more)
	}
	first := f.Effects[0]
	return fmt.Sprintf("published: %s (%s; %s); not measured here; %s: headroom rules show %s", first.Text,
		first.Where, first.Source.Title, figures, f.Rule)
}
