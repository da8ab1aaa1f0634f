package rule

import (
	"strings"
	"testing"
)

func TestCostOfASetting(t *testing.T) {
	rules, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	set, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ setting, with, without string }{
		{"cmdline:init_on_free=1", "", "Security: freed data stays in memory"},
		{"cmdline:init_on_free=0", "Security: freed data stays in memory", ""},
		{"cmdline:init_on_alloc=1", "", "Security: bugs of the kernel"},
		{"cmdline:slub_debug=FZPU", "", "Finding memory errors"},
		{"cmdline:mitigations=off", "All mitigations of CPU flaws are switched off", ""},
		{"cmdline:iommu.passthrough=1", "Security: no protection from DMA", ""},
		{"cmdline:quiet", "", ""},
		{"sysctl:vm.no_such_thing=1", "", ""},
	} {
		got := set.CostOf(c.setting)
		if !strings.HasPrefix(got.With, c.with) || !strings.HasPrefix(got.Without, c.without) ||
			(got.With == "") != (c.with == "") || (got.Without == "") != (c.without == "") {
			t.Errorf("%s costs %+v, want with %q and without %q", c.setting, got, c.with, c.without)
		}
	}
}
