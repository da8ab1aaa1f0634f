package rule

import (
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
)

// Cost is what the rules know of the price of a setting other than speed: in security, durability, power, capacity or
// money. Empty where no rule tells.
type Cost struct {
	// With is what it costs to have the setting, Without what it costs to do without it.
	With, Without string
}

// Price is what one level of a setting costs besides speed, as documents publish it.
type Price struct {
	Cost string `json:"cost,omitempty"`
	// GivesUp is what the level gives up, in a word: durability, security or integrity. Empty for other costs.
	GivesUp string `json:"gives_up,omitempty"`
	// Protects is what doing without the level would give up.
	Protects string `json:"protects,omitempty"`
}

// givenUp are the words that a cost begins with which can't be counted in money: what was written is lost, or others
// may read or change it.
func givenUp() []string { return []string{"durability", "security", "integrity"} }

// GivesUp is what somebody gives up at such a cost, in a word; empty for costs of other kinds, and where there is none:
// "Security: none against Meltdown, which this CPU does not have."
func GivesUp(cost string) string {
	word, what, ok := strings.Cut(strings.ToLower(cost), ":")
	if what = strings.TrimSpace(what); !ok || what == "none" || strings.HasPrefix(what, "none ") {
		return ""
	}
	if slices.Contains(givenUp(), word) {
		return word
	}
	return ""
}

// Prices are those of the levels of a factor, held against each other: where one of them protects something, each other
// one gives that up.
func (s *Set) Prices(factor string, levels []string) []Price {
	costs := make([]Cost, len(levels))
	for i, level := range levels {
		costs[i] = s.CostOf(factor + "=" + level)
	}
	prices := make([]Price, len(levels))
	for i, c := range costs {
		prices[i] = c.Price()
		for j, other := range costs {
			if protects := GivesUp(other.Without); j != i && c == (Cost{}) && protects != "" {
				prices[i] = Price{Cost: other.Without, GivesUp: protects}
			}
		}
	}
	return prices
}

// Price is the cost of having the setting, or, where that is nothing, of doing without it.
func (c Cost) Price() Price {
	switch {
	case c.With != "":
		return Price{Cost: c.With, GivesUp: GivesUp(c.With)}
	case c.Without != "":
		return Price{Cost: "Without it: " + c.Without, Protects: GivesUp(c.Without)}
	}
	return Price{}
}

// CostOf looks a setting up, written as a remedy's Set is: "cmdline:init_on_free=1", "cpu:governor=performance". A
// setting that a remedy recommends costs what that remedy costs, one that a rule lists as a trade what the rule says. A
// boot argument that is a rule's whole reason to find something costs the risk that the rule tells; where the rule is
// about a loss, doing without the argument costs what its remedy does, and so does taking it away. Of a network it
// makes no difference which end the setting is of: "server:sysctl:…".
func (s *Set) CostOf(text string) Cost {
	var cost Cost
	for _, end := range []string{"client:", "server:"} {
		text = strings.TrimPrefix(text, end)
	}
	wanted := parseSetting(text)
	for _, r := range s.rules {
		for _, remedy := range r.Remedies {
			if remedy.Set == "" || !wanted.is(parseSetting(remedy.Set)) {
				continue
			}
			// What is a loss after one state can be a gain after another: mitigations=auto after auto,nosmt and after
			// off.
			if cost.With == "" || GivesUp(cost.With) != "" && GivesUp(remedy.Cost) == "" {
				cost.With = remedy.Cost
			}
		}
	}
	for _, r := range s.rules {
		for _, t := range r.Trades {
			if cost.With == "" && t.is(wanted) {
				cost.With = t.Cost
			}
		}
	}
	if wanted.kind != "cmdline" {
		return cost
	}
	if wanted.removed {
		for _, value := range []string{"=1", "=on", ""} {
			if cost.With == "" {
				cost.With = s.CostOf("cmdline:" + wanted.name + value).Without
			}
		}
		return cost
	}
	before := s.findings("")
	for id, f := range s.findings(wanted.argument()) {
		if _, anyway := before[id]; anyway {
			continue
		}
		if i := slices.IndexFunc(s.rules, func(r Rule) bool { return r.ID == id }); s.rules[i].Risk {
			if cost.With == "" {
				cost.With = "Security: " + strings.ToLower(f.Title[:1]) + f.Title[1:]
			}
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

// is reports whether both are one setting to the same value.
func (s setting) is(other setting) bool {
	return (keepSetting{setting: s}).same(other) && s.removed == other.removed &&
		strings.EqualFold(s.level(), other.level())
}

// level is the value, of a mount option that is a flag in one of the two words for it.
func (s setting) level() string {
	if s.kind != "mount" {
		return s.value
	}
	switch value := s.meaning(); value {
	case "0":
		return "off"
	case "1":
		return "on"
	default:
		return value
	}
}

// is reports whether a setting is one of those that buy speed.
func (t Trade) is(wanted setting) bool {
	return slices.ContainsFunc(t.Set, func(text string) bool {
		s := parseSetting(text)
		if prefix, any := strings.CutSuffix(s.name, "*"); any && s.kind == wanted.kind &&
			strings.HasPrefix(wanted.name, prefix) {
			s.name = wanted.name
		}
		if t.Above == nil {
			return wanted.is(s)
		}
		n, err := strconv.ParseFloat(wanted.value, 64)
		return err == nil && n > *t.Above && (keepSetting{setting: wanted}).same(s)
	})
}
