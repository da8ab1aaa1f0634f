package experiment

import (
	"context"

	"headroom/internal/app"
)

// RunOptions are the flags of run.
type RunOptions struct {
	Label       string
	Repeat      int
	Precision   string
	Budget      string
	Order       string
	Seed        uint64
	Size        string
	Set         []string
	AsPublished bool
	Destroy     string
	Sampled     string
	MaxWrites   string
	Resume      string
	Format      string
	DryRun      app.DryRun
	On          []string
	AtOnce      int
	BringFio    string
	Events      EventOptions
}

// DefaultScratch is the size of the scratch file when nobody says otherwise.
const DefaultScratch = 1 << 30

// RunOn measures on one target, which is open.
func RunOn(ctx context.Context, p *app.App, m *Measurement, args []string) error {
	var err error
	if m.Options.Resume != "" {
		err = m.resumeRun(ctx, args)
	} else {
		err = m.Plan(ctx, args)
	}
	if err != nil {
		return err
	}
	defer m.Release()
	m.PrintSummary(ctx)
	if m.Options.DryRun.Asked() {
		return m.PrintPlan()
	}
	return m.Execute(ctx)
}
