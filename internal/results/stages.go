package results

import (
	"cmp"
	"fmt"
	"iter"
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

// StagedRun is a run with stages: a run that has several, or the runs of stages that were measured one after the other
// (headroom nfs) as one.
type StagedRun struct {
	lab.Run
	Measured iter.Seq2[lab.Repetition, error]
	warnings []lab.CellWarning
	// parts are the runs of the stages.
	parts []lab.Run
}

// StagedRunOf reads the stages of a run, or of the runs to which it belongs.
func StagedRunOf(p *app.App, b *store.Bundle) (StagedRun, error) {
	parts := []*store.Bundle{b}
	if (b.Run.Pair != "" || b.Run.MadeBy() == lab.DesignNFS) && len(stageNames(b.Run)) > 0 {
		s, err := p.OpenStore()
		if err != nil {
			return StagedRun{}, err
		}
		if parts, err = s.Parts(b); err != nil {
			return StagedRun{}, err
		}
	}
	if len(parts) < 2 {
		found, err := stageWarnings(b, func(cell string) string { return cell })
		return StagedRun{b.Run, b.Repetitions(), found, []lab.Run{b.Run}}, err
	}
	whole := StagedRun{Run: parts[0].Run, Measured: func(yield func(lab.Repetition, error) bool) {
		for i, part := range parts {
			for rep, err := range part.Repetitions() {
				rep.Cell = app.PartCell(i, rep.Cell)
				rep.Block, rep.Position = 0, 0 // blocks of different stages are not the same
				if !yield(rep, err) {
					return
				}
			}
		}
	}}
	whole.Arms, whole.Cells, whole.Stages = nil, nil, nil
	for i, part := range parts {
		whole.parts = append(whole.parts, part.Run)
		for _, a := range part.Run.Arms {
			a.ID = app.PartCell(i, a.ID)
			whole.Arms = append(whole.Arms, a)
		}
		for _, c := range part.Run.Cells {
			c.ID, c.Arm = app.PartCell(i, c.ID), app.PartCell(i, c.Arm)
			whole.Cells = append(whole.Cells, c)
		}
	}
	var err error
	whole.warnings, err = warningsOfParts(parts)
	return whole, err
}

// warningsOfParts returns the warnings of all stages, each of which is a separate run. A warning about one whole run
// becomes a warning about each of its cells; a warning that all runs share is about everything.
func warningsOfParts(parts []*store.Bundle) ([]lab.CellWarning, error) {
	var all [][]lab.CellWarning
	for i, part := range parts {
		found, err := stageWarnings(part, func(cell string) string { return app.PartCell(i, cell) })
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	var list []lab.CellWarning
	for i, found := range all {
		for _, w := range found {
			same := func(o lab.CellWarning) bool { return o.Cell == "" && o.Code == w.Code && o.Text == w.Text }
			switch {
			case w.Cell != "":
				list = append(list, w)
			case !slices.ContainsFunc(all, func(of []lab.CellWarning) bool { return !slices.ContainsFunc(of, same) }):
				if !slices.ContainsFunc(list, same) {
					list = append(list, w)
				}
			default:
				for _, c := range parts[i].Run.Cells {
					w.Cell = app.PartCell(i, c.ID)
					list = append(list, w)
				}
			}
		}
	}
	return list, nil
}

func stageWarnings(b *store.Bundle, named func(cell string) string) ([]lab.CellWarning, error) {
	known, err := app.WarningsOf(b)
	for i := range known {
		known[i].Cell = named(known[i].Cell)
	}
	return known, err
}

// againstFewer compares each stage of an NFS server with a stage that has less of one thing: more paths with one, RDMA
// with TCP over as many, a guest with the mount that stores its disk. It returns none for other stages.
func againstFewer(names []string) []stages.Against {
	called := func(prefix string) string {
		i := slices.IndexFunc(names, func(n string) bool {
			return strings.HasPrefix(n, prefix) && !strings.HasSuffix(n, app.InsideGuest)
		})
		if i < 0 {
			return ""
		}
		return names[i]
	}
	tcp, tcps, rdma, rdmas := called("TCP single path"), called("TCP multipath"), called("RDMA single path"),
		called("RDMA multipath")
	var all []stages.Against
	for _, n := range names {
		if mount, inside := strings.CutSuffix(n, app.InsideGuest); inside && slices.Contains(names, mount) {
			all = append(all, stages.Against{Stage: n, Of: mount})
		}
	}
	for _, a := range []stages.Against{{Stage: tcps, Of: tcp}, {Stage: rdma, Of: tcp},
		{Stage: rdmas, Of: cmp.Or(tcps, rdma)}} {
		if a.Stage != "" && a.Of != "" {
			all = append(all, a)
		}
	}
	return all
}
