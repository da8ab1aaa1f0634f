package diff

import "github.com/headroom/headroom/internal/lab"

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/diff/v1"

// Side is the facts of one side of a comparison.
type Side struct {
	// Name is the user's name for it: a target, a run, a file.
	Name  string
	Facts []lab.Fact
}

// Document is the result of a comparison.
type Document struct {
	Schema string `json:"schema"`
	A      string `json:"a"`
	B      string `json:"b"`
	// Differences are in the order of their likely effect on I/O.
	Differences []Difference `json:"differences"`
	Counts      Counts       `json:"counts"`
	// NotComparable are facts that one side does not know: a reason to repeat it with more rights, not a difference.
	NotComparable []NotComparable `json:"not_comparable"`
}

// Counts are the differences by kind, before anything is folded or paired.
type Counts struct {
	// Options is how many options of the build have different values. An option that a configuration does not mention
	// is "n", and renamed options count under both names.
	Options   int `json:"options"`
	Arguments int `json:"arguments"`
	Sysctls   int `json:"sysctls"`
	// Facts is the number of all others; the same difference on four disks counts four times.
	Facts         int `json:"facts"`
	NotComparable int `json:"not_comparable"`
}

// Difference is one difference, with its consequences.
type Difference struct {
	Rank int `json:"rank"`
	// Kind is option, argument, sysctl, module, fact, or thing for a device that only one side has.
	Kind string `json:"kind"`
	// Fact is the key: kernel.config.NAME, kernel.cmdline.NAME for one boot argument, sysctl.NAME, or the catalogue's.
	Fact string `json:"fact"`
	// Name is the key without the prefix of its kind: IOMMU_DEFAULT_DMA_STRICT.
	Name string `json:"name"`
	// About are the things with this difference, under each side's names; empty for the machine as a whole.
	About []Pair `json:"about,omitempty"`
	// A and B are the values. An option that is not mentioned is "n"; an argument that is not given is empty.
	A string `json:"a"`
	B string `json:"b"`
	// Weight is the likely effect on I/O, from 0 to 1: the share of throughput that the slow value is expected to cost
	// a fast disk under small random I/O, or a network at full rate, times the probability that it has an effect at all
	// on an arbitrary machine. 0.3 and more is noticed by most users; 0.05 shows in a careful measurement; below 0.01
	// it takes many repetitions; 0.001 and less is the default for differences without known effect. It is for
	// ordering, not for predictions.
	Weight float64 `json:"weight"`
	// Slower is the side that is likely slower because of it: "a", "b", or empty if unknown.
	Slower string `json:"slower,omitempty"`
	// Why is the mechanism.
	Why string `json:"why"`
	// Effect is the published figure, with the place and the machine of its measurement; Source is who published it.
	Effect string  `json:"effect,omitempty"`
	Source *Source `json:"source,omitempty"`
	// Argument is a boot argument that gives the fast value without another build.
	Argument string `json:"argument,omitempty"`
	Area     string `json:"area,omitempty"`
	// Note describes what reduces or increases the difference: both behave alike, a side overrides the build, a kernel
	// does not know the option.
	Note string `json:"note,omitempty"`
	// Renamed is the option's earlier name, if the two sides use different names.
	Renamed string `json:"renamed,omitempty"`
	// Mechanism is the evidence from profiles of both sides, and is included in the weight; absent if there is none.
	Mechanism *Mechanism `json:"mechanism,omitempty"`
	// Follows are the keys of differences that follow from this one.
	Follows []string `json:"follows,omitempty"`
}

// Pair is a thing under each side's name. If only one side has it, the other name is empty.
type Pair struct {
	A string `json:"a,omitempty"`
	B string `json:"b,omitempty"`
}

// Source is where a figure was published.
type Source struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// NotComparable is a fact that only one side knows.
type NotComparable struct {
	Fact string `json:"fact"`
	// About is the thing under the name on the side that knows it; empty for the machine as a whole.
	About string `json:"about,omitempty"`
	// Unknown is the side that does not know it: "a", "b", or "both".
	Unknown string `json:"unknown"`
	Why     string `json:"why"`
}

// Unknown is the weight up to which a difference counts as having no known effect: the weight of whole areas, and of
// differences without an entry.
const Unknown = 0.001
