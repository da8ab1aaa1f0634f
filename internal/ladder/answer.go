package ladder

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// answer is the first rung that falls short, in the cell where it falls shortest, in words.
func answer(d *Document, cpus int) Answer {
	var open []string // rungs passed on the way up of which it can't be told
	for i := range d.Rungs {
		if worst := shortest(d.Rungs[i].Cells, Verdict.falls); worst != nil {
			text := fallText(d, &d.Rungs[i], worst, cpus)
			if len(open) > 0 {
				text += "; whether a lower rung falls short, too, is undecided: " + several(open)
			}
			return Answer{Rung: &i, Cell: worst.Cell, Verdict: worst.Verdict, Text: text}
		}
		if c := shortest(d.Rungs[i].Cells, func(v Verdict) bool { return v == Undecided }); c != nil {
			open = append(open, openText(d, &d.Rungs[i], c))
		}
	}
	switch {
	case len(open) > 0:
		return Answer{Verdict: Undecided, Text: "no rung surely falls short, but some are undecided: " +
			several(open)}
	case d.Claims == 0:
		return Answer{Verdict: Unexpected, Text: "these places don't stand on each other, so no rung can fall short of another: " +
			topText(d)}
	}
	return Answer{Verdict: Reaches,
		Text: fmt.Sprintf("no rung falls short of what those below it promise by more than %g%%: %s",
			100*d.Margin, topText(d))}
}

// several are the first few of some texts, and how many more there are.
func several(texts []string) string {
	const most = 3
	if more := len(texts) - most; more > 1 {
		texts = append(texts[:most:most], fmt.Sprintf("and of %d rungs more", more))
	}
	return strings.Join(texts, "; ")
}

// shortest is the cell that reaches the smallest share of what was expected, of those with a verdict; nil for none.
func shortest(cells []Cell, with func(Verdict) bool) *Cell {
	var worst *Cell
	for i := range cells {
		c := &cells[i]
		if with(c.Verdict) && (worst == nil || c.Reached.Value < worst.Reached.Value) {
			worst = c
		}
	}
	return worst
}

// fallText returns text about the share that a rung reaches of its expectation, and what holds it back.
func fallText(d *Document, r *Rung, c *Cell, cpus int) string {
	text := fmt.Sprintf("%s: %s %s of %s (%s of %s)", c.Title, subject(r), percent(c.Reached), c.Expected.From,
		amount(c.Unit, *c.Center), amount(c.Unit, c.Expected.Value))
	why := append(saturated(r, c, cpus), fullCores(d, r, c)...)
	if r.Kind == Guest {
		return text + "; " + strings.Join(append([]string{causeText(d, r, c)}, why...), "; ")
	}
	if c.Verdict == AtCeiling {
		share := "they share"
		if !r.Kind.several() {
			share = "lies under it"
		}
		return text + fmt.Sprintf("; that is %s of what %s can carry (%s), which %s", unit.Percent(*c.Share),
			c.Ceiling.Limiter,
			amount(c.Unit, c.Ceiling.Value), share)
	}
	switch {
	case r.throughPodNetwork(c):
		return text + "; " + strings.Join(append([]string{c.costText(r)}, why...), "; ")
	case r.Kind == Loopback:
		why = append(why, "what a machine does not move within itself it won't move through its ports")
		if top, of := highest(d, c.Cell); top != nil {
			why = append(why, fmt.Sprintf("%s %s of %s (%s of %s)", subject(top), percent(of.Reached),
				of.Expected.From, amount(of.Unit, *of.Center), amount(of.Unit, of.Expected.Value)))
		}
		return text + "; " + strings.Join(why, "; ")
	case r.Kind.several() && eachAtItsCeiling(d, c):
		why = append(why, "each alone reaches its own ceiling, so that what they share is less than the sum of them")
	}
	switch {
	case c.Ceiling != nil:
		why = append(why, fmt.Sprintf("no known ceiling explains it (the tightest is %s of %s)",
			amount(c.Unit, c.Ceiling.Value), c.Ceiling.Limiter))
	case len(why) == 0:
		why = append(why, "no ceiling is known that would explain it")
	}
	return text + "; " + strings.Join(why, "; ")
}

