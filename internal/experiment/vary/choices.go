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

// choose reads the factors as typed, and refuses what --keep names.
func (x *Experiment) choose() error {
	if x.options.Commits != nil {
		return x.chooseCommits()
	}
	if x.options.Kernels != nil {
		return x.chooseOptions()
	}
	if len(x.options.Factors) == 0 {
		if x.options.Steps {
			return app.Usage("a series has no levels yet", "headroom bisect kernels … --kernel OLDEST --kernel … "+
				"--kernel NEWEST", "headroom bisect steps … --setting FACTOR=LEVEL,LEVEL,LEVEL")
		}
		verb := x.kind
		if x.kind == app.BisectKind {
			verb += " settings"
		}
		return app.Usage("headroom "+verb+" varies what? name it with "+x.options.flag(x.kind),
			"headroom factors lists what can be varied",
			"for example: headroom "+verb+" quick /srv "+x.options.flag(x.kind)+" "+exampleOf(x.kind))
	}
	seen := map[string]bool{}
	for _, text := range x.options.Factors {
		c, err := factor.Parse(text)
		if err != nil {
			return err
		}
		if x.kind == app.AblateKind && seen[c.Factor()+"="+strings.Join(c.Levels, ",")] ||
			x.kind != app.AblateKind && seen[c.Factor()] {
			return app.Usage(text + " stands twice")
		}
		seen[c.Factor()+"="+strings.Join(c.Levels, ",")], seen[c.Factor()] = true, true
		if x.kind == app.SweepKind && c.Scheme.Name == "job" && slices.Contains(c.Levels, scheme.Found) {
			return app.Usage(c.Factor()+" has no level that could be found: a suite can have several of it",
				"name the level")
		}
		if c.Factor() == commitFactor {
			return app.Usage("commits are built one by one, as a search asks for them",
				"headroom bisect commits GOOD..BAD SUITE --build COMMAND")
		}
		if strings.HasPrefix(c.Factor(), OptionScheme) {
			return app.Usage("a kernel is built for each measurement of such a search, which takes its source",
				"headroom bisect kconfig SUITE --tree DIR --good CONFIG --bad CONFIG")
		}
		if factor.IsKept(x.options.Keep, c.Factor()) {
			return &lab.Error{Kind: lab.Refused, What: c.Factor() + " must stay (--keep), so it can't be varied",
				Hints: []string{"leave it out, or take it off --keep"}}
		}
		x.choices = append(x.choices, c)
	}
	return nil
}

func firstLevels(choices []factor.Choice) map[string]string {
	levels := map[string]string{}
	for _, c := range choices {
		levels[c.Factor()] = c.Levels[0]
	}
	return levels
}

// terms are those of the experiment as the run keeps them.
func (x *Experiment) terms() (*lab.Experiment, error) {
	if x.options.Pairs < 0 || x.options.Pairs > ablation.MaxPairs {
		return nil, app.Usage(fmt.Sprintf("--pairs %d is no number of pairs", x.options.Pairs),
			fmt.Sprintf("write a number from 0 to %d", ablation.MaxPairs))
	}
	e := &lab.Experiment{Kind: x.kind, Blocks: x.options.Blocks, Keep: x.options.Keep, Commands: x.options.commands,
		Margin: 0.03, Alpha: 0.05, BootOn: x.options.BootOn}
	if x.kind == app.BisectKind {
		e.Margin = 0.05
	}
	if e.Blocks == 0 {
		e.Blocks = defaultBlocks(x.kind)
	}
	if x.kind == app.AblateKind && !x.options.Alone && len(x.choices) > 2 {
		e.MostPairs = x.options.Pairs
	}
	for _, s := range []struct {
		flag, text string
		to         *float64
	}{{"--margin", x.options.Margin, &e.Margin}, {"--alpha", x.options.Alpha, &e.Alpha},
		{"--share", x.options.Share, &e.Share}} {
		if s.text == "" {
			continue
		}
		v, err := unit.ParseShare(s.text)
		if err != nil {
			return nil, app.Usage(s.flag + ": " + err.Error())
		}
		*s.to = v
	}
	for _, c := range x.choices {
		e.Factors = append(e.Factors, lab.VariedFactor{Factor: c.Factor(), Levels: c.Levels, Needs: c.Scheme.Needs})
	}
	x.options.Commits.recordIn(e)
	if k := x.options.Kernels; k != nil {
		e.Kernels = &k.Kernels
	}
	return e, x.options.limitIn(e)
}

// CheckFactor says what is wrong with a factor as typed, and what to do; both are empty where nothing is.
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
