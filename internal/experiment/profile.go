package experiment

import (
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/runner/recorder"
	"github.com/headroom/headroom/internal/runner/workspace"
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

// planProfiles notes in the header of a new run what is profiled of it.
func (m *Measurement) planProfiles() (err error) {
	if m.Run.Profile, err = m.Options.Profile.terms(); err != nil || m.Run.Profile == nil {
		return err
	}
	if len(m.Options.Events.Events) > 0 {
		return app.Usage("--profile is of loads in peace, and --event disturbs them", "do one after the other")
	}
	return nil
}

// profiling is what the runner records; nil for nothing.
func (m *Measurement) profiling() *runner.Profiling {
	if m.Run.Profile == nil {
		return nil
	}
	return &runner.Profiling{ProfileTerms: *m.Run.Profile, Recorder: m.bringRecorder, Kept: m.profiled,
		Only: m.ProfileOnly}
}

// readProfiled counts what earlier parts of a run have profiled.
func (m *Measurement) readProfiled(b *store.Bundle) error {
	m.profiled = map[runner.ProfiledPart]int{}
	if m.Run.Profile == nil {
		return nil
	}
	for l, err := range b.Profiles() {
		if err != nil {
			return err
		}
		m.profiled[runner.ProfiledPart{Cell: l.Cell, Part: l.Part}]++
	}
	return nil
}

// ListProfiles lists in a dry run what is profiled, and how.
func (m *Measurement) ListProfiles(l app.Listing) {
	if m.Run.Profile == nil {
		return
	}
	for _, c := range m.RunnerMeasurement().Cells {
		if !runner.CanProfile(c.Cell) {
			l.Line("%s is not profiled: only loads of fio's are", c.Title)
			continue
		}
		var loads []string
		for _, part := range profile.Parts() {
			loads = append(loads, fmt.Sprintf("%s (%s)", part, howLong(runner.ProfiledCell(c, part).Expected)))
		}
		l.Line("%s, profiled beside its first %s: %s", c.Title, prose.Count(m.Run.Profile.Loads, "repetition"),
			prose.List(loads))
		l.Commands(m.profiledCommands(c)...)
	}
}

// profiledCommands returns the commands of the profiled loads of a cell, each once.
func (m *Measurement) profiledCommands(c runner.Cell) []string {
	var all []string
	for _, part := range profile.Parts() {
		params := runner.LoadParams(m.Place(), runner.ProfiledCell(c, part).Params, m.Place().Size)
		all = append(all, lab.ShellQuote(fio.Argv(c.Job, params, fio.Options{Filename: m.Filename(),
			Together: m.Place().Members})))
	}
	return slices.Compact(all)
}

// ProfiledCommands are the commands of all loads that are profiled, each once; none where nothing is.
func (m *Measurement) ProfiledCommands() []string {
	var all []string
	if m.Run.Profile == nil {
		return nil
	}
	for _, c := range m.RunnerMeasurement().Cells {
		if runner.CanProfile(c.Cell) {
			all = append(all, m.profiledCommands(c)...)
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

// bringRecorder has the program that records on the target, and returns its path there: this one, which is copied to
// other machines.
func (m *Measurement) bringRecorder(ctx context.Context) (string, error) {
	name, err := m.recorderHere()
	if err != nil {
		return "", err
	}
	if err := m.fitsProcessor(name); err != nil {
		return "", err
	}
	r, ok := m.Target.(host.Receiver)
	if host.IsLocal(m.Target) || !ok {
		return name, nil
	}
	data, err := app.ReadProgram(name)
	if err != nil {
		return "", err
	}
	return r.Receive(ctx, workspace.BroughtJob(m.Run.ID)+"/"+recorder.File, data, 0o700)
}

// recorderHere is the recorder's file on this machine.
func (m *Measurement) recorderHere() (string, error) {
	if m.Options.Profile.Recorder != "" {
		return m.Options.Profile.Recorder, nil
	}
	if m.App.Executable == nil {
		return "", errors.New("this program's own file can't be found: name a headroom with --recorder PATH")
	}
	return m.App.Executable()
}

// fitsProcessor refuses a recorder that is for another processor than the target's, as far as that is known.
func (m *Measurement) fitsProcessor(name string) error {
	f, err := elf.Open(name)
	if os.IsNotExist(err) || os.IsPermission(err) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s is no program for Linux, and records nothing: name one with --recorder PATH", name)
	}
	defer f.Close()
	is := map[elf.Machine]string{elf.EM_X86_64: "x86_64", elf.EM_AARCH64: "aarch64", elf.EM_S390: "s390x",
		elf.EM_RISCV: "riscv64", elf.EM_PPC64: "ppc64le"}[f.Machine]
	for _, fact := range m.Run.Targets[0].Facts {
		if fact.Key == "kernel.arch" && fact.Value != "" && fact.Value != is {
			return fmt.Errorf("the machine is %s, and %s is for %s: name a headroom for %s with --recorder PATH",
				fact.Value, name, cmp.Or(is, f.Machine.String()), fact.Value)
		}
	}
	return nil
}
