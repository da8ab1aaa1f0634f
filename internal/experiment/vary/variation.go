package vary

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/factor/scheme"
)

// variation is what an experiment of a kind varies: factors, with their levels.
type variation struct {
	kind    string
	choices []factor.Choice
}

// boots reports whether a factor takes a boot. Then every visit restarts the machine, so no arm has a machine that ran
// longer than another's.
func (v variation) boots() bool { return bootFactor(v.choices) != "" }

// kernel reports whether the kernel or its arguments are varied.
func (v variation) kernel() bool {
	return slices.ContainsFunc(v.choices, func(c factor.Choice) bool {
		return c.Scheme.Name == "kernel" || c.Scheme.Name == "cmdline"
	})
}

// mounts reports whether the place under test is mounted for each arm: NFS with other options, over another transport.
func (v variation) mounts() bool {
	return slices.ContainsFunc(v.choices, func(c factor.Choice) bool { return c.Factor() == mount.NFSFactor })
}

// mountLevels returns the levels of the mount that is varied.
func (v variation) mountLevels() []string {
	return v.choices[slices.IndexFunc(v.choices, func(c factor.Choice) bool {
		return c.Factor() == mount.NFSFactor
	})].Levels
}

// liveFactors returns the live factors that an arm sets, in an order in which none resets another.
func (v variation) liveFactors(levels map[string]string) []string {
	var names []string
	for _, c := range v.choices {
		name := c.Factor()
		level, set := levels[name]
		if c.Scheme.Class == scheme.Live && set && level != scheme.Found && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return factor.Order(names)
}

// levelTrials returns all levels of the running machine. A level that the kernel refuses, or that takes root, ends the
// run before its first load and not in the middle. Levels of machines that are restarted can't be tried beforehand.
func (v variation) levelTrials() []LevelTrial {
	if v.boots() {
		return nil
	}
	var list []LevelTrial
	for _, c := range v.choices {
		for _, level := range c.Levels {
			if t := (LevelTrial{Factor: c.Factor(), Level: level}); c.Scheme.Class == scheme.Live &&
				level != scheme.Found &&
				!slices.Contains(list, t) {
				list = append(list, t)
			}
		}
	}
	return list
}

// visitWord returns the word for a visit of an arm.
func (v variation) visitWord() string {
	if v.boots() {
		return "a boot"
	}
	return "a visit"
}

// levelsText describes an arm in words.
func (v variation) levelsText(levels map[string]string) string {
	var parts []string
	for _, c := range v.choices {
		if level, ok := levels[c.Factor()]; ok && !slices.Contains(parts, c.Factor()+"="+level) {
			parts = append(parts, c.Factor()+"="+level)
		}
	}
	if len(parts) == 0 {
		return "everything as found"
	}
	return strings.Join(parts, " ")
}
