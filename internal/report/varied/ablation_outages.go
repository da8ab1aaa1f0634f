package varied

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/prose"
)

// stopsText returns that a setting stops a load, and the evidence: "stops randread 4k: it failed in 4 of 4
// repetitions".
func (t ablationText) stopsText(s ablation.SettingEffect, n ablationNumber) string {
	text := "stops " + t.short(n)
	for _, o := range t.Outages {
		if hasSetting(o.Arm, s.Number) && o.Cell == n.cell && (o.Metric == "" || o.Metric == n.metric) {
			return text + ": it " + outageWords(o)
		}
	}
	return text
}

// outageWords returns how a load failed: "failed in 4 of 4 repetitions".
func outageWords(o ablation.Outage) string {
	what, times := "measured 0", o.Zero
	if o.Zero == 0 {
		what, times = "failed", o.Failed
	}
	return fmt.Sprintf("%s in %d of %s", what, times, prose.Count(o.N, "repetition"))
}

// hasSetting reports whether an arm has a setting: the setting alone or with another, or the set unless it is removed.
func hasSetting(arm string, setting int) bool {
	if added, ok := strings.CutPrefix(arm, "+"); ok {
		return slices.Contains(strings.Split(added, "+"), strconv.Itoa(setting))
	}
	return arm == ablation.Tuned || strings.HasPrefix(arm, "-") && arm != ablation.RemovedArm(setting)
}

// unexplainedOutages returns the loads without a figure in an arm that has no setting which stops them.
func (t ablationText) unexplainedOutages() []ablation.Outage {
	return slices.DeleteFunc(slices.Clone(t.Outages), func(o ablation.Outage) bool {
		return slices.ContainsFunc(t.Settings, func(s ablation.SettingEffect) bool {
			return s.Verdict == ablation.Stops && hasSetting(o.Arm, s.Number)
		})
	})
}

// notCompared names the loads without a figure in some arm; empty if there are none.
func (t ablationText) notCompared() string {
	var parts []string
	for _, o := range t.unexplainedOutages() {
		parts = append(parts, o.Title+" "+outageWords(o)+" "+t.in(o.Arm))
	}
	if len(parts) == 0 {
		return ""
	}
	return "not compared: " + prose.List(parts)
}

// outageOf reports whether a load has no figure in the arm of a setting alone, or of the set without it.
func (t ablationText) outageOf(s ablation.SettingEffect) bool {
	return slices.ContainsFunc(t.unexplainedOutages(), func(o ablation.Outage) bool {
		return o.Arm == ablation.AloneArm(s.Number) || o.Arm == ablation.RemovedArm(s.Number)
	})
}

// in names the settings of an arm: "with sysctl:vm.swappiness=1".
func (t ablationText) in(arm string) string {
	names := t.names()
	for _, s := range t.Settings {
		if arm == ablation.RemovedArm(s.Number) {
			return "with all settings but " + names[s.Number]
		}
	}
	switch arm {
	case ablation.Baseline:
		return "without any setting"
	case ablation.Tuned:
		return "with all settings"
	}
	var with []string
	for _, s := range t.Settings {
		if hasSetting(arm, s.Number) {
			with = append(with, names[s.Number])
		}
	}
	return "with " + prose.List(with)
}
