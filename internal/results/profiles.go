package results

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/profile/layer"
	"github.com/headroom/headroom/internal/profile/stacks"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/profiled"
	"github.com/headroom/headroom/internal/store"
)

// ProfileOptions are the options of a report on profiles.
type ProfileOptions struct {
	Result DocumentOutput
	// Cells are names of cells, or parts of them; none means all.
	Cells []string
	// Functions is how many functions are listed of each cell; 0 means all.
	Functions int
}

// stackFormat is a format for programs that draw sampled stacks.
type stackFormat struct {
	OutputFormat
	write func(w io.Writer, name string, sets []stacks.Set) error
}

func stackFormats() []stackFormat {
	return []stackFormat{
		{OutputFormat{Name: "folded", Suffix: ".folded"}, func(w io.Writer, _ string, sets []stacks.Set) error {
			return stacks.Folded(w, sets)
		}},
		{OutputFormat{Name: "pprof", Suffix: ".gz"}, func(w io.Writer, _ string, sets []stacks.Set) error {
			return stacks.Pprof(w, sets)
		}},
		{OutputFormat{Name: "speedscope", Suffix: ".speedscope"}, stacks.Speedscope},
	}
}

// StackFormats returns the formats of sampled stacks.
func StackFormats() []OutputFormat {
	var list []OutputFormat
	for _, f := range stackFormats() {
		list = append(list, f.OutputFormat)
	}
	return list
}

// ShowProfiles shows the profiled loads of a run, or of one arm of it: RUN:ARM.
func ShowProfiles(p *app.App, ref string, o ProfileOptions) error {
	if _, _, err := o.Result.Formats(p.JSON); err != nil {
		return err
	}
	s, err := p.OpenStore()
	if err != nil {
		return err
	}
	side, err := profilesOf(s, ref, o.Cells)
	if err != nil {
		return err
	}
	if done, err := writeStacks(p, side.breakdown, o.Result); done || err != nil {
		return err
	}
	result, err := side.document(o.Functions)
	if err != nil {
		return err
	}
	return ShowResult(p, s, result, o.Result)
}

// writeStacks writes or prints stacks if one of their formats is requested.
func writeStacks(p *app.App, d profiled.Document, o DocumentOutput) (done bool, err error) {
	file, printed, err := o.Formats(p.JSON)
	if err != nil {
		return true, err
	}
	all := stackFormats()
	i := slices.IndexFunc(all, func(f stackFormat) bool { return f.Name == cmp.Or(file, printed) })
	if i < 0 {
		return false, nil
	}
	var sets []stacks.Set
	for _, c := range d.Cells {
		if len(c.Stacks.Stacks) > 0 {
			sets = append(sets, c.Stacks)
		}
	}
	if len(sets) == 0 {
		return true, &lab.Error{What: "no stacks were sampled in " + d.Run,
			Hints: []string{"headroom profile show " + d.Run + " says why"}}
	}
	write := func(w io.Writer) error { return all[i].write(w, "headroom "+d.Run, sets) }
	switch {
	case file != "":
		return true, p.WriteOutput(context.Background(), o.Output, write)
	case all[i].Name != "pprof":
		return true, write(p.Stdout)
	case app.Columns(p.Stdout) > 0:
		return true, app.Usage("a file of pprof is not for a terminal", "name a file: -o FILE.pb.gz")
	}
	return true, write(p.RawStdout)
}

// profiledRun has the profiled loads of a run, or of an arm of it.
type profiledRun struct {
	// name is the requested name, with the short ID of the run.
	name      string
	run       lab.Run
	costs     []cost.Profile
	breakdown profiled.Document
}

// profilesOf finds a run, or an arm of one, and computes the costs of its I/Os. It keeps only cells whose names have
// one of the parts.
func profilesOf(s *store.Store, ref string, cells []string) (profiledRun, error) {
	b, arm, err := findProfiled(s, ref)
	if err != nil {
		return profiledRun{}, err
	}
	found, err := profilesIn(b, arm, cells)
	found.name = s.ShortID(b.Run.ID)
	if arm != "" {
		found.name += ":" + arm
	}
	return found, err
}

// profileResult returns the result of a run that was measured for its profile.
func profileResult(_ *app.App, b *store.Bundle, _ report.Options) (ResultDocument, error) {
	return Profile(b)
}

// Profile returns the costs of each I/O of a run, or of an arm of it, in its profiled loads.
func Profile(b *store.Bundle) (ResultDocument, error) {
	found, err := profilesIn(b, b.Arm(), nil)
	if err != nil {
		return ResultDocument{}, err
	}
	return found.document(profiled.ShownFunctions)
}

// document shows a number of functions of each cell; 0 means all.
func (r profiledRun) document(functions int) (ResultDocument, error) {
	layers, err := layer.Load()
	return ResultDocument{Published: r.breakdown, Runs: []lab.Run{r.run},
		Document: func(shown report.Options) document.Document {
			return profiled.Profile(r.breakdown, profiled.Options{Options: shown, Functions: functions, Layers: layers})
		}}, err
}

