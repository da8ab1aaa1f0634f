// Package diagnosis is what the rules say of machines, by their facts: of one, or of several together, where each
// finding stands once and what a few have otherwise is found. It reaches no machine.
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

// Document is what the rules say of one machine: `headroom doctor --json`.
type Document struct {
	rule.Report
	// Defaults are what the kernel does unless something on the machine says otherwise. They are there where nothing
	// but the configuration of a kernel build is known.
	Defaults []diff.Default `json:"kernel_defaults,omitzero"`
}

// OnlyBuild says whether nothing but the configuration of a kernel build is known.
func (d Document) OnlyBuild() bool { return d.Defaults != nil }

// Of asks the rules about a machine.
func Of(set *rule.Set, d facts.Document, o rule.Options) (Document, error) {
	defaults, err := kernelDefaults(d.Facts)
	return Document{Ask(set, d, o), defaults}, err
}

// Ask asks the rules about a machine, by its facts and by the ceilings that follow from them.
func Ask(set *rule.Set, d facts.Document, o rule.Options) rule.Report {
	report := set.Evaluate(append(slices.Clone(d.Facts), ceiling.Derive(d.Facts)...), o)
	report.Target = d.Target
	return report
}

// kernelDefaults are the slow defaults of a build, where nothing but a build is known; nil where more is.
func kernelDefaults(known []lab.Fact) ([]diff.Default, error) {
	const family = "kernel.config."
	options, release := map[string]string{}, ""
	for _, f := range known {
		option, is := strings.CutPrefix(f.Key, family)
		switch {
		case is:
			options[option] = f.Value
		case f.Key == "kernel.release" && f.Unknown == "": // the file names it, too
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
