package results

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/store"
)

// maxSuspects is how many suspects of each end are listed with a ladder; doctor lists all.
const maxSuspects = 3

// suspects returns doctor's findings that can cost bandwidth at the ends of a network whose ladder falls short, the
// server's first. If the loopback of an end falls short, only findings at that end matter. Of the findings about single
// ports, it keeps those of ports that the rung uses.
func suspects(b *store.Bundle, d *ladder.Document, keep []string) ([]ladder.Suspect, error) {
	if d.Answer.Rung == nil {
		return nil, nil
	}
	run := b.Run
	set, err := rule.BuiltInSet()
	if err != nil {
		return nil, err
	}
	rung := d.Rungs[*d.Answer.Rung]
	through, err := portsOfRung(b, rung)
	if err != nil {
		return nil, err
	}
	var all []ladder.Suspect
	ends := append([]lab.RunTarget{serverOf(run)}, run.Targets...)
	var reported []string
	for _, t := range ends {
		onNode := slices.ContainsFunc(run.Targets, func(o lab.RunTarget) bool {
			return o.Role == NodeOf+t.Role
		})
		if onNode || slices.Contains(reported, t.Target) || rung.Kind == ladder.Loopback && rung.Places[0] != t.Role {
			continue
		}
		reported = append(reported, t.Target)
		n := 0
		for _, f := range diagnosis.Ask(set, facts.Document{Facts: t.Facts}, rule.Options{Keep: keep}).Findings {
			if n == maxSuspects || f.Verdict != rule.Found || f.Severity == rule.Low || !ofNetworks(f) ||
				ofOtherPorts(f, t, through[t.Role]) {
				continue
			}
			n++
			c := ladder.Suspect{Target: t.Target, Rule: f.Rule, Severity: f.Severity, Title: f.Title,
				Effect: f.MainEffect(), Remedies: []string{}, Kept: f.Kept}
			for _, systems := range rule.BySetting(f.Remedies) {
				r := systems[0]
				text := r.Set
				if text == "" || strings.HasPrefix(text, "exec:") {
					text, _, _ = strings.Cut(r.Text, "\n")
				}
				if !slices.Contains(c.Remedies, text) {
					c.Remedies = append(c.Remedies, text)
				}
			}
			all = append(all, c)
		}
	}
	return all, nil
}

// portsOfRung returns the ports that the tests of a rung were meant to use, by the role of the machine, as recorded by
// their counters.
func portsOfRung(b *store.Bundle, rung ladder.Rung) (map[string][]string, error) {
	through := map[string][]string{}
	for rep, err := range b.Repetitions() {
		if err != nil {
			return nil, err
		}
		for i, pair := range b.Run.Network {
			if !strings.HasSuffix(rep.Cell, lab.CellIn("", lab.PairRole(i))) ||
				!slices.Contains(rung.Places, pair.Address) {
				continue
			}
			for _, p := range rep.Ports {
				role := map[string]string{runner.ClientEnd: pair.Client, runner.ServerEnd: pair.Server}[p.End]
				if p.Expected && !slices.Contains(through[role], p.Port) {
					through[role] = append(through[role], p.Port)
				}
			}
		}
	}
	return through, nil
}

// ofOtherPorts reports whether a finding is only about ports that a rung does not use, if it is known which it uses. A
// bond counts as used with all its members.
func ofOtherPorts(f rule.Finding, t lab.RunTarget, through []string) bool {
	if len(through) == 0 || len(f.About) == 0 {
		return false
	}
	fact := func(key, about string) string {
		i := slices.IndexFunc(t.Facts, func(o lab.Fact) bool {
			return o.Key == key && o.About == about && o.Unknown == ""
		})
		if i < 0 {
			return ""
		}
		return t.Facts[i].Value
	}
	return !slices.ContainsFunc(f.About, func(name string) bool {
		return fact("nic.kind", name) == "" || slices.Contains(through, name) ||
			slices.Contains(through, fact("nic.master", name))
	})
}

// ofNetworks reports whether a finding can reduce the bandwidth of a network.
func ofNetworks(f rule.Finding) bool {
	return slices.Contains(f.Metrics, "bandwidth") &&
		slices.Contains([]string{"network", "memory", "pcie", "iommu", "power", "kernel", "virtualisation"}, f.Class)
}

