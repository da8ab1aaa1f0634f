package lab

import (
	"cmp"
	"slices"
)

// Unverified is a setting that was made but whose effect can't be observed. If no difference was measured, the setting
// may not have been in effect.
type Unverified struct {
	Factor string `json:"factor"`
	// Level is "found" for the machine's original level.
	Level string `json:"level"`
	// Reason why the effect can't be observed.
	Reason string `json:"reason"`
}

// Setting returns the factor with its level, as one types it; an argument without a value has an empty level.
func (u Unverified) Setting() string {
	if u.Level == "" {
		return u.Factor
	}
	return u.Factor + "=" + u.Level
}

// WithUnverified returns the settings of all and more, sorted, without duplicates.
func WithUnverified(all []Unverified, more ...Unverified) []Unverified {
	all = slices.Clone(all)
	for _, u := range more {
		if WhyUnverified(all, u.Factor, u.Level) == "" {
			all = append(all, u)
		}
	}
	slices.SortFunc(all, func(a, b Unverified) int {
		return cmp.Or(cmp.Compare(a.Factor, b.Factor), cmp.Compare(a.Level, b.Level))
	})
	return all
}

// WhyUnverified returns why the effect of a level can't be observed; empty for a verified level.
func WhyUnverified(all []Unverified, factor, level string) string {
	i := slices.IndexFunc(all, func(u Unverified) bool { return u.Factor == factor && u.Level == level })
	if i < 0 {
		return ""
	}
	return all[i].Reason
}
