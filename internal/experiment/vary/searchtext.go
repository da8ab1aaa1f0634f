package vary

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/bisection"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report/varied"
	"github.com/headroom/headroom/internal/runner"
)

// status describes what is known after the last measurement.
func (s *searching) status() string {
	steps := s.state.Steps
	last := steps[len(steps)-1]
	if len(last.Likeliest) == 0 {
		return fmt.Sprintf("measurement %d: %s", last.Number, s.likeliestText())
	}
	return fmt.Sprintf("measurement %d, %s", last.Number, s.likeliestText())
}

// likeliestText names the likeliest candidates at the moment.
func (s *searching) likeliestText() string {
	steps := s.state.Steps
	var parts []string
	for _, l := range steps[len(steps)-1].Likeliest {
		parts = append(parts, fmt.Sprintf("%s %.0f%%", s.candidateText(l), 100*l.Probability))
	}
	if len(parts) == 0 {
		return "nothing stands out yet"
	}
	return "most likely: " + strings.Join(parts, ", ")
}

// candidateText names a candidate in a few words.
func (s *searching) candidateText(c bisection.Suspect) string {
	e := s.sides.under.Run.Experiment
	if e.Steps {
		names := bisection.LevelNames(e.Factors[0].Factor, e.Factors[0].Levels)
		return "from " + names[c.Candidate] + " to " + names[c.Last+1]
	}
	return e.Factors[c.Candidate].Factor
}

// List lists the settings that a search may change. The order of its measurements is decided during the search.
func (s *searching) List(ctx context.Context, l app.Listing) error {
	if s.sides.under.App.JSON {
		return s.sides.under.App.PrintJSON(s.state.Document())
	}
	if f := s.sides.under.Run.Experiment.Factors[0]; s.sides.under.Run.Experiment.Steps {
		if s.sides.under.Run.Experiment.Commits != nil {
			l.Line("every measurement is of one of these commits, which is built the first time")
			l.Line("first the two ends, until it is clear that they differ, and then the most informative commits")
			return s.listMeasurement(ctx, l)
		}
		l.Line("every measurement sets %s to one of %s", f.Factor, strings.Join(levelWords(f.Levels), ", "))
		l.Line("first some of them spread over the series, twice, and then the most informative ones")
		return s.listMeasurement(ctx, l)
	}
	l.Line("every measurement sets each of these to one of two levels, as in the fast state or as in the slow one")
	for _, f := range s.sides.under.Run.Experiment.Factors {
		words := levelWords(f.Levels)
		l.Line("  %s: %s or %s", strings.TrimSuffix(f.Factor, ":"), words[0], words[1])
	}
	var first []string
	for _, e := range s.entering.armSteps(nil, s.sides.arm(slowArm).Levels) {
		first = append(first, e.text)
	}
	l.Line("first the slow state")
	l.Each(first)
	l.Line("then the fast one, both again until it is clear that they differ, and mixtures of the two after that")
	return s.listMeasurement(ctx, l)
}

// listMeasurement ends a dry run with the commands of a measurement, which are the same for all.
func (s *searching) listMeasurement(ctx context.Context, l app.Listing) error {
	if text := s.profilesText(); text != "" {
		l.Line("%s", text)
		l.Commands(s.sides.under.ProfiledLoads().Commands()...)
	}
	if !l.Full {
		return l.End()
	}
	lines := map[string]runner.Lines{}
	for _, side := range s.sides.measurements() {
		if err := experiment.Preview(ctx, side.RunnerMeasurement(), lines); err != nil {
			return err
		}
	}
	l.Line("each measurement carries out")
	for _, c := range s.sides.under.Run.Cells {
		if c.Arm == "" || c.Arm == slowArm {
			l.Commands(slices.Concat(lines[c.ID].Prepare, []string{lines[c.ID].Load}, lines[c.ID].CleanUp)...)
		}
	}
	return nil
}

