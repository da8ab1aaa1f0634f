package lab

import "testing"

func TestTitleOfAnExperiment(t *testing.T) {
	for want, e := range map[string]Experiment{
		"sweep of job:iodepth":   {Kind: "sweep", Factors: []VariedFactor{{Factor: "job:iodepth"}}},
		"ablation of 2 settings": {Kind: "ablate", Factors: []VariedFactor{{Factor: "env:A"}, {Factor: "env:B"}}},
		"ablation of sysctl:vm.nr_huge": {Kind: "ablate",
			Factors: []VariedFactor{{Factor: "sysctl:vm.nr_huge"}, {Factor: "sysctl:vm.nr_huge"}}},
	} {
		if got := e.Title(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
