package results

import (
	"headroom/internal/profile"
	"headroom/internal/profile/cost"
	"headroom/internal/store"
)

// Costs are what I/Os cost in the profiled loads of a run; none where it was not profiled.
func Costs(b *store.Bundle) ([]cost.Profile, error) {
	var loads []profile.Load
	for l, err := range b.Profiles() {
		if err != nil {
			return nil, err
		}
		loads = append(loads, l)
	}
	if len(loads) == 0 {
		return nil, nil
	}
	return cost.Of(loads, cost.Options{})
}
