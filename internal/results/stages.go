package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/reference"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/staged"
	"github.com/headroom/headroom/internal/stages"
	"github.com/headroom/headroom/internal/store"
)

// StagesOptions are the flags of stages.
type StagesOptions struct {
	Of, Links []string
	Published string
	Result    DocumentOutput
}

// StagesResult returns the result of stages, of one run or of several.
func StagesResult(d stages.Document, runs []lab.Run) ResultDocument {
	return ResultDocument{Published: d, Runs: runs, Document: func(o report.Options) document.Document {
		return staged.Stages(d, o)
	}}
}

// StagesDocument makes the document of a run, and returns the runs that it consists of.
func StagesDocument(p *app.App, b *store.Bundle, o StagesOptions) (stages.Document, []lab.Run, error) {
	run, err := StagedRunOf(p, b)
	if err != nil {
		return stages.Document{}, nil, err
	}
	options := stages.Options{Warnings: run.warnings}
	for _, text := range o.Of {
		a, err := stages.Of(run.Run, text)
		if err != nil {
			return stages.Document{}, nil, err
		}
		options.Against = append(options.Against, a)
	}
	if len(o.Of) == 0 {
		options.Against = againstFewer(stageNames(run.Run))
	}
	if options.Links, err = stageLinks(run.Run, o.Links); err != nil {
		return stages.Document{}, nil, err
	}
	if options.Published, err = ReadPublished(o.Published, reference.BuiltInTables, reference.ParseTables); err != nil {
		return stages.Document{}, nil, err
	}
	d, err := stages.Make(run.Run, run.Measured, options)
	return d, run.parts, err
}

// stageLinks reads --link: for a stage, or for all stages without their own.
func stageLinks(run lab.Run, given []string) (map[string]ceiling.Links, error) {
	const none = "none"
	links := map[string]ceiling.Links{}
	printed := map[string]bool{}
	rest := ""
	for _, text := range given {
		// A rate has no equals sign, but the name of a stage may.
		name, rate := "", text
		if i := strings.LastIndexByte(text, '='); i >= 0 {
			name, rate = strings.TrimSpace(text[:i]), strings.TrimSpace(text[i+1:])
		}
		l, err := ceiling.ParseLinks(rate)
		if err != nil && rate != none {
			return nil, app.Usage("--link "+text+": "+err.Error(), "for example --link 'two paths=2x32Gbit/s'")
		}
		if printed[name] {
			return nil, app.Usage(fmt.Sprintf("--link %s: links of %q were given before", text, name))
		}
		printed[name] = true
		switch {
		case name == "":
			rest = rate
		case rate != none:
			links[name] = l
		}
	}
	names := stageNames(run)
	for name := range printed {
		if name != "" && !slices.Contains(names, name) {
			return nil, app.Usage(fmt.Sprintf("--link: this run has no stage %q", name),
				"it has "+strings.Join(names, ", "))
		}
	}
	if rest == "" || rest == none {
		return links, nil
	}
	for _, name := range names {
		if !printed[name] {
			l, err := ceiling.ParseLinks(rest)
			if err != nil {
				return nil, err
			}
			links[name] = l
		}
	}
	return links, nil
}

func stageNames(run lab.Run) []string {
	var names []string
	for _, a := range run.Arms {
		if name := a.Levels[lab.StageLevel]; name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
