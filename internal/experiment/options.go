package experiment

import (
	"time"

	"github.com/headroom/headroom/internal/app"
)

// RunOptions are the flags of run.
type RunOptions struct {
	Label     string
	Repeat    int
	Precision string
	Budget    string
	// Within is the time limit of a number of repetitions that is fixed beforehand; 0 for none.
	Within      time.Duration
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
	// Report shows the run of an ID when it is measured.
	Report   func(id string) error
	DryRun   app.DryRun
	On       []string
	AtOnce   int
	BringFio string
	Events   EventOptions
	Profile  ProfileOptions
}

// DefaultScratch is the size of the scratch file by default.
const DefaultScratch = 1 << 30
