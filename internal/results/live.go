package results

import (
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/store"
)

// ShowLive compares the sides of a live comparison as CompareRuns does.
func ShowLive(p *app.App, s *store.Store, b *store.Bundle, o CompareOptions) error {
	r, err := liveResultBy(p, b, o)
	if err != nil {
		return err
	}
	return o.showComparison(p, s, withMoreOfRun(b, r))
}

func liveResult(p *app.App, b *store.Bundle, o report.Options) (ResultDocument, error) {
	return liveResultBy(p, b, CompareOptions{Result: DocumentOutput{Report: o}})
}

// liveResultBy compares the sides of a live comparison by the metrics that decided.
func liveResultBy(p *app.App, b *store.Bundle, o CompareOptions) (ResultDocument, error) {
	s, err := p.OpenStore()
	if err != nil {
		return ResultDocument{}, err
	}
	parts, err := s.Parts(b)
	if err != nil {
		return ResultDocument{}, err
	}
	var sides []comparedSide
	for _, part := range parts {
		side := comparedSide{ref: part.Run.ID, bundle: part}
		if part.Arm() != "" && !s.Has(part.Run.ID) {
			side.ref = part.Whole().Dir() + ":" + part.Arm()
		}
		sides = append(sides, side)
	}
	o.Metrics, o.Margins, o.Alpha = nil, nil, compare.DefaultAlpha // the terms have them
	return comparisonResult(p, sides, o, true)
}

// NameSides names two arms of one run, such as the sides of a live comparison, by their difference, if labels do not
// distinguish them.
func NameSides(runs []compare.Run) {
	if len(runs) != 2 || runs[0].Pair == "" || runs[0].Pair != runs[1].Pair || runs[0].Label != runs[1].Label {
		return
	}
	place := func(r compare.Run) string {
		if len(r.Targets) == 0 {
			return ""
		}
		return r.Targets[0].Place.Path
	}
	a, b := runs[0], runs[1]
	_, armA := lab.CutArm(a.ID)
	_, armB := lab.CutArm(b.ID)
	switch {
	case a.ID == b.ID:
	case place(a) != place(b) && a.Suite == b.Suite:
		runs[0].Name, runs[1].Name = place(a), place(b)
	case place(a) == place(b) && a.Suite != b.Suite:
		runs[0].Name, runs[1].Name = a.Suite, b.Suite
	case armA != "":
		runs[0].Name, runs[1].Name = armA, armB
	case a.ID == a.Pair: // older versions
		runs[0].Name, runs[1].Name = "base", "new"
	}
}
