package cli

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
)

// On a terminal a fact is a line; facts that were asked for are shown whole, and what is no terminal gets all of it in
// a line.
func TestLongFacts(t *testing.T) {
	rows := []facts.Row{{Name: "cmdline",
		Fact: lab.Fact{Key: "kernel.cmdline", Value: "ro quiet iommu.strict=0 mitigations=off numa=off"}}}
	for name, c := range map[string]struct {
		o     factsCommand
		width int
		want  string
	}{
		"cut": {width: 30, want: "  cmdline  ro quiet iommu.str…\n"},
		"whole": {o: factsCommand{only: []string{"kernel"}}, width: 50,
			want: "  cmdline  ro quiet iommu.strict=0 mitigations=off\n           numa=off\n"},
		"piped": {want: "  cmdline  ro quiet iommu.strict=0 mitigations=off numa=off\n"},
		"source": {o: factsCommand{sources: true},
			want: "  cmdline  ro quiet iommu.strict=0 mitigations=off numa=off   [/proc/cmdline]\n"},
	} {
		rows[0].Fact.Source = "/proc/cmdline"
		var out strings.Builder
		c.o.writeRows(&out, rows, c.width)
		if out.String() != c.want {
			t.Errorf("%s: %q, not %q", name, out.String(), c.want)
		}
	}
}
