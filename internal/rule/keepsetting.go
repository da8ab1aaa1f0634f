package rule

import (
	"regexp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// keepSetting is a setting that the user must not change.
type keepSetting struct {
	text string
	setting
}

// CheckKeep returns an error if a value of --keep is invalid.
func CheckKeep(text string) error {
	s := parseSetting(text)
	if s.name == "" || s.value == "" && s.kind != "cmdline" && s.kind != "mount" {
		return &lab.Error{Kind: lab.Usage, What: "can't keep " + text,
			Hints: []string{"write KEY=VALUE or cmdline:numa=off"}}
	}
	return nil
}

func parseKeep(texts []string) []keepSetting {
	var kept []keepSetting
	for _, t := range texts {
		kept = append(kept, keepSetting{t, parseSetting(t)})
	}
	return kept
}

// forbids reports whether a remedy would change the kept setting. A remedy in words, or a command, does so if it names
// the setting; the name alone is enough unless it could be an ordinary word.
func (k keepSetting) forbids(r Remedy) bool {
	s := parseSetting(r.Set)
	if r.Set == "" || s.kind == "exec" {
		word := k.argument()
		if strings.Contains(k.name, ".") {
			word = k.name
		}
		return regexp.MustCompile(`(^|[^\w.=-])` + regexp.QuoteMeta(word) + `($|[^\w.-]|[.]($|\s))`).MatchString(
			r.Text + " " + s.name)
	}
	if k.same(s) {
		return s.removed != k.removed || !s.removed && !strings.EqualFold(s.meaning(), k.meaning())
	}
	return slices.ContainsFunc(s.defeats(), func(other string) bool {
		o := parseSetting(other)
		return k.same(o) && (o.value == "" || slices.Contains(strings.Split(k.value, ","), o.value))
	})
}

// same reports whether both are the same setting, whatever their values.
func (k keepSetting) same(s setting) bool {
	mine := k.names()
	return slices.ContainsFunc(s.names(), func(n string) bool { return slices.Contains(mine, n) })
}

// defeats returns the settings that this one overrides or resets. A result without a value means any value.
func (s setting) defeats() []string {
	switch s.kind + ":" + plainName(s.argument()) {
	case "cmdline:iommu=off":
		return []string{"cmdline:iommu.strict", "cmdline:iommu.passthrough", "cmdline:intel_iommu", "cmdline:amd_iommu"}
	case "cmdline:iommu=pt", "cmdline:iommu.passthrough=1":
		return []string{"cmdline:iommu.strict=1", "cmdline:intel_iommu=strict", "cmdline:amd_iommu=fullflush"}
	case "cpu:governor=" + s.value:
		return []string{"cmdline:cpufreq.default_governor"}
	}
	// Writing one of the pair sets the other to 0 (Documentation/admin-guide/sysctl/vm.rst).
	if before, bytes := strings.CutSuffix(s.name, "_bytes"); bytes && s.kind == "sysctl" &&
		strings.HasPrefix(before, "vm.dirty") {
		return []string{"sysctl:" + before + "_ratio"}
	}
	return nil
}

// addRemedies adds the remedies, except those that would change a kept setting or whose condition is false.
func (f *Finding) addRemedies(r *Rule, m *machine, kept []keepSetting, to systems) {
	refused := map[string][]string{}
	for _, remedy := range r.Remedies {
		about, only, offered := remedy.allowed(m, r.Scope, f.About)
		if !offered {
			continue
		}
		if only != "" && remedy.Certain {
			f.Kept = append(f.Kept, "not offered: "+remedy.Set+", which can keep the machine from starting; "+only+
				"; --for names the system")
			continue
		}
		if i := slices.IndexFunc(kept, func(k keepSetting) bool { return k.forbids(remedy) }); i >= 0 {
			what := remedy.Set
			if what == "" {
				what = remedy.Text
			}
			refused[kept[i].text] = append(refused[kept[i].text], what)
			continue
		}
		for _, in := range render(remedy, about, m, to) {
			in.Only = only
			f.Remedies = append(f.Remedies, in)
		}
	}
	for _, k := range kept {
		if what, ok := refused[k.text]; ok {
			f.Kept = append(f.Kept, "kept: "+k.text+"; "+f.Effect+"; not offered: "+strings.Join(what, ", "))
		}
	}
	if len(f.Remedies) > 0 {
		f.Cost = f.Remedies[0].Cost
	}
}

// allowed evaluates a remedy's own condition: it returns the things for which the remedy is offered, and the condition
// as a caution if it is unknown.
func (r Remedy) allowed(m *machine, scope string, things []string) (about []string, only string, ok bool) {
	if r.only == nil {
		return things, "", true
	}
	asked := things
	if scope == "" {
		asked = []string{""}
	}
	var open []string
	var reasons []Missing
	for _, thing := range asked {
		switch answer, _, missing := r.only.evaluate(m, scope, thing); answer {
		case yes:
			about = append(about, thing)
		case unknown:
			open, reasons = append(open, thing), missing
		}
	}
	if scope == "" && len(about) > 0 {
		return nil, "", true
	}
	if len(about) > 0 {
		return about, "", true
	}
	if len(open) == 0 {
		return nil, "", false
	}
	if scope == "" {
		open = nil
	}
	only = "only if " + strings.Join(strings.Fields(r.Only), " ")
	if len(reasons) > 0 {
		only += " (unknown here: " + reasons[0].Fact + ": " + reasons[0].Reason + ")"
	}
	return open, only, true
}
