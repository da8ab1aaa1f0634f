package rule

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// Cost is the price of a setting other than speed, according to the rules: security, durability, power, capacity or
// money. It is empty if no rule names one.
type Cost struct {
	// With is the cost of having the setting, Without the cost of not having it.
	With, Without string
}

// Price is the cost of one level of a setting, other than speed. Documents publish it.
type Price struct {
	Cost string `json:"cost,omitempty"`
	// GivesUp is durability, security or integrity if the level gives that up, else empty.
	GivesUp string `json:"gives_up,omitempty"`
	// Protects is durability, security or integrity if other levels give that up, else empty.
	Protects string `json:"protects,omitempty"`
}

// givenUp returns the kinds of costs that are risks to data. Costs in a rule start with their kind.
func givenUp() []string { return []string{"durability", "security", "integrity"} }

// GivesUp returns durability, security or integrity if a cost is of that kind. It returns an empty string for other
// kinds, and for a cost of none: "Security: none against Meltdown, which this CPU does not have."
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

// Prices returns the prices of a factor's levels. If one level protects something, levels without a cost give that up.
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

// Price returns the cost of the setting. If it has none, it returns the cost of removing the setting.
func (c Cost) Price() Price {
	switch {
	case c.With != "":
		return Price{Cost: c.With, GivesUp: GivesUp(c.With)}
	case c.Without != "":
		return Price{Cost: "Without it: " + c.Without, Protects: GivesUp(c.Without)}
	}
	return Price{}
}

// CostOf returns the cost of a setting in the form of a remedy's Set: "cmdline:init_on_free=1",
// "cpu:governor=performance". An end of a network before it is ignored: "server:sysctl:...". The sources, in this
// order:
//
//   - a remedy with that setting
//   - a trade with that setting
//   - for a boot argument, the rules that have a finding with this argument only: a risk is the cost of the argument,
//     and the remedy of a loss has the cost of removing it
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
			// mitigations=auto gives up security only compared with auto,nosmt: prefer the remedy without that cost.
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

// findings returns the findings about a machine of which only the boot arguments are known, by rule.
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

// level returns the value of the setting. For mount options that are flags 0 is off, and 1 is on.
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

// is reports whether the trade covers a setting.
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