// stateText describes a state of a search in a few words.
func (s *searching) stateText(arm lab.Arm) string {
	e := s.sides.under.Run.Experiment
	if hash := arm.Levels[commitFactor]; hash != "" {
		return s.commitText(hash)
	}
	if f := e.Factors[0]; e.Steps {
		return bisection.LevelNames(f.Factor, f.Levels)[slices.Index(f.Levels, arm.Levels[f.Factor])]
	}
	var as []string
	for _, f := range e.Factors {
		if arm.Levels[f.Factor] == f.Levels[1] {
			as = append(as, f.Factor)
		}
	}
	if len(as) > maxShownNames {
		return fmt.Sprintf("a mixture with %d of %d as in the slow state", len(as), len(e.Factors))
	}
	return "the fast state with " + strings.Join(as, ", ")
}

// maxShownNames is how many settings of a mixture a line names.
const maxShownNames = 3

// Summarize prints what will be searched.
func (s *searching) Summarize(context.Context) {
	e := s.sides.under.Run.Experiment
	if s.dryRun && s.sides.under.App.JSON {
		return // the steps contain it
	}
	s.sides.printPlace()
	if s.entering.booting.host != nil {
		s.sides.under.App.Print("  ", s.entering.booting.host.text())
	}
	differences := prose.Count(len(e.Factors), "difference") + " between the fast state and the slow one"
	if e.Steps {
		differences = prose.Count(len(e.Factors[0].Levels), "level") + " of " + e.Factors[0].Factor
	}
	if e.Commits != nil {
		differences = s.commitsText()
	}
	if e.Kernels != nil {
		differences = fmt.Sprintf("%s between the builds of two kernels, made of Linux %s in %s",
			prose.Count(len(e.Factors), "difference"), e.Kernels.Release, e.Kernels.Tree)
	}
	text := fmt.Sprintf("%s; %s at most, proof apart", differences, prose.Count(e.Blocks, "measurement"))
	all := s.sides.under.Workload().Time()
	one := experiment.Cost{Time: all / time.Duration(len(s.sides.under.Run.Arms))}
	s.sides.under.App.Print("  ", one.Text(text, "one takes about %s plus changing settings", false))
	if text := s.profilesText(); text != "" {
		s.sides.under.App.Print("  ", text)
	}
	if text := s.priorText(); text != "" {
		s.sides.under.App.Print("  ", text)
	}
	if u := e.Excluded; u != nil {
		s.sides.under.App.Print("  ", varied.ExcludedText(*u))
	}
}

// profilesText describes what a search profiles, without a total since the number of proofs is unknown; empty for
// nothing.
func (s *searching) profilesText() string {
	if s.sides.under.Run.Profile == nil {
		return ""
	}
	loads := len(profile.Parts()) * s.sides.under.Run.Profile.Loads
	return "also profiles " + prose.Count(loads, "load") + " of each cell, at both ends and in each proof"
}

// priorText names the likely candidates before the first measurement; empty if all are equally likely.
func (s *searching) priorText() string {
	var parts []string
	for _, c := range s.state.Expected() {
		parts = append(parts, fmt.Sprintf("%s %.0f%%", s.candidateText(c), 100*c.Probability))
	}
	if len(parts) == 0 {
		return ""
	}
	return "most likely at first, by what is known of them: " + strings.Join(parts, ", ") +
		" (--no-priors forgets that)"
}

// commitText returns a commit with its subject.
func (s *searching) commitText(hash string) string {
	f := s.sides.under.Run.Experiment.Factors[0]
	if i := slices.Index(f.Levels, hash); i >= 0 && i < len(f.Titles) {
		return hash + " (" + f.Titles[i] + ")"
	}
	return hash
}

// commitsText describes the commits of a search.
func (s *searching) commitsText() string {
	e := s.sides.under.Run.Experiment
	text := fmt.Sprintf("%s of %s after %s", prose.Count(len(e.Factors[0].Levels)-1, "commit"), e.Commits.Tree,
		s.commitText(e.Factors[0].Levels[0]))
	if len(e.Commits.Build) > 0 {
		text += ", built with " + lab.ShellQuote(e.Commits.Build)
	}
	return text
}
