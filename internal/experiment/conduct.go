package experiment

import (
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
)

// Measured is how far an experiment came.
type Measured struct {
	runner.Outcome
	// Run is the one that it is resumed by; of several the first.
	Run lab.Run
	// Planned is how many repetitions there were to be; 0 where what is measured decides that.
	Planned int
	// Missing is the error of what could not be measured, where there is a result all the same. That loads failed need
	// not be said here.
	Missing error
	// EndedAfter is how far it came where its budget has ended it: "1 of 2 blocks". Fewer repetitions than were planned
	// say that by themselves.
	EndedAfter string
}

// Request is what a command line asks of an experiment of any kind.
type Request struct {
	Design lab.Design
	// Resume names the run that is resumed; it is empty for a new one, which is made of Args.
	Resume string
	Args   []string
	DryRun app.DryRun
	// Reboots names the hosts that may be restarted, so that one that a killed run left booted can be put right.
	Reboots []string
	// Complete says that a run that is complete can be named as well: to be shown, or to be measured further.
	Complete bool
}

// saved is the run that is resumed; nil for a new one.
func (r Request) saved(s *store.Store) (*store.Bundle, error) {
	if r.Resume == "" {
		return nil, nil
	}
	if len(r.Args) > 0 {
		return nil, app.Usage("--resume takes everything from the run, and not "+r.Args[0], r.Design.Resume(r.Resume))
	}
	b, err := s.FindWhole(r.Resume)
	if err != nil {
		return nil, err
	}
	switch made := b.Run.MadeBy(); {
	case b.Run.Source != lab.Measured:
		return nil, app.Usage(fmt.Sprintf("run %s was not measured here, so it can't be resumed", b.Run.ID))
	case made != r.Design:
		return nil, app.Usage(fmt.Sprintf("run %s was made by headroom %s", b.Run.ID, made.Command()),
			made.Resume(r.Resume))
	case !b.Run.Unfinished() && !r.Complete:
		return nil, app.Usage(fmt.Sprintf("run %s is %s, so there is nothing to resume", b.Run.ID, b.Run.Status),
			"headroom show "+r.Resume+" shows it")
	}
	return b, nil
}

// printKept prints how an experiment that ended early is resumed.
func (m Measured) printKept(p *app.App, s *store.Store) {
	n := len(m.Repetitions)
	if n == 0 {
		return
	}
	kept := prose.Count(n, "repetition") + " are"
	switch {
	case m.Planned > 0:
		kept = fmt.Sprintf("%d of %s are", n, prose.Count(m.Planned, "repetition"))
	case n == 1:
		kept = "1 repetition is"
	}
	fmt.Fprintf(p.Stderr, "%s kept; continue with: %s\n", kept, m.Run.MadeBy().Resume(s.ShortID(m.Run.ID)))
}

// noteEnding prints how far an experiment got that its budget has ended, and notes it in the run. saved is the run if
// it was resumed.
func (m Measured) noteEnding(p *app.App, s *store.Store, saved *store.Bundle) error {
	after := m.EndedAfter
	if n := len(m.Repetitions); after == "" && n < m.Planned && m.Missing == nil {
		after = fmt.Sprintf("%d of %s", n, prose.Count(m.Planned, "repetition"))
	}
	if after != "" {
		p.Print("", "--budget ended it after "+after)
	}
	b, err := saved, error(nil)
	if b == nil && s.Has(m.Run.ID) {
		b, err = s.Find(m.Run.ID)
	}
	if b == nil || err != nil {
		return err
	}
	return s.SetEndedAfter(b, after)
}

// LoadFailed tells a load that failed from what several did together without a sum.
func LoadFailed(r lab.Repetition) bool {
	_, sum := r.Values[lab.StartSkew]
	sum = sum || slices.ContainsFunc(r.Warnings, func(w lab.Warning) bool { return w.Code == "no-sum" })
	return r.Failed() && !sum
}

// failures is the error of an experiment of which some loads failed, whatever is known without them.
func (m Measured) failures(s *store.Store) error {
	if m.Failed == 0 {
		return nil
	}
	var cells []string
	for _, r := range m.Repetitions {
		if LoadFailed(r) && !slices.Contains(cells, r.Cell) {
			cells = append(cells, r.Cell)
		}
	}
	const few = 4
	if n := len(cells); n > few {
		cells = append(cells[:few:few], fmt.Sprintf("%d more", n-few))
	}
	return &lab.Error{What: fmt.Sprintf("%d of %d loads failed: %s", m.Failed, m.Outcome.Measured, prose.List(cells)),
		Hints: []string{"headroom show " + s.ShortID(m.Run.ID) + " --raw shows what they said"}}
}

// NoneMeasured is the error of an experiment of which all loads failed; nil of any other. Where some are left, what
// failed is left out of the result.
func (m Measured) NoneMeasured(s *store.Store) error {
	if m.Failed == 0 || m.Failed < m.Outcome.Measured {
		return nil
	}
	return &lab.Error{What: "all loads failed",
		Hints: []string{"headroom show " + s.ShortID(m.Run.ID) + " --raw shows what fio said"}}
}
