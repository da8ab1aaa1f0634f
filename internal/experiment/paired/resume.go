package paired

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/store"
)

// Rebuild makes the comparison from an interrupted one, or from one that ended undecided and gets more time or more
// pairs.
func (c *pairedComparison) Rebuild(ctx context.Context, p *experiment.Plan, saved *store.Bundle) error {
	c.plan = p
	if err := c.findRuns(saved); err != nil {
		return err
	}
	found := c.found
	c.terms = latestTerms(found[plan.Base].Run.Terms, found[plan.New].Run.Terms)
	if err := c.allowPairs(c.options.Pairs); err != nil {
		return err
	}
	if err := c.addArms(ctx, nil, nil); err != nil {
		return err
	}
	c.shareDevices()
	for _, arm := range armNames() {
		if err := p.ResumePart(ctx, arm, found[arm]); err != nil {
			return err
		}
		p.Parts[arm].Run.Terms = &c.terms
	}
	c.setPlan()
	p.AddSaved()
	if _, more := c.pairs.Next(p.Done); bothComplete(found) && !more {
		return c.finishedError()
	}
	return nil
}

// findRuns finds the sides of the resumed comparison, by arm.
func (c *pairedComparison) findRuns(named *store.Bundle) error {
	all, err := c.store.Parts(named)
	if err != nil {
		return err
	}
	found := map[string]*store.Bundle{}
	for i, b := range all[:min(len(all), 2)] {
		found[armNames()[i]] = b
	}
	if found[plan.Base] == nil || found[plan.New] == nil || named.Run.Terms == nil {
		return app.Usage(fmt.Sprintf("run %s is not a side of a live comparison with both sides", named.Run.ID))
	}
	if bothComplete(found) && c.options.Budget == 0 && c.options.Pairs == 0 {
		return app.Usage("this comparison is complete",
			fmt.Sprintf("headroom compare %s %s shows it", found[plan.Base].Run.ID, found[plan.New].Run.ID),
			"where it ended undecided, --budget 5m continues it, or --pairs 40")
	}
	c.found = found
	return nil
}

func bothComplete(sides map[string]*store.Bundle) bool {
	return sides[plan.Base].Run.Status == lab.Complete && sides[plan.New].Run.Status == lab.Complete
}

// latestTerms returns the terms that allow more pairs. Older versions kept terms in the bundle of each side; if they
// were interrupted during a change, only one bundle has the new terms.
func latestTerms(base, next *lab.Terms) lab.Terms {
	if next == nil || base != nil && base.Pairs >= next.Pairs {
		return *base
	}
	return *next
}

// allowPairs raises the number of pairs of a cell; 0 keeps it. A part of the probability of error is reserved for that
// (stat.GroupSequential), so more pairs invalidate no verdict, neither earlier nor later ones.
func (c *pairedComparison) allowPairs(pairs int) error {
	pairs = evenPairs(pairs)
	switch before := c.terms.Pairs; {
	case pairs == 0:
	case pairs < before:
		return app.Usage(fmt.Sprintf("--pairs %d is fewer than the %d that were allowed so far", pairs, before),
			"leave it out, or name more")
	case pairs > before:
		c.terms.EarlierPairs = append(slices.Clone(c.terms.EarlierPairs), before)
		c.terms.Pairs = pairs
	}
	return nil
}

// finishedError explains why a finished comparison can't be resumed.
func (c *pairedComparison) finishedError() error {
	show := "headroom compare " + strings.Join(c.plan.SavedIDs(), " ") + " shows it"
	budget := c.options.Budget
	c.options.Budget = 0
	c.setPlan()
	if _, more := c.pairs.Next(c.plan.Done); more {
		return app.Usage(fmt.Sprintf("--budget %s is too short for another pair", budget), "allow more", show)
	}
	undecided := 0
	for _, cell := range c.base().Run.Cells {
		if _, ending := c.pairs.Verdicts(cell.ID, c.plan.Done); ending == plan.OutOfBudget || ending == plan.Futile {
			undecided++
		}
	}
	if undecided > 0 {
		return app.Usage(fmt.Sprintf("%s would hardly get a verdict within %s", prose.Count(undecided, "cell"),
			prose.Count(c.terms.Pairs, "pair")),
			fmt.Sprintf("allow more: --pairs %d", 2*c.terms.Pairs), show)
	}
	return app.Usage("no cell of this comparison needs another pair", show)
}
