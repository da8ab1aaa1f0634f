package vary

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// choose reads what is varied: the factors as typed, commits, or options of a kernel. It refuses factors named by
// --keep.
func (o *Options) choose(kind string, kinds app.TargetKinds) ([]factor.Choice, error) {
	if o.Commits != nil {
		return o.chooseCommits(kinds)
	}
	if o.Kernels != nil {
		return o.chooseKernelOptions(kinds)
	}
	if len(o.Factors) == 0 {
		if o.Steps {
			return nil, app.Usage("a series has no levels yet", "headroom bisect kernels … --kernel OLDEST --kernel … "+
				"--kernel NEWEST", "headroom bisect steps … --setting FACTOR=LEVEL,LEVEL,LEVEL")
		}
		verb := kind
		if kind == app.BisectKind {
			verb += " settings"
		}
		return nil, app.Usage("headroom "+verb+" varies what? name it with "+o.flag(kind),
			"headroom factors lists what can be varied",
			"for example: headroom "+verb+" quick /srv "+o.flag(kind)+" "+exampleOf(kind))
	}
	var choices []factor.Choice
	seen := map[string]bool{}
	for _, text := range o.Factors {
		c, err := factor.Parse(text)
		if err != nil {
			return nil, err
		}
		if kind == app.AblateKind && seen[c.Factor()+"="+strings.Join(c.Levels, ",")] ||
			kind != app.AblateKind && seen[c.Factor()] {
			return nil, app.Usage(text + " is given twice")
		}
		seen[c.Factor()+"="+strings.Join(c.Levels, ",")], seen[c.Factor()] = true, true
		if kind == app.SweepKind && c.Scheme.Name == "job" && slices.Contains(c.Levels, scheme.Found) {
			return nil, app.Usage(c.Factor()+" has no level that could be found: a suite can have several of it",
				"name the level")
		}
		if c.Factor() == commitFactor {
			return nil, app.Usage("commits are built one by one, as a search asks for them",
				"headroom bisect commits GOOD..BAD SUITE --build COMMAND")
		}
		if strings.HasPrefix(c.Factor(), OptionScheme) {
			return nil, app.Usage("a kernel is built for each measurement of such a search, which takes its source",
				"headroom bisect kconfig SUITE --tree DIR --good CONFIG --bad CONFIG")
		}
		if factor.IsKept(o.Keep, c.Factor()) {
			return nil, &lab.Error{Kind: lab.Refused, What: c.Factor() + " must stay (--keep), so it can't be varied",
				Hints: []string{"leave it out, or take it off --keep"}}
		}
		choices = append(choices, c)
	}
	return choices, nil
}

func firstLevels(choices []factor.Choice) map[string]string {
	levels := map[string]string{}
	for _, c := range choices {
		levels[c.Factor()] = c.Levels[0]
	}
	return levels
}

// terms returns the terms of the experiment as the run saves them.
func (o *Options) terms(v variation) (*lab.Experiment, error) {
	if o.Pairs < 0 || o.Pairs > ablation.MaxPairs {
		return nil, app.Usage(fmt.Sprintf("--pairs %d is no number of pairs", o.Pairs),
			fmt.Sprintf("write a number from 0 to %d", ablation.MaxPairs))
	}
	e := &lab.Experiment{Kind: v.kind, Blocks: o.Blocks, Keep: o.Keep, Commands: o.commands,
		Margin: 0.03, Alpha: 0.05, BootOn: o.BootOn}
	if v.kind == app.BisectKind {
		e.Margin = 0.05
	}
	if e.Blocks == 0 {
		e.Blocks = defaultBlocks(v.kind)
	}
	if v.kind == app.AblateKind && !o.Alone && len(v.choices) > 2 {
		e.MostPairs = o.Pairs
	}
	for _, s := range []struct {
		flag, text string
		to         *float64
	}{{"--margin", o.Margin, &e.Margin}, {"--alpha", o.Alpha, &e.Alpha},
		{"--share", o.Share, &e.Share}} {
		if s.text == "" {
			continue
		}
		share, err := unit.ParseShare(s.text)
		if err != nil {
			return nil, app.Usage(s.flag + ": " + err.Error())
		}
		*s.to = share
	}
	for _, c := range v.choices {
		e.Factors = append(e.Factors, lab.VariedFactor{Factor: c.Factor(), Levels: c.Levels, Needs: c.Scheme.Needs})
	}
	o.Commits.recordIn(e)
	if k := o.Kernels; k != nil {
		e.Kernels = &k.Kernels
	}
	return e, o.limitIn(e)
}

// CheckFactor returns the fault of a factor as typed, and a hint; both are empty without a fault.
func CheckFactor(text string) (complaint, hint string) {
	_, err := factor.Parse(text)
	if err == nil {
		return "", ""
	}
	if e, ok := errors.AsType[*lab.Error](err); ok && len(e.Hints) > 0 {
		return e.What, e.Hints[0]
	}
	return err.Error(), "headroom factors lists what can be varied"
}
