package lab

import (
	"cmp"
	"slices"
)

// Unverified is a setting that was made and whose effect nothing shows. That no difference was measured says nothing of
// it: it may not be in effect.
type Unverified struct {
	Factor string `json:"factor"`
	// Level is "found" for what the machine had by itself.
	Level string `json:"level"`
	// Reason why nothing shows it.
	Reason string `json:"reason"`
}

// Setting is the factor with its level, as one types it; an argument without a value has an empty level.
func (u Unverified) Setting() string {
	if u.Level == "" {
		return u.Factor
	}
	return u.Factor + "=" + u.Level
}

// WithUnverified are the settings with further ones, sorted, each once.
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

// WhyUnverified is why nothing shows the effect of a level; empty for one that was verified.
func WhyUnverified(all []Unverified, factor, level string) string {
	i := slices.IndexFunc(all, func(u Unverified) bool { return u.Factor == factor && u.Level == level })
	if i < 0 {
		return ""
	}
	return all[i].Reason
}
