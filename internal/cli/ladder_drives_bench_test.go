//go:build bench && system

package cli

import (
	"testing"

	"github.com/headroom/headroom/internal/ladder"
)

// named is the rung that the answer names.
func named(t *testing.T, d ladder.Document) ladder.Rung {
	t.Helper()
	if d.Answer.Rung == nil {
		t.Fatalf("no rung is named: %+v", d.Answer)
	}
	return d.Rungs[*d.Answer.Rung]
}

// Of three drives the one that gets a quarter is named, and not what suffers from it.
func TestLadderNamesASlowDrive(t *testing.T) {
	_, d, drives := slowDrive(t)
	if rung := named(t, d); rung.Name != drives[2] || rung.Kind != ladder.Drive {
		t.Errorf("%s is named, %s is slow", rung.Name, drives[2])
	}
}

// What six parts of a device share is named. It is a sixth, so that loads that start apart, and which have the device
// for themselves at first, stay far from what would do.
func TestLadderNamesWhatDrivesShare(t *testing.T) {
	_, d, _, _ := sharedDrive(t)
	if rung := named(t, d); rung.Kind != ladder.DriveGroup || len(rung.Places) != 6 {
		t.Errorf("%s is named", rung.Name)
	}
}

// A device over another is named where it is slowed, and nothing where it is not.
func TestLadderNamesASlowVolume(t *testing.T) {
	_, d, _, upper := volume(t, 4)
	if rung := named(t, d); rung.Name != upper || rung.Kind != ladder.Volume {
		t.Errorf("%s is named, %s is slow", rung.Name, upper)
	}
	if _, d, _, _ = volume(t, 16); d.Answer.Rung != nil {
		t.Errorf("nothing is slow, and %+v", d.Answer)
	}
}
