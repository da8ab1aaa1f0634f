package lab

import (
	"fmt"
	"slices"
)

// Experiment is what a run with several arms varies, and the terms on which it is decided. Both are settled before
// anything is measured.
type Experiment struct {
	// Kind is the verb: "sweep", "ablate".
	Kind string `json:"kind"`
	// Factors in the order in which they are shown.
	Factors []VariedFactor `json:"factors"`
	// Baseline is the arm that the others are compared with. Reference is an arm that is no level of the factor (the
	// same disk on the host), empty for none. Both are IDs of arms.
	Baseline  string `json:"baseline"`
	Reference string `json:"reference,omitempty"`
	// Margin within which two levels count as the same. Alpha bounds the probability that any claim is wrong.
	Margin float64 `json:"margin"`
	Alpha  float64 `json:"alpha"`
	// Blocks is the maximum number of times that all arms are visited, MinBlocks the minimum: a sweep with Looks first
	// looks after MinBlocks.
	Blocks    int `json:"blocks"`
	MinBlocks int `json:"fewest,omitempty"`
	// Looks is how many times the results so far are examined to decide which loads deserve more blocks. Each statement
	// divides its risk among the looks. 0 where all loads have the same number of blocks.
	Looks int `json:"looks,omitempty"`
	// MostPairs is the maximum number of pairs of settings to measure where effects do not add up. Pairs are the chosen
	// pairs, by the numbers of their settings from 1. PairsFrom is the first block that visits them.
	MostPairs int      `json:"most_pairs,omitempty"`
	Pairs     [][2]int `json:"pairs,omitempty"`
	PairsFrom int      `json:"pairs_from,omitempty"`
	// Share of the best level's result that a level must reach to suffice: 0.9.
	Share float64 `json:"share,omitempty"`
	// Limit is the latency, in seconds, that the Quantile ("p99") of a load must not exceed, where the levels are
	// increasing loads; 0 for no limit.
	Limit    float64 `json:"limit,omitempty"`
	Quantile string  `json:"quantile,omitempty"`
	// BootOn is the machine whose boot is varied, if it is not the machine that runs the loads.
	BootOn string `json:"boot_on,omitempty"`
	// Steps is true if the levels of the only factor are a series, in which a search looks for the steps between
	// neighbours that make a difference.
	Steps bool `json:"steps,omitempty"`
	// Commits describes the source of the levels if they are commits; nil for other series.
	Commits *Commits `json:"commits,omitempty"`
	// Kernels describes how the kernels are built whose options are searched; nil where none are.
	Kernels *Kernels `json:"kernels,omitempty"`
	// Priors are the probabilities of each factor to be the culprit, before anything was measured; they sum to 1. Nil
	// if all are equally likely.
	Priors []float64 `json:"priors,omitempty"`
	// PriorsFrom is the basis of the priors: PriorsFromKnowledge, PriorsFromProfiles, or PriorsFromNothing if they
	// were turned off. Empty where nothing was known at first, and in runs of older versions.
	PriorsFrom string `json:"priors_from,omitempty"`
	// Excluded are differences between the two states that are not searched because no setting controls them: an option
	// of the kernel's build, a device; nil for none.
	Excluded *Excluded `json:"unsearched,omitempty"`
	// SearchSteps are the measurements of a search for culprits, in order. Earlier measurements decide the later ones.
	SearchSteps []SearchStep `json:"asked,omitempty"`
	// Keep are settings that must not change.
	Keep []string `json:"keep,omitempty"`
	// Commands of exec: factors, by their names.
	Commands map[string]SettingCommands `json:"commands,omitempty"`
}

// The basis of priors: nothing, general knowledge of settings, or that knowledge and profiles of the two ends.
const (
	PriorsFromNothing   = "nothing"
	PriorsFromKnowledge = "knowledge"
	PriorsFromProfiles  = "profiles"
)

// Excluded are differences that a search leaves out: how many, and the first ones, which are the likeliest to matter.
type Excluded struct {
	Count int      `json:"count"`
	First []string `json:"first"`
}

// SearchStep is one measurement of a search: the arm that is visited, and its purpose ("anchor", "tell", "proof").
type SearchStep struct {
	Arm     string `json:"arm"`
	Purpose string `json:"purpose"`
	// Failed is why the arm can't be measured at all: a commit doesn't build, or its program crashes. The search
	// continues without it.
	Failed string `json:"failed,omitempty"`
}

// Commits is a series of commits of a git tree.
type Commits struct {
	// Tree is the folder of the tree. Good and Bad are the names that the user gave the ends.
	Tree string `json:"tree"`
	Good string `json:"good"`
	Bad  string `json:"bad"`
	// Build is the command that builds a commit; empty where no build is needed.
	Build []string `json:"build,omitempty"`
	// Kept is how many built commits are kept at most.
	Kept int `json:"kept"`
}

// Kernels are the kernels between two build configurations: each takes some options from one configuration and the rest
// from the other.
type Kernels struct {
	// Tree is the folder of the source, Release the version that the source reports, and Make are variables for its
	// make.
	Tree    string   `json:"tree"`
	Release string   `json:"release"`
	Make    []string `json:"make,omitempty"`
	// Good and Bad are the files with the configurations, and Sums the SHA-256 of their contents.
	Good string    `json:"good"`
	Bad  string    `json:"bad"`
	Sums [2]string `json:"sums"`
	// Groups are the options that can only be switched together, in the order of the factors. A factor is named after
	// the first option of its group.
	Groups [][]string `json:"groups"`
	// Follows are options that differ but can't be chosen, because they follow from others.
	Follows []string `json:"follows,omitempty"`
}

// Noun returns the name of the experiment's kind: "sweep", "ablation".
func (e Experiment) Noun() string {
	switch e.Kind {
	case "ablate":
		return "ablation"
	case "bisect":
		return "bisection"
	}
	return e.Kind
}

// Title returns a short description of the experiment: "sweep of queue:scheduler", "ablation of 5 settings".
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

// SettingCommands are the user's own commands that change a setting. {level} is replaced by the level to set, {old} by
// the level to restore. Verify prints the level in effect.
type SettingCommands struct {
	Apply  []string `json:"apply"`
	Verify []string `json:"verify"`
	Undo   []string `json:"undo"`
}

// VariedFactor is one factor of an experiment.
type VariedFactor struct {
	// Factor is its name with its scheme: "sysctl:vm.dirty_ratio".
	Factor string `json:"factor"`
	// Levels to try, in the order in which they are shown. The word "found" is the level before the experiment.
	Levels []string `json:"levels"`
	// Titles of the levels, in the same order: the subjects of commits. Absent if levels have none.
	Titles []string `json:"titles,omitempty"`
	// Needs is what it takes to change the level: "nothing", "remount", "reload", "reboot".
	Needs string `json:"needs"`
	// Found is the level before the experiment, if it could be read.
	Found string `json:"found,omitempty"`
}
