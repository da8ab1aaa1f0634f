package results

import (
	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/diagnosis"
	"github.com/headroom/headroom/internal/diff"
	"github.com/headroom/headroom/internal/facts"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile/cost"
	"github.com/headroom/headroom/internal/rule"
	"github.com/headroom/headroom/internal/store"
)

// FactsForOthers returns the facts of a run's target, by its role if there are several, without serial numbers,
// addresses and names of hosts.
func FactsForOthers(b *store.Bundle, role string) (facts.Document, error) {
	d, err := app.FactsOfRun(b, role)
	return d.Redacted(), err
}

// DiagnosisForOthers returns the findings of the built-in rules about the machine of a run and its profiles, from facts
// for others.
func DiagnosisForOthers(b *store.Bundle, role string) (diagnosis.Document, error) {
	d, err := FactsForOthers(b, role)
	if err != nil {
		return diagnosis.Document{}, err
	}
	set, err := LoadRules("")
	if err != nil {
		return diagnosis.Document{}, err
	}
	loads, err := app.LoadsOfRun(b, role)
	if err != nil {
		return diagnosis.Document{}, err
	}
	if len(loads) > 0 {
		costs, err := cost.Of(loads, cost.Options{Emulated: len(emulated(b.Run)) > 0})
		if err != nil {
			return diagnosis.Document{}, err
		}
		d.Facts = append(d.Facts, diagnosis.FactsOfProfiles(costs, loads)...)
	}
	measured, err := diagnosis.FactsOfLoads(b.Run, role, b.Repetitions())
	if err != nil {
		return diagnosis.Document{}, err
	}
	d.Facts = append(d.Facts, measured...)
	return diagnosis.Of(set, d, rule.Options{})
}

// DiagnosesForOthers returns the findings about the machines of a run on several targets, each finding once.
func DiagnosesForOthers(b *store.Bundle) (diagnosis.Several, error) {
	set, err := LoadRules("")
	if err != nil {
		return diagnosis.Several{}, err
	}
	knowledge, err := diff.Load()
	if err != nil {
		return diagnosis.Several{}, err
	}
	roles := app.Machines(b)
	all := diagnosis.NewCollection(len(roles), func(d facts.Document) rule.Report {
		return diagnosis.Ask(set, d, rule.Options{})
	})
	for i, role := range roles {
		d, err := app.FactsOfRun(b, role)
		if err != nil {
			return diagnosis.Several{}, err
		}
		all.Add(i, role, b.Run.ID+":"+role, d)
		if all.Memory() > MostKnown {
			return diagnosis.Several{}, tooMuchKnown("name one machine: " + b.Run.ID + ":" + role)
		}
	}
	return all.Redacted().Document(knowledge), nil
}

// DifferencesForOthers returns the differences between two machines, ranked by how likely they matter.
func DifferencesForOthers(a, b facts.Document) (diff.Document, error) {
	knowledge, err := diff.Load()
	if err != nil {
		return diff.Document{}, err
	}
	return knowledge.Compare(diff.Side{Name: a.Target, Facts: a.Facts}, diff.Side{Name: b.Target, Facts: b.Facts}), nil
}

// LoadRules reads the built-in rules, and the rules of a file.
func LoadRules(file string) (*rule.Set, error) {
	rules, err := rule.BuiltIn()
	if err != nil {
		return nil, err
	}
	if file != "" {
		data, err := app.ReadInput(file)
		if err != nil {
			return nil, &lab.Error{Kind: lab.Usage, What: "can't read the rules", Err: err}
		}
		own, err := rule.Decode(file, data)
		if err != nil {
			return nil, err
		}
		rules = append(rules, own...)
	}
	return rule.Compile(rules)
}
