package rule

import (
	"slices"
	"strings"

	"headroom/internal/lab"
)

// Cost is what the rules know of the price of a setting other than speed: in security, durability, power, capacity or
// money. Empty where no rule tells.
type Cost struct {
	// With is what it costs to have the setting, Without what it costs to do without it.
	With, Without string
}

// CostOf looks a setting up, written as a remedy's Set is: "cmdline:init_on_free=1", "cpu:governor=performance". A
// setting that a remedy recommends costs what that remedy costs. A boot argument that is a rule's whole reason to find
// something costs the risk that the rule tells; where the rule is about a loss, doing without the argument costs what
// its remedy does.
func (s *Set) CostOf(text string) Cost {
	var cost Cost
	wanted := parseSetting(text)
	for _, r := range s.rules {
		for _, remedy := range r.Remedies {
			if remedy.Set != "" && cost.With == "" && wanted.is(parseSetting(remedy.Set)) {
				cost.With = remedy.Cost
			}
		}
	}
	if wanted.kind != "cmdline" || wanted.removed {
		return cost
	}
	before := s.findings("")
	for id, f := range s.findings(wanted.argument()) {
		if _, anyway := before[id]; anyway {
			continue
		}
		if i := slices.IndexFunc(s.rules, func(r Rule) bool { return r.ID == id }); s.rules[i].Risk {
			cost.With = f.Title
			continue
		}
		for _, remedy := range f.Remedies {
			if changed := parseSetting(remedy.Set); cost.Without == "" && (keepSetting{setting: wanted}).same(changed) {
				cost.Without = remedy.Cost
			}
		}
	}
	return cost
}

// findings are those about a machine of which nothing but the boot arguments is known, by rule.
func (s *Set) findings(arguments string) map[string]Finding {
	found := map[string]Finding{}
	report := s.Evaluate([]lab.Fact{{Key: "kernel.cmdline", Value: arguments}}, Options{Risks: true})
	for _, f := range report.Findings {
		if f.Verdict == Found {
			found[f.Rule] = f
		}
	}
	return found
}

// is says whether both are one setting to the same value.
func (s setting) is(other setting) bool {
	return (keepSetting{setting: s}).same(other) && s.removed == other.removed &&
		strings.EqualFold(s.meaning(), other.meaning())
}
