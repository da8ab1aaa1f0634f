package cli

import (
	"fmt"

	"headroom/internal/diff"
)

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
