package varied

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/ablation"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// ablationText writes an ablation in words.
type ablationText struct {
	ablation.Document
	marks []report.Mark
	// jobs are the names of the loads, by the IDs of their cells; loads also have their parameters.
	jobs, loads map[string]string
}

func newAblationText(d ablation.Document) ablationText {
	var cells []summary.Cell
	for _, c := range d.Cells {
		cells = append(cells, summary.Cell{ID: c.ID, Job: c.Job, Engine: c.Engine, Params: c.Params})
	}
	t := ablationText{Document: d, jobs: map[string]string{}, loads: map[string]string{}}
	names, params := summary.LoadNames(cells)
	for i, c := range cells {
		t.jobs[c.ID], t.loads[c.ID] = names[i], prose.Join(c.Job, params[i])
	}
	for _, w := range d.Warnings {
		t.marks = report.AddMark(t.marks, w.In("", w.Repetitions, w.N).CountedWarning,
			cmp.Or(t.jobs[w.Cell], w.Cell, "the whole run"))
	}
	return t
}

// names returns the names of the settings, by number from 1, without the scheme if all have the same.
func (t ablationText) names() []string {
	scheme := func(s ablation.SettingEffect) string { before, _, _ := strings.Cut(s.Factor, ":"); return before + ":" }
	same := !slices.ContainsFunc(t.Settings, func(s ablation.SettingEffect) bool {
		return scheme(s) != scheme(t.Settings[0])
	})
	names := []string{""}
	for _, s := range t.Settings {
		name := s.String()
		if same {
			name = strings.TrimPrefix(name, scheme(s))
		}
		names = append(names, name)
	}
	return names
}

func (t ablationText) named(numbers []int) []string {
	all := t.names()
	var out []string
	for _, n := range numbers {
		out = append(out, all[n])
	}
	return out
}

// ablationNumber is one metric of one load, about which a decision is made.
type ablationNumber struct{ cell, metric string }

func (t ablationText) numbers() []ablationNumber {
	var out []ablationNumber
	for _, c := range t.Cells {
		for _, m := range c.Metrics {
			out = append(out, ablationNumber{c.ID, m})
		}
	}
	return out
}

// title returns the title of a number: "randread 4k q32, read IOPS".
func (t ablationText) title(n ablationNumber) string {
	return t.loads[n.cell] + ", " + report.MetricName(n.metric)
}

// short returns a shorter title, without the metric if the load has only one.
func (t ablationText) short(n ablationNumber) string {
	i := slices.IndexFunc(t.Cells, func(c ablation.Cell) bool { return c.ID == n.cell })
	if len(t.Cells[i].Metrics) == 1 {
		return t.jobs[n.cell]
	}
	return prose.Join(t.jobs[n.cell], report.MetricTitle(n.metric, true))
}

// effect returns the effect of a setting on a number; nil if there is none.
func (t ablationText) effect(s ablation.SettingEffect, n ablationNumber) *ablation.CellEffect {
	for i, p := range s.Cells {
		if p.Cell == n.cell && p.Metric == n.metric {
			return &s.Cells[i]
		}
	}
	return nil
}

// countSettings counts the settings that were verified to be in effect.
func (t ablationText) countSettings() string {
	n, verified := len(t.Settings), ""
	for _, s := range t.Settings {
		if s.NotVerified != "" {
			n, verified = n-1, " in effect"
		}
	}
	if n != 1 {
		return fmt.Sprintf("the %d settings", n) + verified
	}
	return "the one setting" + verified
}

// signs returns the signs of the warnings that taint a number.
func (t ablationText) signs(n ablationNumber) string {
	var codes []string
	for _, w := range t.Warnings {
		if (w.Cell == "" || w.Cell == n.cell) && w.Tainted(n.metric) {
			codes = append(codes, w.Code)
		}
	}
	return report.Signs(t.marks, codes)
}

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
