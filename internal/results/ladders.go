package results

import (
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/staged"
	"github.com/headroom/headroom/internal/store"
)

// partsOf returns the arms of a run that are read as runs, and their headers.
func partsOf(p *app.App, b *store.Bundle) (parts []*store.Bundle, runs []lab.Run, err error) {
	s, err := p.OpenStore()
	if err != nil {
		return nil, nil, err
	}
	parts, err = s.Parts(b)
	for _, part := range parts {
		runs = append(runs, part.Run)
	}
	return parts, runs, err
}

func ladderResult(p *app.App, b *store.Bundle, _ report.Options) (ResultDocument, error) {
	parts, runs, err := partsOf(p, b)
	if err != nil {
		return ResultDocument{}, err
	}
	d, err := StorageLadder(parts)
	return ladderDocument(d, runs...), err
}

func networkLadderResult(p *app.App, b *store.Bundle, o report.Options) (ResultDocument, error) {
	s, err := p.OpenStore()
	if err != nil {
		return ResultDocument{}, err
	}
	keep := o.Keep
	if len(keep) == 0 {
		keep = b.Run.Concurrent.Keep
	}
	d, err := NetworkLadder(s, b, keep, o.Beside)
	return ladderDocument(d, b.Run), err
}

func ladderDocument(d ladder.Document, runs ...lab.Run) ResultDocument {
	return ResultDocument{Published: d, Runs: runs, Document: func(o report.Options) document.Document {
		return staged.Ladder(d, o)
	}}
}

func layersResult(p *app.App, b *store.Bundle, _ report.Options) (ResultDocument, error) {
	parts, runs, err := partsOf(p, b)
	if err != nil {
		return ResultDocument{}, err
	}
	d, err := LayersOf(parts)
	return ResultDocument{Published: d, Runs: runs, Document: func(o report.Options) document.Document {
		return staged.Layers(d, o)
	}}, err
}
