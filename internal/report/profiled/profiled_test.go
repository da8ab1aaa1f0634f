package profiled

import (
	"testing"

	"headroom/internal/document"
	"headroom/internal/profile/breakdown"
	"headroom/internal/profile/difference"
	"headroom/internal/render"
	"headroom/internal/render/rendertest"
	"headroom/internal/report"
)

// Profiles come in every format.
func TestProfilesInEveryFormat(t *testing.T) {
	for name, d := range map[string]breakdown.Document{"profile": guestProfile(t), "profile-refused": refusedProfile(),
		"profile-nothing": {Run: "7KQ4M2X9TD"}} {
		rendertest.InEveryFormat(t, name, func(o render.Options) document.Document {
			return Profile(d, options(t, report.Options{Options: o}))
		})
	}
}

// Differences of profiles come in every format.
func TestDifferencesInEveryFormat(t *testing.T) {
	strict, sides := strictDifference(t)
	for name, of := range map[string]struct {
		difference.Document
		Sides
	}{"difference": {strict, sides}, "difference-kernels": {Document: kernelDifference(t)},
		"difference-nothing": {Document: difference.Document{A: "7KQ4", B: "M2X9"}}} {
		rendertest.InEveryFormat(t, name, func(o render.Options) document.Document {
			return Difference(of.Document, of.Sides, options(t, report.Options{Options: o}))
		})
	}
}
