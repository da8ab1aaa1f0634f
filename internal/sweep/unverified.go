package sweep

import (
	"fmt"
	"maps"
	"slices"

	"github.com/headroom/headroom/internal/lab"
)

// notVerified returns why nothing shows that an arm's settings were in effect; empty if something does.
func notVerified(all []lab.Unverified, arm lab.Arm) string {
	for _, factor := range slices.Sorted(maps.Keys(arm.Levels)) {
		if why := lab.WhyUnverified(all, factor, arm.Levels[factor]); why != "" {
			return why
		}
	}
	return ""
}

// withhold withdraws the verdict "same" of a level if nothing shows that the level was in effect. A measured difference
// of any load shows it.
func (d *Document) withhold() {
	for _, c := range d.Cells {
		for i, p := range c.Levels {
			if p.ToBaseline != nil && (p.ToBaseline.Verdict == Better || p.ToBaseline.Verdict == Worse) {
				d.Levels[i].NotVerified = ""
			}
		}
	}
	var open []string
	for _, l := range d.Levels {
		if l.NotVerified != "" {
			open = append(open, l.Name)
			d.Notes = append(d.Notes,
				fmt.Sprintf("not verified: nothing shows whether %s=%s was in effect (%s), so that it is not called "+
					"the same as another level", d.Factor, l.Name, l.NotVerified))
		}
	}
	if len(open) == 0 {
		return
	}
	ofBaseline := slices.Contains(open, d.Baseline)
	for i := range d.Cells {
		c := &d.Cells[i]
		if c.Verdict == Same {
			c.Verdict = Undecided
		}
		for at, p := range c.Levels {
			ratios := []*Ratio{p.ToTop}
			if d.Levels[at].NotVerified != "" || ofBaseline {
				ratios = append(ratios, p.ToBaseline)
			}
			for _, r := range ratios {
				if r != nil && r.Verdict == Same {
					r.Verdict = Undecided
				}
			}
		}
		if c.Gain != nil && c.Gain.Verdict == Same {
			c.Gain.Verdict = Undecided
		}
		if c.NoLongerPays != nil && slices.Contains(open, c.NoLongerPays.Level) {
			c.NoLongerPays = nil
		}
	}
}
