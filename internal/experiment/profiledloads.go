package experiment

import (
	"fmt"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/unit"
)

// ProfiledLoads are the loads of a run that are profiled, as a dry run lists them.
type ProfiledLoads struct {
	// cells of the run; none where nothing is profiled.
	cells []runner.Cell
	// loads of each part of a cell are profiled.
	loads    int
	place    lab.Place
	filename string
}

// ProfiledLoads returns the loads that are profiled.
func (m *Measurement) ProfiledLoads() ProfiledLoads {
	if m.Run.Profile == nil {
		return ProfiledLoads{}
	}
	return ProfiledLoads{m.RunnerMeasurement().Cells, m.Run.Profile.Loads, m.Place(), m.Filename()}
}

// List lists in a dry run what is profiled, and how.
func (p ProfiledLoads) List(l app.Listing) {
	for _, c := range p.cells {
		if !runner.CanProfile(c.Cell) {
			l.Line("%s is not profiled: only loads of fio's are", c.Title)
			continue
		}
		var loads []string
		for _, part := range profile.Parts() {
			loads = append(loads, fmt.Sprintf("%s (%s)", part, howLong(runner.ProfiledCell(c, part).Expected)))
		}
		l.Line("%s, profiled beside its first %s: %s", c.Title, prose.Count(p.loads, "repetition"),
			prose.List(loads))
		l.Commands(p.commandsOf(c)...)
	}
}

// commandsOf returns the commands of the profiled loads of a cell, each once.
func (p ProfiledLoads) commandsOf(c runner.Cell) []string {
	var all []string
	for _, part := range profile.Parts() {
		params := runner.LoadParams(p.place, runner.ProfiledCell(c, part).Params, p.place.Size)
		all = append(all, lab.ShellQuote(fio.Argv(c.Job, params, fio.Options{Filename: p.filename,
			Together: p.place.Members})))
	}
	return slices.Compact(all)
}

// Commands are the commands of all loads that are profiled, each once; none where nothing is.
func (p ProfiledLoads) Commands() []string {
	var all []string
	for _, c := range p.cells {
		if runner.CanProfile(c.Cell) {
			all = append(all, p.commandsOf(c)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// howLong is the time of a load, as far as that is known.
func howLong(d time.Duration) string {
	if d == 0 {
		return "until it ends"
	}
	return unit.Duration(d)
}
