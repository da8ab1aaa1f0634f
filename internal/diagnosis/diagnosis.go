// Package diagnosis answers what limits machines, by the rules and their facts: for one machine, or for several
// together, where each finding is listed once and machines that differ from the others are found. It connects to no
// machine.
package diagnosis

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/rule"
)

// Document is the rules' answer about one machine: `headroom doctor --json`.
type Document struct {
	rule.Report
	// Defaults are the kernel's built-in behaviour. They are set if only the configuration of a kernel build is known.
	Defaults []diff.Default `json:"kernel_defaults,omitzero"`
}

// OnlyBuild reports whether only the configuration of a kernel build is known.
func (d Document) OnlyBuild() bool { return d.Defaults != nil }

// Of evaluates the rules for a machine.
func Of(set *rule.Set, d facts.Document, o rule.Options) (Document, error) {
	defaults, err := kernelDefaults(d.Facts)
	return Document{Ask(set, d, o), defaults}, err
}

// Ask evaluates the rules for a machine, by its facts and by the ceilings derived from them.
func Ask(set *rule.Set, d facts.Document, o rule.Options) rule.Report {
	report := set.Evaluate(append(slices.Clone(d.Facts), ceiling.Derive(d.Facts)...), o)
	report.Target = d.Target
	return report
}

// kernelDefaults returns the slow defaults of a build, if only a build is known; nil if more is.
func kernelDefaults(known []lab.Fact) ([]diff.Default, error) {
	const family = "kernel.config."
	options, release := map[string]string{}, ""
	for _, f := range known {
		option, is := strings.CutPrefix(f.Key, family)
		switch {
		case is:
			options[option] = f.Value
		case f.Key == "kernel.release" && f.Unknown == "": // the file has it, too
			release = f.Value
		case f.Key != "kernel.config" && f.Unknown == "":
			return nil, nil
		}
	}
	if len(options) == 0 {
		return nil, nil
	}
	knowledge, err := diff.Load()
	if err != nil {
		return nil, err
	}
	return append([]diff.Default{}, knowledge.SlowDefaults(options, release)...), nil
}
