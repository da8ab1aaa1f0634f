package cli

import (
	"fmt"
	"strings"

	"headroom/internal/diff"
	"headroom/internal/lab"
	"headroom/internal/rule"
)

// buildDiagnosis is what can be said of a machine of which only the configuration of a kernel build is known.
type buildDiagnosis struct {
	rule.Report
	// Defaults are what the kernel does unless something on the machine says otherwise.
	Defaults []diff.Default `json:"kernel_defaults"`
}

// kernelDefaults are the slow defaults of a build, where nothing but a build is known; ok is false where more is.
func kernelDefaults(known []lab.Fact) (defaults []diff.Default, ok bool, err error) {
	const family = "kernel.config."
	options := map[string]string{}
	for _, f := range known {
		option, is := strings.CutPrefix(f.Key, family)
		if !is && f.Unknown == "" && f.Key != "kernel.release" { // which the file names, too
			return nil, false, nil
		}
		if is {
			options[option] = f.Value
		}
	}
	if len(options) == 0 {
		return nil, false, nil
	}
	knowledge, err := diff.Load()
	if err != nil {
		return nil, false, err
	}
	return knowledge.SlowDefaults(options), true, nil
}

// mostDefaults is how many defaults are printed without --all.
const mostDefaults = 5

func (p *program) printKernelDefaults(defaults []diff.Default, all bool) {
	w := &wrapper{out: p.Stdout, width: columns(p.Stdout), colour: p.colour(p.Stdout)}
	fmt.Fprintln(w.out)
	if len(defaults) == 0 {
		w.line("", "This kernel defaults to nothing that is known to cost I/O.")
		return
	}
	w.line("", "This kernel defaults to what costs I/O; whether it is in effect needs the machine, by headroom "+
		"doctor there:")
	for i, d := range defaults {
		if i == mostDefaults && !all {
			w.line("  ", fmt.Sprintf("%d more: --all", len(defaults)-mostDefaults))
			break
		}
		text := fmt.Sprintf("%s=%s: %s; boot argument %s", d.Option, d.Value, d.Why, d.Argument)
		if d.Effect != "" {
			text += "; published: " + d.Effect
		}
		w.line("  ", text)
	}
}
