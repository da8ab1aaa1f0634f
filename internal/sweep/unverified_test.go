package sweep

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

// A level that nothing shows to be in effect is not called the same as another, unless a load tells them apart.
func TestALevelThatIsNotVerifiedIsNotTheSame(t *testing.T) {
	sweep := func(rates map[string]float64, unverified ...lab.Unverified) Document {
		run, reps := sweepRun("cmdline:threadirqs", "absent", "1", "2")
		run.Experiment.Reference, run.Arms = "", run.Arms[:3]
		run.NotVerified = unverified
		var kept []lab.Repetition
		for _, r := range reps {
			id, arm, _ := strings.Cut(r.Cell, "@arm-")
			if rate, ok := rates[id+" "+arm]; ok || arm != "" {
				if !ok {
					rate = 100
				}
				r.Values = map[string]float64{"read.iops": rate * (1 + 0.0001*float64(r.Block))}
				kept = append(kept, r)
			}
		}
		run.Cells = run.Cells[:6]
		in, err := FromRun(run, sequence(kept, nil), Known{})
		if err != nil {
			t.Fatal(err)
		}
		return Analyze(in)
	}
	open := lab.Unverified{Factor: "cmdline:threadirqs", Level: "2", Reason: "nothing shows it"}
	verdicts := func(d Document) (list []Verdict) {
		for _, c := range d.Cells {
			list = append(list, c.Verdict, c.Levels[1].ToBaseline.Verdict, c.Levels[2].ToBaseline.Verdict)
		}
		return list
	}
	for name, c := range map[string]struct {
		d    Document
		want [6]Verdict
		why  string
	}{
		"verified": {sweep(nil), [6]Verdict{Same, Same, Same, Same, Same, Same}, ""},
		"not verified": {sweep(nil, open), [6]Verdict{Undecided, Same, Undecided, Undecided, Same, Undecided},
			"nothing shows it"},
		"seen in one load": {sweep(map[string]float64{"randread-4k 2": 50}, open),
			[6]Verdict{Same, Same, Worse, Same, Same, Same}, ""},
	} {
		if got := verdicts(c.d); len(got) != 6 || [6]Verdict(got) != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if c.d.Levels[2].NotVerified != c.why || (len(c.d.Notes) > 0) != (c.why != "") {
			t.Errorf("%s: %+v, %v", name, c.d.Levels, c.d.Notes)
		}
	}
}
