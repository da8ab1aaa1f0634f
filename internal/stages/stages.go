package stages

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/reference"
)

// Options of the tables.
type Options struct {
	// Against lists which stage is compared with which; nil compares each with the one before it.
	Against []Against
	// Links that the loads of a stage went through, by its name; a stage without has none that is known.
	Links map[string]ceiling.Links
	// Published tables to compare with what was measured.
	Published []reference.Table
	// Warnings that the run has already.
	Warnings []lab.CellWarning
}

// confidence of the interval of an efficiency, each by itself.
const confidence = 0.95

// Make makes the tables of a run.
func Make(run lab.Run, repetitions iter.Seq2[lab.Repetition, error], o Options) (Document, error) {
	d := Document{Schema: Schema, Run: run.ID, Rows: []Row{}, Findings: []Finding{}, Notes: []string{}}
	d.Stages = stagesOf(run, o.Links)
	if len(d.Stages) == 0 {
		return d, &lab.Error{Kind: lab.Usage, What: "this run has no stages",
			Hints: []string{"name them when you import: headroom import --stage NAME=FILE --stage NAME=FILE",
				"or, of one page, in its order: headroom import --stages NAME,NAME FILE"}}
	}
	if err := d.setAgainst(o.Against); err != nil {
		return d, err
	}
	for name := range o.Links {
		if d.stage(name) < 0 {
			return d, d.noStage(name)
		}
	}
	g, err := gather(run, repetitions, o.Links)
	if err != nil {
		return d, err
	}
	d.addRows(run, g)
	d.group()
	d.setEfficiencies()
	d.addWarnings(o.Warnings)
	d.addFound(g)
	d.addUnlike()
	d.addWrites()
	d.publish(o.Published)
	d.setCodes()
	return d, nil
}

// Of reads "A/B", stage A compared with stage B, of a run's stages. Their names can contain slashes.
func Of(run lab.Run, text string) (Against, error) {
	d := Document{Stages: stagesOf(run, nil)}
	for i := range len(text) {
		if text[i] != '/' {
			continue
		}
		a := Against{Stage: strings.TrimSpace(text[:i]), Of: strings.TrimSpace(text[i+1:])}
		if d.stage(a.Stage) >= 0 && d.stage(a.Of) >= 0 && a.Stage != a.Of {
			return a, nil
		}
	}
	return Against{}, &lab.Error{Kind: lab.Usage,
		What:  fmt.Sprintf("%q does not hold one stage of this run against another", text),
		Hints: []string{"write STAGE/OTHER, of " + d.stageNames()}}
}

// stagesOf are the stages of a run in their order.
func stagesOf(run lab.Run, links map[string]ceiling.Links) []Stage {
	var all []Stage
	add := func(s lab.Stage) {
		if s.Name == "" || slices.ContainsFunc(all, func(o Stage) bool { return o.Name == s.Name }) {
			return
		}
		stage := Stage{Stage: s}
		if l, ok := links[s.Name]; ok {
			stage.Links, stage.Rate = l.String(), float64(l.N)*l.Rate
		}
		all = append(all, stage)
	}
	for _, s := range run.Stages {
		add(s)
	}
	for _, a := range run.Arms {
		add(lab.Stage{Name: a.Levels[lab.StageLevel]})
	}
	return all
}

// stage is the place of a stage, -1 where there is none of that name.
func (d *Document) stage(name string) int {
	return slices.IndexFunc(d.Stages, func(s Stage) bool { return s.Name == name })
}

func (d *Document) stageNames() string {
	names := make([]string, len(d.Stages))
	for i, s := range d.Stages {
		names[i] = s.Name
	}
	return strings.Join(names, ", ")
}

func (d *Document) noStage(name string) error {
	return &lab.Error{Kind: lab.Usage, What: fmt.Sprintf("this run has no stage %q", name),
		Hints: []string{"it has " + d.stageNames()}}
}

func (d *Document) setAgainst(asked []Against) error {
	d.Against = []Against{}
	for _, a := range asked {
		for _, name := range []string{a.Stage, a.Of} {
			if d.stage(name) < 0 {
				return d.noStage(name)
			}
		}
		if !slices.Contains(d.Against, a) {
			d.Against = append(d.Against, a)
		}
	}
	for i := 1; i < len(d.Stages) && len(asked) == 0; i++ {
		d.Against = append(d.Against, Against{Stage: d.Stages[i].Name, Of: d.Stages[i-1].Name})
	}
	return nil
}
