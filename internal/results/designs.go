package results

import (
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/store"
)

// builder makes what was found of a saved run. Without Serials of the options texts of the run name no piece of
// hardware.
type builder func(p *app.App, b *store.Bundle, o report.Options) (ResultDocument, error)

// builderOf is the one for the design that a run was measured for; nil where the cells of the run are its result.
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

// hasOwnResult says whether a run is shown as what its design found. An arm, and a bundle in which older versions kept
// one, is shown by its cells, and so is a run of which nothing could be profiled.
func hasOwnResult(b *store.Bundle) bool {
	profiled := b.Run.MadeBy() != lab.DesignProfile || b.Profiled()
	return b.Run.Pair == "" && builderOf(b.Run) != nil && profiled
}

// resultOf is what was found of a run, with what to type next.
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

// ShowRun shows what was found of a saved run whose design has a result of its own.
func ShowRun(p *app.App, s *store.Store, b *store.Bundle, o DocumentOutput) error {
	r, err := resultOf(p, b, o.Report)
	if err != nil {
		return err
	}
	return ShowResult(p, s, r, o)
}
