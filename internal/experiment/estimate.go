package experiment

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// estimate is what the run costs: loads, time, bytes written to a drive of the target.
func (w Workload) estimate(ctx context.Context, t host.Target) []string {
	cells := w.SuiteCells()
	place := w.place()
	parts := []string{prose.Count(len(cells), "cell"), prose.Count(w.Planned()-len(w.Saved), "load")}
	profiles := profilesText(w.profiles())
	if profiles != "" {
		parts = append(parts, profiles)
	}
	if takes := w.Time(); takes > 0 {
		parts = append(parts, "about "+unit.Duration(takes+w.profilesTime()))
	}
	writes := w.Writes(w.withProfiles(cells))
	if w.Run.Anytime {
		parts = w.adaptiveEstimate()
		if profiles != "" {
			parts = append(parts, profiles+", which takes "+unit.Duration(w.profilesTime()))
		}
		writes = w.writesAtMost(cells)
	}
	if place.Kind == lab.NoPlace {
		return parts
	}
	text := "writes " + WrittenText(writes, w.Run.Anytime)
	if place.Kind == lab.Device && writes.Total()+float64(len(writes.Unbounded)) > 0 {
		text += wear(ctx, t, place.Disks, writes)
	}
	return append(parts, text)
}

// describeDirectory returns what the place lies on, and what is made there.
func (w Workload) describeDirectory() string {
	place := w.place()
	text := place.Filesystem
	if len(place.Disks) > 0 {
		text += " on " + strings.Join(place.Disks, ", ")
	}
	var made []string
	if w.laidOut {
		return text + "; the scratch file that lies there already"
	}
	if place.Size > 0 {
		made = append(made, "a scratch file of "+unit.Bytes(float64(place.Size)))
	}
	if slices.ContainsFunc(w.Run.Cells, func(c lab.Cell) bool { return c.Command != nil }) {
		made = append(made, "a folder for what commands write")
	}
	return fmt.Sprintf("%s; %s, removed at the end", text, strings.Join(made, " and "))
}

// wear returns how much of a drive's life is used and how much of it the run takes, if the drive reports that.
func wear(ctx context.Context, t host.Target, disks []string, writes suite.Writes) string {
	if len(disks) == 0 {
		return ""
	}
	w := storage.Endurance(ctx, t, disks[0])
	if w.Unknown != "" {
		return "; its wear is unknown"
	}
	text := fmt.Sprintf("; %s of its rated life is used", unit.Percent(w.Used))
	if w.Rated > 0 {
		about := "about"
		if writes.InTime > 0 {
			about = "at most"
		}
		text += fmt.Sprintf(", and this is %s %s of it", about, unit.Percent(writes.Total()/float64(w.Rated)))
	}
	return text
}