// profilesIn computes the costs of the I/Os of a run, or of an arm of it.
func profilesIn(b *store.Bundle, arm string, cells []string) (profiledRun, error) {
	run := b.Run
	found := profiledRun{run: run}
	loads, err := profiledLoads(b, arm, cells)
	if err != nil {
		return found, err
	}
	measured, err := measuredBeside(b)
	if err != nil {
		return found, err
	}
	found.costs, err = cost.Of(loads, cost.Options{Measured: measured, Deciding: decidingOf(run, measured),
		Emulated: len(emulated(run)) > 0})
	if err != nil {
		return found, err
	}
	found.breakdown = profiled.Document{Schema: profiled.Schema, Run: run.ID, Warnings: profileWarnings(run)}
	for i, g := range profiled.Groups(loads) {
		c := &found.costs[i]
		c.Cell, c.Arm = strings.TrimSuffix(c.Cell, lab.CellIn("", c.Arm)), armName(run, c.Arm)
		found.breakdown.Cells = append(found.breakdown.Cells, profiled.CellOf(g, *c))
	}
	return found, nil
}

// findProfiled finds a run, and its arm that follows a colon in a name. It also finds an arm without a separate target,
// by its ID or by a level.
func findProfiled(s *store.Store, ref string) (*store.Bundle, string, error) {
	b, err := s.Find(ref)
	if err == nil {
		return b.Whole(), b.Arm(), nil
	}
	name, arm := lab.CutArm(ref)
	if name == "" {
		return nil, "", err
	}
	whole, wholeErr := s.Find(name)
	if wholeErr != nil {
		return nil, "", err
	}
	var known []string
	for _, a := range whole.Run.Arms {
		levels := slices.Collect(maps.Values(a.Levels))
		if a.ID == arm || slices.Contains(levels, arm) || armName(whole.Run, a.ID) == arm {
			return whole, a.ID, nil
		}
		known = append(known, armName(whole.Run, a.ID))
	}
	return nil, "", &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("run %s has no arm %q", whole.Run.ID, arm),
		Hints: []string{"it has " + strings.Join(known, ", ")}}
}

// armName returns the name of an arm: its ID, or its levels if the ID is a number. It is empty for the only arm.
func armName(run lab.Run, id string) string {
	if len(run.Arms) < 2 {
		return ""
	}
	for _, a := range run.Arms {
		if a.ID != id || strings.Trim(id, "0123456789") != "" {
			continue
		}
		var levels []string
		for _, name := range slices.Sorted(maps.Keys(a.Levels)) {
			levels = append(levels, name+"="+a.Levels[name])
		}
		return cmp.Or(strings.Join(levels, " "), id)
	}
	return id
}

// profiledLoads returns the profiled loads of a run, or of an arm of it, selected by names of cells without arms.
func profiledLoads(b *store.Bundle, arm string, cells []string) ([]profile.Load, error) {
	var loads []profile.Load
	var known []string
	any := false
	for l, err := range b.Profiles() {
		if err != nil {
			return nil, err
		}
		if arm != "" && l.Arm != arm {
			continue
		}
		any = true
		cell := strings.TrimSuffix(l.Cell, lab.CellIn("", l.Arm))
		if !slices.Contains(known, cell) {
			known = append(known, cell)
		}
		if len(cells) > 0 && !slices.ContainsFunc(cells, func(part string) bool {
			return strings.Contains(cell, part)
		}) {
			continue
		}
		loads = append(loads, l)
	}
	id := b.Run.ID
	switch {
	case !any:
		return nil, &lab.Error{Kind: lab.Usage, What: "run " + id + " has no profiled loads",
			Hints: []string{"measure it with --profile", "headroom profile SUITE PLACE makes a profile"}}
	case len(loads) == 0:
		return nil, app.Usage("no profiled load of "+id+" is of a cell "+strings.Join(cells, " or "),
			"there are "+strings.Join(known, ", "))
	}
	return loads, nil
}

// measuredBeside returns the repetitions of a run that were not profiled.
func measuredBeside(b *store.Bundle) ([]cost.Measured, error) {
	var all []cost.Measured
	err := b.Run.Read(b.Repetitions(), func(c lab.Cell, r lab.Repetition) error {
		all = append(all, cost.Measured{Cell: r.Cell, Arm: c.Arm, Number: r.Number, Values: r.Values})
		return nil
	})
	return all, err
}

// decidingOf returns a function for the deciding metric of a cell; empty if nothing was measured.
func decidingOf(run lab.Run, measured []cost.Measured) func(cell string) string {
	return func(cell string) string {
		c := slices.IndexFunc(run.Cells, func(c lab.Cell) bool { return c.ID == cell })
		m := slices.IndexFunc(measured, func(m cost.Measured) bool { return m.Cell == cell })
		if c < 0 || m < 0 {
			return ""
		}
		for _, metric := range lab.Deciding(run.Cells[c].Metrics, run.Cells[c].Params, measured[m].Values) {
			return metric
		}
		return ""
	}
}

// emulated returns the roles of the targets of a run whose CPU is emulated by a program.
func emulated(run lab.Run) (roles []string) {
	for _, t := range run.Targets {
		if slices.ContainsFunc(t.Facts, func(f lab.Fact) bool { return f.Key == "vm.emulated" && f.Value == "on" }) {
			roles = append(roles, t.Role)
		}
	}
	return roles
}

// profileWarnings returns the warnings about the times of a run.
func profileWarnings(run lab.Run) []lab.Warning {
	roles := emulated(run)
	switch {
	case len(roles) == 0:
		return nil
	case len(run.Targets) == 1:
		roles = []string{"this guest"}
	}
	return []lab.Warning{{Code: profiled.EmulatedGuest, Text: "a program emulates the CPU of " + prose.List(roles) +
		": compare times only with one another, not with times of hardware. Calls per I/O are right"}}
}
