package results

import (
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/store"
)

// builder makes the result of a saved run. Without Serials in the options, texts of the run identify no hardware.
type builder func(p *app.App, b *store.Bundle, o report.Options) (ResultDocument, error)

// builderOf returns the builder for the design of a run; nil if the cells of the run are its result.
func builderOf(run lab.Run) builder {
	return map[lab.Design]builder{
		lab.DesignSweep:         sweepResult,
		lab.DesignAblation:      ablationResult,
		lab.DesignBisection:     bisectionResult,
		lab.DesignInterference:  interferenceResult,
		lab.DesignSoak:          soakResult,
		lab.DesignProfile:       profileResult,
		lab.DesignLayers:        layersResult,
		lab.DesignLadder:        ladderResult,
		lab.DesignNetworkLadder: networkLadderResult,
		lab.DesignNFS:           nfsResult,
		lab.DesignLive:          liveResult,
	}[run.MadeBy()]
}

// hasOwnResult reports whether a run is shown by the result of its design. An arm, and a bundle of an older version
// that has one arm, is shown by its cells, and so is a profiling run without profiles.
func hasOwnResult(b *store.Bundle) bool {
	profiled := b.Run.MadeBy() != lab.DesignProfile || b.Profiled()
	return b.Run.Pair == "" && builderOf(b.Run) != nil && profiled
}

// resultOf returns the result of a run, with the commands to type next.
func resultOf(p *app.App, b *store.Bundle, o report.Options) (ResultDocument, error) {
	r, err := builderOf(b.Run)(p, b, o)
	return withMoreOfRun(b, r), err
}

func withMoreOfRun(b *store.Bundle, r ResultDocument) ResultDocument {
	run, build := b.Run, r.Document
	profiled := b.Profiled() && run.MadeBy() != lab.DesignProfile && run.MadeBy() != lab.DesignLive
	r.Document = func(o report.Options) document.Document {
		d := build(o)
		if run.Status == lab.Complete && run.Unfinished() {
			d.Blocks = append(d.Blocks, document.Sentence{Role: document.Note, Text: report.EndedText(run.EndedAfter)})
		}
		more := report.MoreOfRun(run, o)
		if profiled {
			more.Blocks = append(more.Blocks, report.ProfilesOf(run.ID, o))
		}
		d.Blocks = append(d.Blocks, more)
		return d
	}
	return r
}

// ShowRun prints the result of a saved run whose design has a separate result.
func ShowRun(p *app.App, s *store.Store, b *store.Bundle, o DocumentOutput) error {
	r, err := resultOf(p, b, o.Report)
	if err != nil {
		return err
	}
	return ShowResult(p, s, r, o)
}