// otherLadders returns other ladders of the same ports for comparison, by their highest rung.
func otherLadders(st *store.Store, b *store.Bundle, keep, beside []string) ([]ladder.TuningRun, error) {
	if len(beside) == 0 {
		return nil, nil
	}
	knowledge, err := diff.Load()
	if err != nil {
		return nil, err
	}
	var all []ladder.TuningRun
	for _, name := range beside {
		other, err := st.Find(name)
		if err != nil {
			return nil, err
		}
		if other.Run.Concurrent == nil || other.Run.Concurrent.Kind != NetworkKind {
			return nil, app.Usage(fmt.Sprintf("run %s isn't a ladder of a network, so it can't be compared with one",
				other.Run.ID))
		}
		id, before, after, err := highest(b, other)
		if err != nil {
			return nil, err
		}
		if id == "" {
			return nil, app.Usage(fmt.Sprintf("run %s has no rung of several ports or one in common with %s",
				other.Run.ID,
				b.Run.ID), "climb the same addresses in both")
		}
		t := ladder.TuningRun{Run: other.Run.ID, Label: other.Run.Label, Changed: []string{},
			Unit: string(lab.BitsPerSecond)}
		for _, r := range NetworkRungs(b.Run) {
			if slices.ContainsFunc(r.Combinations, func(o lab.Combination) bool { return o.ID == id }) {
				t.Name = r.Name
			}
		}
		t.Before, t.After = stat.Median(before), stat.Median(after)
		change := stat.UnpairedChange(before, after, 0.95).Agreeing(t.Before, t.After)
		t.Change = stat.Estimate{Value: t.After / t.Before, Bounds: stat.BoundsOf(change.Lo, change.Hi)}
		if change.Known() {
			t.Change.Value = change.Ratio
		}
		differences := knowledge.Compare(diff.Side{Name: b.Run.ID, Facts: serverOf(b.Run).Facts},
			diff.Side{Name: other.Run.ID, Facts: serverOf(other.Run).Facts}).Differences
		for _, x := range differences {
			if len(t.Changed) < maxSuspects {
				t.Changed = append(t.Changed, fmt.Sprintf("%s: %s, then %s", x.Name, orAbsent(x.A), orAbsent(x.B)))
			}
			for _, k := range keep {
				if concerns(k, x) && t.Forbidden == "" {
					t.Forbidden = k
				}
			}
		}
		all = append(all, t)
	}
	return all, nil
}

func orAbsent(v string) string {
	if v == "" {
		return "absent"
	}
	return v
}

// concerns reports whether a difference is about a setting that --keep names: "cmdline:numa=off" names the argument
// numa, "sysctl:vm.swappiness=60" that sysctl.
func concerns(keep string, x diff.Difference) bool {
	scheme, setting, _ := strings.Cut(keep, ":")
	name, _, _ := strings.Cut(setting, "=")
	kinds := map[string]string{"cmdline": "argument", "sysctl": "sysctl", "module": "module"}
	return kinds[scheme] == x.Kind && x.Name == name
}

// highest returns the highest common rung of two ladders below both directions, and the rates to the server in each.
func highest(a, b *store.Bundle) (id string, before, after []float64, err error) {
	for _, o := range a.Run.Concurrent.Combinations {
		same := func(other lab.Combination) bool {
			return other.ID == o.ID && (o.Network != "" || slices.Equal(other.Over, o.Over))
		}
		if kind := ladder.Kind(o.Kind); (kind == ladder.Port || kind == ladder.Ports) && o.Direction == lab.Send &&
			slices.ContainsFunc(b.Run.Concurrent.Combinations, same) {
			id = o.ID
		}
	}
	rates := func(of *store.Bundle) (list []float64, err error) {
		for rep, err := range of.Repetitions() {
			if err != nil {
				return nil, err
			}
			if v, ok := rep.Values[lab.Bitrate(lab.Send)]; ok && rep.Cell == lab.CellIn(id, runner.AllTargets) {
				list = append(list, v)
			}
		}
		return list, nil
	}
	if before, err = rates(a); err == nil {
		after, err = rates(b)
	}
	if len(before) == 0 || len(after) == 0 {
		id = ""
	}
	return id, before, after, err
}
