package profiled

import (
	"testing"

	"headroom/internal/document"
	"headroom/internal/profile/breakdown"
	"headroom/internal/render"
	"headroom/internal/render/rendertest"
	"headroom/internal/report"
)

// Profiles come in every format.
func TestProfilesInEveryFormat(t *testing.T) {
	for name, d := range map[string]breakdown.Document{"profile": guestProfile(), "profile-refused": refusedProfile(),
		"profile-nothing": {Run: "7KQ4M2X9TD"}} {
		rendertest.InEveryFormat(t, name, func(o render.Options) document.Document {
			return Profile(d, options(t, report.Options{Options: o}))
		})
	}
}
