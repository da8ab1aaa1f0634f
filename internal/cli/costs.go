package cli

import (
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/difference"
)

// costsOf returns the profiled loads of a subject, and the costs of an I/O in them; none if it is not a run, or was not
// profiled.
func costsOf(a *app.App, name string) ([]profile.Load, []cost.Profile, error) {
	loads, err := a.Subjects().ProfilesOf(name)
	if err != nil || len(loads) == 0 {
		return nil, nil, err
	}
	costs, err := cost.Of(loads, cost.Options{})
	return loads, costs, err
}

// profilesBeside returns the difference between the profiles of two subjects, if both are runs that were profiled.
func profilesBeside(a *app.App, base, other string) (difference.Document, error) {
	_, costsA, err := costsOf(a, base)
	if err != nil || len(costsA) == 0 {
		return difference.Document{}, err
	}
	_, costsB, err := costsOf(a, other)
	if err != nil {
		return difference.Document{}, err
	}
	return difference.Of(costsA, costsB, difference.Options{A: base, B: other})
}
