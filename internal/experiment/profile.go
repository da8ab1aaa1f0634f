package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
)

// ProfileOptions are the flags of profiled loads.
type ProfileOptions struct {
	// Loads of each part that are profiled, of each cell in each arm; 0 for none.
	Loads int
	// Hz is how many samples a second are taken of each CPU.
	Hz int
	// Recorder is the headroom that is copied to the target; empty for this one.
	Recorder string
}

// The samples a second, by default, and at most.
const (
	DefaultHz = 99
	maxHz     = 10_000
)

// DefaultProfiles are the loads of each part that --profile means.
const DefaultProfiles = 3

// terms are what a header records of it; nil where nothing is profiled.
func (o ProfileOptions) terms() (*lab.ProfileTerms, error) {
	if o.Loads == 0 {
		return nil, nil
	}
	t := &lab.ProfileTerms{Loads: o.Loads, Hz: cmp.Or(o.Hz, DefaultHz)}
	if t.Hz < 1 || t.Hz > maxHz {
		return nil, app.Usage(fmt.Sprintf("--profile-hz %d is no rate of samples", o.Hz),
			fmt.Sprintf("from 1 to %d; %d costs next to nothing", maxHz, DefaultHz))
	}
	return t, nil
}

// RefuseOnSeveral refuses to profile what several targets do together: of each other's loads recorders know nothing.
func (o ProfileOptions) RefuseOnSeveral(what string) error {
	if o.Loads == 0 {
		return nil
	}
	return app.Usage("--profile profiles loads of storage on one target, and not "+what,
		"profile each by itself: headroom profile SUITE PLACE --on TARGET")
}

// profileTerms are what the header of a new run records of profiled loads; nil where nothing is profiled.
func (o RunOptions) profileTerms() (*lab.ProfileTerms, error) {
	t, err := o.Profile.terms()
	if t != nil && len(o.Events.Events) > 0 {
		return nil, app.Usage("--profile is of loads in peace, and --event disturbs them", "do one after the other")
	}
	return t, err
}

// profiling is what the runner records; nil for nothing.
func (m *Measurement) profiling() *runner.Profiling {
	if m.Run.Profile == nil {
		return nil
	}
	return &runner.Profiling{ProfileTerms: *m.Run.Profile, Recorder: m.programs().bringRecorder, Kept: m.profiled,
		Only: m.ProfileOnly}
}

// profiledIn counts the loads of each cell that were profiled in b.
func profiledIn(b *store.Bundle) (map[runner.ProfiledPart]int, error) {
	n := map[runner.ProfiledPart]int{}
	for l, err := range b.Profiles() {
		if err != nil {
			return nil, err
		}
		n[runner.ProfiledPart{Cell: l.Cell, Part: l.Part}]++
	}
	return n, nil
}

// ProfilesText returns how many loads are profiled: "profiles 12 loads more"; empty for none.
func ProfilesText(all ...*Measurement) string {
	loads := 0
	for _, m := range all {
		loads += m.Workload().profiles()
	}
	return profilesText(loads)
}

func profilesText(loads int) string {
	if loads == 0 {
		return ""
	}
	return "profiles " + prose.Count(loads, "load") + " more"
}

// ProfilesTime is how long those take, as far as that is known.
func ProfilesTime(all ...*Measurement) time.Duration {
	takes := time.Duration(0)
	for _, m := range all {
		takes += m.Workload().profilesTime()
	}
	return takes
}

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
