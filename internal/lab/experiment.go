package lab

import (
	"fmt"
	"slices"
)

// Experiment is what a run with several arms varies, and on what terms it is decided, settled before anything was
// measured.
type Experiment struct {
	// Kind is the verb: "sweep", "ablate".
	Kind string `json:"kind"`
	// Factors in the order in which they are shown.
	Factors []VariedFactor `json:"factors"`
	// Baseline is the arm that the others are compared with; Reference is one that is no level of the factor (the same
	// disk on the host), empty for none. Both are IDs of arms.
	Baseline  string `json:"baseline"`
	Reference string `json:"reference,omitempty"`
	// Margin within which two levels are the same, Alpha bounds the probability that any claim is wrong.
	Margin float64 `json:"margin"`
	Alpha  float64 `json:"alpha"`
	// Blocks is how many times all arms are visited at most, MinBlocks how many times at least: a sweep with Looks
	// looks after so many.
	Blocks    int `json:"blocks"`
	MinBlocks int `json:"fewest,omitempty"`
	// Looks is how many times what was measured is looked at to decide which loads are worth more blocks: each
	// statement shares its risk out among them. 0 where all loads have as many.
	Looks int `json:"looks,omitempty"`
	// MostPairs is how many pairs of settings are measured at most where effects do not add up. Pairs are those that
	// were chosen, by the numbers of their settings from 1, and PairsFrom is the first block that visits them.
	MostPairs int      `json:"most_pairs,omitempty"`
	Pairs     [][2]int `json:"pairs,omitempty"`
	PairsFrom int      `json:"pairs_from,omitempty"`
	// Share of the best level's result that a level must reach to be enough: 0.9.
	Share float64 `json:"share,omitempty"`
	// Limit is a latency in seconds that the Quantile ("p99") of a load is to stay within, where the levels are more
	// and more load; 0 where none was asked for.
	Limit    float64 `json:"limit,omitempty"`
	Quantile string  `json:"quantile,omitempty"`
	// BootOn is the machine whose boot is varied, where that is not the one that loads run on.
	BootOn string `json:"boot_on,omitempty"`
	// Steps says that the levels of the one factor are a series, and that a search looks for the steps between
	// neighbours that make a difference.
	Steps bool `json:"steps,omitempty"`
	// Commits says where the levels of such a series come from, where they are commits; nil for other series.
	Commits *Commits `json:"commits,omitempty"`
	// Kernels says how the kernels are built whose options are searched; nil where none are.
	Kernels *Kernels `json:"kernels,omitempty"`
	// Priors say of each factor how likely it was the culprit before anything was measured; they sum to 1. Nil where
	// all were thought of alike.
	Priors []float64 `json:"priors,omitempty"`
	// PriorsFrom is what they rest on: PriorsFromKnowledge, PriorsFromProfiles, or PriorsFromNothing where nothing is
	// to be taken into account. Empty where nothing was known at first, and of runs of older versions.
	PriorsFrom string `json:"priors_from,omitempty"`
	// Excluded is what differs between the two states and is not searched, since no setting stands for it: an option
	// of the kernel's build, a device; nil for none.
	Excluded *Excluded `json:"unsearched,omitempty"`
	// SearchSteps are the measurements of a search for culprits in their order, which what was measured before decides.
	SearchSteps []SearchStep `json:"asked,omitempty"`
	// Keep are the settings that must stay as they are.
	Keep []string `json:"keep,omitempty"`
	// Commands are those of exec: factors, by their names.
	Commands map[string]SettingCommands `json:"commands,omitempty"`
}

// What priors rest on: nothing, what is known of settings, or that with profiles of the two ends.
const (
	PriorsFromNothing   = "nothing"
	PriorsFromKnowledge = "knowledge"
	PriorsFromProfiles  = "profiles"
)

// Excluded are differences that a search leaves out: how many, and the first of them, the likeliest to matter.
type Excluded struct {
	Count int      `json:"count"`
	First []string `json:"first"`
}

// SearchStep is one measurement of a search: the arm that is visited, and what for ("anchor", "tell", "proof").
type SearchStep struct {
	Arm     string `json:"arm"`
	Purpose string `json:"purpose"`
	// Failed is why the arm can't be measured at all: a commit doesn't build, or its program crashes. The search goes
	// on without it.
	Failed string `json:"failed,omitempty"`
}

// Commits is a series of commits of a git tree.
type Commits struct {
	// Tree is the folder of the tree, Good and Bad are what the ends were called.
	Tree string `json:"tree"`
	Good string `json:"good"`
	Bad  string `json:"bad"`
	// Build is the command that builds a commit; empty where nothing is to be built.
	Build []string `json:"build,omitempty"`
	// Kept is how many built commits are kept at most.
	Kept int `json:"kept"`
}

// Kernels are those between two configurations of the build: each has some of the options as the one, and the rest as
// the other.
type Kernels struct {
	// Tree is the folder of the source, Release what it says it is, and Make are variables for its make.
	Tree    string   `json:"tree"`
	Release string   `json:"release"`
	Make    []string `json:"make,omitempty"`
	// Good and Bad are the files with the configurations, and Sums the SHA-256 of what they held.
	Good string    `json:"good"`
	Bad  string    `json:"bad"`
	Sums [2]string `json:"sums"`
	// Groups are the options that can only be switched together, in the order of the factors, each of which is called
	// by the first of its group.
	Groups [][]string `json:"groups"`
	// Follows are options that differ and that nobody can choose: they follow from others.
	Follows []string `json:"follows,omitempty"`
}

// Noun is what the experiment is called: "sweep", "ablation".
func (e Experiment) Noun() string {
	switch e.Kind {
	case "ablate":
		return "ablation"
	case "bisect":
		return "bisection"
	}
	return e.Kind
}

// Title is the experiment in a few words: "sweep of queue:scheduler", "ablation of 5 settings".
func (e Experiment) Title() string {
	var names []string
	for _, f := range e.Factors {
		if !slices.Contains(names, f.Factor) {
			names = append(names, f.Factor)
		}
	}
	if len(names) == 1 {
		return e.Noun() + " of " + names[0]
	}
	return fmt.Sprintf("%s of %d settings", e.Noun(), len(names))
}

// SettingCommands are the user's own commands that change a setting. {level} stands for the level to set, {old} for the
// one to put back; Verify prints the level in effect.
type SettingCommands struct {
	Apply  []string `json:"apply"`
	Verify []string `json:"verify"`
	Undo   []string `json:"undo"`
}

// VariedFactor is one factor of an experiment.
type VariedFactor struct {
	// Factor is its name with its scheme: "sysctl:vm.dirty_ratio".
	Factor string `json:"factor"`
	// Levels that are tried, in the order in which they are shown. The word "found" stands for what was there before.
	Levels []string `json:"levels"`
	// Titles of the levels, in the same order: the subjects of commits. Absent where levels have none.
	Titles []string `json:"titles,omitempty"`
	// Needs says what it takes to change the level: "nothing", "remount", "reload", "reboot".
	Needs string `json:"needs"`
	// Found is the level before the experiment, where it could be read.
	Found string `json:"found,omitempty"`
}
