package results

import (
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/staged"
	"github.com/headroom/headroom/internal/soak"
	"github.com/headroom/headroom/internal/store"
)

func soakResult(_ *app.App, b *store.Bundle, _ report.Options) (ResultDocument, error) {
	all, found, err := app.ReadMeasured(b)
	if err != nil {
		return ResultDocument{}, err
	}
	warnings := []lab.CountedWarning{}
	for _, w := range found {
		warnings = append(warnings, w.CountedWarning)
	}
	d := soak.Analyse(b.Run, all, warnings)
	return ResultDocument{Published: d, Runs: []lab.Run{b.Run}, Document: func(o report.Options) document.Document {
		return staged.Soak(d, o)
	}}, nil
}
