package profiled

import (
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// Profiles come in every format.
func TestProfilesInEveryFormat(t *testing.T) {
	for name, d := range map[string]Document{"profile": guestProfile(t), "profile-refused": refusedProfile(),
		"profile-nothing": {Run: "7KQ4M2X9TD"}} {
		rendertest.InEveryFormat(t, name, func(o render.Options) document.Document {
			return Profile(d, options(t, report.Options{Options: o}))
		})
	}
}

// Differences of profiles come in every format.
func TestDifferencesInEveryFormat(t *testing.T) {
	strict, sides := strictDifference(t)
	isolated, isolatedSides := isolatedDifference(t)
	for name, of := range map[string]struct {
		difference.Document
		Sides
	}{"difference": {strict, sides}, "difference-kernels": {Document: kernelDifference(t)},
		"difference-isolated": {isolated, isolatedSides},
		"difference-waits":    {Document: waitingDifference()},
		"difference-nothing":  {Document: difference.Document{A: "7KQ4", B: "M2X9"}}} {
		rendertest.InEveryFormat(t, name, func(o render.Options) document.Document {
			return Difference(of.Document, of.Sides, options(t, report.Options{Options: o}))
		})
	}
}

// A load that only one side has is named.
func TestDifferenceNamesLoadsOfOneSide(t *testing.T) {
	d, sides := strictDifference(t)
	more := sides.B.Cells[0]
	more.Cell = "randwrite 4k"
	sides.B.Cells = append(slices.Clone(sides.B.Cells), more)
	text := rendertest.Written(t, Difference(d, sides, options(t, report.Options{})), "table", render.Options{})
	if !strings.Contains(text, "! Only B has profiles of randwrite 4k (strict)\n") {
		t.Error(text)
	}
}
