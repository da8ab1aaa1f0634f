//go:build bench && system && guests

package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/compare"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/testing/figure"
)

// accountedPair is a guest with two to four boot arguments, of which the first costs most, to be compared with one
// without any.
type accountedPair struct {
	without   plantedGuest
	load      plantedLoad
	kernel    string // the name of its package
	arguments []string
}

// accountedPairs returns ten pairs. In emulated guests a loss is clear from a half on. Of the arguments that Debian's
// kernels take page-table isolation alone was found to cost so much there.
func accountedPairs() []accountedPair {
	onDisk, inFiles := plantedGuest{iommu: "intel"}, mountedGuest("/dev/nvme0n1", "ext4", "mkfs.ext4", "")
	older, newer := profiledKernels()[0], profiledKernels()[1]
	reads := func(kernel string, arguments ...string) accountedPair {
		return accountedPair{onDisk, plantedLoad{plantedDisk, plantedReads}, kernel, arguments}
	}
	return []accountedPair{
		reads(older, "pti=on", "iommu.strict=1"),
		reads(older, "pti=on", "audit=1"),
		reads(older, "pti=on", "threadirqs"),
		reads(older, "pti=on", "slub_debug=FZPU"),
		reads(older, "pti=on", "init_on_free=1", "iommu.strict=1"),
		reads(older, "pti=on", "page_owner=on", "audit=1", "iommu.strict=1"),
		reads(newer, "pti=on", "iommu.strict=1"),
		reads(newer, "pti=on", "slub_debug=FZPU", "iommu.strict=1"),
		reads(newer, "pti=on", "audit=1", "threadirqs"),
		{inFiles, plantedLoad{"/srv", plantedWrites}, older, []string{"pti=on", "page_poison=1", "iommu.strict=1"}},
	}
}

// with returns the guest with boot arguments.
func (g plantedGuest) with(arguments ...string) plantedGuest {
	g.arguments = strings.Join(arguments, ", ")
	return g
}

// live compares two guests with a load, in ten pairs, and returns what it says of the rate.
func (l plantedLoad) live(t *testing.T, v fixture, kernel string, base, next plantedGuest) compare.ComparedMetric {
	t.Helper()
	arguments := []string{"compare", "--live", "--json", "--suite", l.suite(t), "--pairs", "10", "--confirm", "0",
		"qemu:" + base.describe(t, kernel), "qemu:" + next.describe(t, kernel), l.place}
	return onlyComparison(t, v.command(append(arguments, l.size()...)...))
}

// isolates reports whether a part of an account is about page-table isolation.
func isolates(p difference.Part) bool {
	return p.Reason == difference.Uniform && slices.ContainsFunc(p.Causes,
		func(c difference.FactChange) bool { return c.Key == "cpu.pti" })
}

// TestAccountsNameTheCostlyArgument counts how often the account of two guests that differ in two to four arguments
// names the argument that costs most.
func TestAccountsNameTheCostlyArgument(t *testing.T) {
	v, pairs, named := newFixture(t), accountedPairs(), 0
	for i, p := range pairs {
		kernel := guestKernel(t, p.kernel)
		// One at a time: guests beside each other slow each other down.
		without := fmt.Sprintf("without-%d", slices.IndexFunc(pairs, func(o accountedPair) bool {
			return o.load == p.load && o.kernel == p.kernel
		}))
		if without == fmt.Sprintf("without-%d", i) {
			plantedRun{p.without, p.load, kernel, without}.profile(t, v)
		}
		label := fmt.Sprintf("pair-%d", i)
		plantedRun{p.without.with(p.arguments...), p.load, kernel, label}.profile(t, v)
		account := differences(t, v, without, label).Account
		most, clearly := account.Most()
		right := clearly && isolates(most)
		if right {
			named++
		}
		t.Logf("%s, %s: named: %t; %+v", p.kernel, p.arguments, right, account)
	}
	figure.Record(t, figure.Share("profile/accounts/named", named, len(pairs), figure.Higher).
		Saying("pairs of guests that differ in two to four arguments, of which the account names the costly one"))
	if named < len(pairs) {
		t.Errorf("%d of %d were named", named, len(pairs))
	}
}

// TestWhatArgumentsCostAlone measures live what each argument of the pairs costs alone.
func TestWhatArgumentsCostAlone(t *testing.T) {
	v, rates := newFixture(t), map[string]float64{}
	for _, p := range accountedPairs() {
		for _, argument := range p.arguments {
			if _, known := rates[argument]; known {
				continue
			}
			m := p.load.live(t, v, guestKernel(t, p.kernel), p.without, p.without.with(argument))
			change := m.Change
			if change == nil || !change.Known() {
				t.Fatalf("%s alone: no interval: %+v", argument, m)
			}
			rates[argument] = change.Ratio
			name, _, _ := strings.Cut(argument, "=")
			figure.Record(t, figure.Figure{Name: figure.Name("profile/accounts/alone", name), Unit: "ratio",
				Center: change.Ratio, Lo: *change.Lo, Hi: *change.Hi, Confidence: change.Confidence, N: change.N,
				Text: "the rate of a guest with " + argument + ", to one without"})
			t.Logf("%s alone: %.2f times the rate [%.2f, %.2f], %s", argument, change.Ratio, *change.Lo, *change.Hi,
				m.Verdict)
		}
	}
	for argument, rate := range rates {
		if argument != "pti=on" && rate <= rates["pti=on"] {
			t.Errorf("%s costs more than page-table isolation: %v", argument, rates)
		}
	}
}
