package rule

import (
	"slices"
	"strings"
	"testing"
)

func TestCostOfASetting(t *testing.T) {
	set := builtInSet(t)
	for _, c := range []struct{ setting, with, without string }{
		{"cmdline:init_on_free=1", "", "Security: freed data stays in memory"},
		{"cmdline:init_on_free=0", "Security: freed data stays in memory", ""},
		{"cmdline:init_on_alloc=1", "", "Security: bugs of the kernel"},
		{"cmdline:slub_debug=FZPU", "", "Finding memory errors"},
		{"cmdline:mitigations=off", "Security: all mitigations of CPU flaws are switched off", ""},
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

// Settings that people try for speed, and what each gives up.
func TestWhatSettingsGiveUp(t *testing.T) {
	set := builtInSet(t)
	for setting, want := range map[string]string{
		"mount:barrier=0": "durability", "mount:barrier=1": "", "mount:nobarrier": "durability",
		"mount:sync=0": "durability", "mount:sync=1": "", "mount:commit=60": "durability", "mount:commit=5": "",
		"mount:auto_da_alloc=0": "durability", "mount:data=writeback": "durability", "mount:atime=noatime": "",
		"queue:write_cache=write through": "durability", "queue@disks:write_cache=write through": "durability",
		"queue:scheduler=none": "", "queue:write_cache=write back": "",
		"guest:cache=unsafe": "durability", "guest:cache=writeback": "", "guest:iothreads=4": "",
		"sysctl:vm.dirty_ratio=80": "durability", "sysctl:vm.dirty_ratio=5": "",
		"sysctl:vm.dirty_writeback_centisecs=0": "durability", "sysctl:vm.dirty_expire_centisecs=6000": "durability",
		"cmdline:mitigations=off": "security", "cmdline:mitigations=auto": "", "cmdline:nopti": "security",
		"cmdline:pti=off": "security", "cmdline:spectre_v2=off": "security", "cmdline:mds=off": "security",
		"cmdline:spec_rstack_overflow=off": "security", "cmdline:kvm.nx_huge_pages=off": "security",
		"cmdline:spec_rstack_overflow=safe-ret": "", "cmdline:kpti=0": "security",
		"cmdline:iommu=off": "security", "cmdline:iommu=pt": "security", "cmdline:iommu.passthrough=1": "security",
		"cmdline:iommu.strict=0": "security", "cmdline:intel_iommu=off": "security", "cmdline:iommu.strict=1": "",
		"cmdline:init_on_alloc=0": "security", "cmdline:init_on_free=0": "security", "cmdline:init_on_free=1": "",
		"cmdline:hardened_usercopy=off": "security", "cmdline:nokaslr": "security", "cmdline:selinux=0": "security",
		"sysctl:kernel.io_uring_disabled=0": "security", "sysctl:kernel.randomize_va_space=0": "security",
		"sysctl:kernel.stack_erasing=0": "security", "cmdline:quiet": "", "cmdline:slub_debug=FZPU": "",
		"option:MITIGATION_RETPOLINE=n": "security", "option:MITIGATION_RETPOLINE=y": "",
		"option:INIT_ON_FREE_DEFAULT_ON=n": "security", "option:IOMMU_DEFAULT_PASSTHROUGH=y": "security",
		"cmdline:init_on_free=absent": "security", "cmdline:-init_on_alloc": "security",
		"cmdline:-quiet": "", "cmdline:-mitigations": "", "server:sysctl:vm.dirty_ratio=80": "durability",
		"client:cmdline:mitigations=off": "security", "option:HZ=1000": "",
		"option:STACKPROTECTOR_STRONG=n": "security",
	} {
		if got := set.CostOf(setting).Price(); got.GivesUp != want {
			t.Errorf("%s gives up %q, not %q: %+v", setting, got.GivesUp, want, got)
		}
	}
}

// What one level protects, the others give up.
func TestPricesOfLevels(t *testing.T) {
	set := builtInSet(t)
	for _, c := range []struct {
		factor string
		levels []string
		want   []string // what each gives up, or "+" and what it protects
	}{
		{"cmdline:init_on_free", []string{"1", "absent"}, []string{"+security", "security"}},
		{"cmdline:init_on_free", []string{"0", "1"}, []string{"security", "+security"}},
		{"mount:barrier", []string{"1", "0"}, []string{"", "durability"}},
		{"guest:cache", []string{"none", "writeback", "unsafe"}, []string{"", "", "durability"}},
		{"queue:scheduler", []string{"none", "bfq"}, []string{"", ""}},
		{"sysctl:vm.dirty_ratio", []string{"5", "20", "40"}, []string{"", "", "durability"}},
	} {
		var got []string
		for _, p := range set.Prices(c.factor, c.levels) {
			text := p.GivesUp
			if p.Protects != "" {
				text += "+" + p.Protects
			}
			got = append(got, text)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s=%q: %q, not %q", c.factor, c.levels, got, c.want)
		}
	}
	for cost, want := range map[string]string{"Security: none against Meltdown, which this CPU does not have.": "",
		"Security: as good as the separation.": "security", "none": "", "Money.": "", "durability: x": "durability",
		"CPU: a core is busy while it polls.": ""} {
		if got := GivesUp(cost); got != want {
			t.Errorf("%q gives up %q", cost, got)
		}
	}
}