// saturated returns text about where the load's own processes have no processor left; nothing where they have.
func saturated(r *Rung, c *Cell, cpus int) []string {
	whose := "machine"
	if r.Kind == Guest {
		whose, cpus = "guest", r.CPUs
	}
	switch {
	case c.CPU == nil:
		return nil
	case cpus > 0 && *c.CPU >= near*float64(cpus):
		return []string{fmt.Sprintf("the load itself takes %.1f of the %s's %d processors, which is what holds it",
			*c.CPU, whose, cpus)}
	case *c.CPU >= near*float64(r.Jobs):
		return []string{fmt.Sprintf("each of its %s takes a whole processor, which is what holds it",
			prose.Count(r.Jobs, "process"))}
	}
	return nil
}

// highest is the last rung of several ports that falls short as well, with its cell; nil for none.
func highest(d *Document, cell string) (*Rung, *Cell) {
	for i := range slices.Backward(d.Rungs) {
		for j := range d.Rungs[i].Cells {
			if c := &d.Rungs[i].Cells[j]; d.Rungs[i].Kind == Ports && c.Cell == cell && c.Verdict.falls() {
				return &d.Rungs[i], c
			}
		}
	}
	return nil, nil
}

// fullCores returns the warning about fully used cores of a load on a network. It returns nothing if the rungs that the
// port is compared with have the same warning, because then full cores do not explain the difference.
func fullCores(d *Document, r *Rung, c *Cell) []string {
	ofEquals := func(code string) bool {
		return slices.ContainsFunc(d.Warnings, func(o RungWarning) bool {
			return o.Code == code && o.Cell == c.Cell && r.Kind == Port && d.Rungs[o.Rung].Kind == Port &&
				slices.Contains(c.Expected.Rungs, o.Rung)
		})
	}
	var texts []string
	for _, w := range d.Warnings {
		if w.Rung != WholeRun && &d.Rungs[w.Rung] == r && w.Cell == c.Cell &&
			(w.Code == "core-full" || w.Code == "generator-bound") && len(texts) == 0 && !ofEquals(w.Code) {
			texts = append(texts, w.Text)
		}
	}
	return texts
}

// several reports whether a rung is several things of one kind at the same time.
func (k Kind) several() bool { return k == DriveGroup || k == Ports }

// eachAtItsCeiling reports whether each of the rungs that an expectation comes from is at its own ceiling in a cell.
func eachAtItsCeiling(d *Document, c *Cell) bool {
	for _, i := range c.Expected.Rungs {
		for _, other := range d.Rungs[i].Cells {
			if other.Cell == c.Cell && (other.Share == nil || *other.Share < near) {
				return false
			}
		}
	}
	return true
}

// openText returns text about how much is known of what is undecided, and how many passes decide it in four of five
// cases, if what is reached is what it seems to be.
func openText(d *Document, r *Rung, c *Cell) string {
	return fmt.Sprintf("%s %s of %s in %s", subject(r), percent(c.Reached), c.Expected.From, c.Title) +
		prose.PassesToDecide(c.Reached.PassesToDecide(c.N, d.Margin, stat.FamilyWise(d.Alpha, d.Claims)))
}

// topText is what the highest rung does.
func topText(d *Document) string {
	top := d.Rungs[len(d.Rungs)-1]
	var parts []string
	for _, c := range top.Cells {
		if c.Center == nil {
			continue
		}
		part := c.Title + " " + amount(c.Unit, *c.Center)
		if c.Share != nil {
			part += fmt.Sprintf(" (%s of %s)", unit.Percent(*c.Share), c.Ceiling.Limiter)
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return "no load on " + top.Name + " ended well"
	}
	return top.Name + " does " + strings.Join(parts, ", ")
}

// subject names a rung with its verb.
func subject(r *Rung) string {
	if r.Kind.several() {
		return r.Name + " together reach"
	}
	return r.Name + " reaches"
}

// percent is a share with its interval: "61% [58%, 64%]".
func percent(e *stat.Estimate) string {
	if !e.Informative() {
		return unit.Percent(e.Value)
	}
	return fmt.Sprintf("%s [%s, %s]", unit.Percent(e.Value), unit.Percent(*e.Lo), unit.Percent(*e.Hi))
}

func amount(u lab.Unit, v float64) string {
	switch u {
	case lab.BytesPerSecond:
		return unit.Bandwidth(v)
	case lab.BitsPerSecond:
		return unit.Bitrate(v)
	}
	return unit.IOPS(v) + " IOPS"
}
