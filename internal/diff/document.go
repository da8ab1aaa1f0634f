package diff

import "github.com/headroom/headroom/internal/lab"

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/diff/v1"

// Side is what is known of one of the two that are compared.
type Side struct {
	// Name is what the user called it: a target, a run, a file.
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
	// NotComparable is what one side does not know: a reason to look with more rights, not a difference.
	NotComparable []NotComparable `json:"not_comparable"`
}

// Counts are the differences by kind, before anything is folded or paired.
type Counts struct {
	// Options are the options of the build whose value differs, where one that a configuration does not mention is "n"
	// and renamed options count under both names.
	Options   int `json:"options"`
	Arguments int `json:"arguments"`
	Sysctls   int `json:"sysctls"`
	// Facts are all others; the same difference on four disks counts four times.
	Facts         int `json:"facts"`
	NotComparable int `json:"not_comparable"`
}

// Difference is one thing that differs, with what follows from it.
type Difference struct {
	Rank int `json:"rank"`
	// Kind is option, argument, sysctl, module, fact, or thing for a device that only one side has.
	Kind string `json:"kind"`
	// Fact is the key: kernel.config.NAME, kernel.cmdline.NAME for one boot argument, sysctl.NAME, or the catalogue's.
	Fact string `json:"fact"`
	// Name is the key without what is the same for all of its kind: IOMMU_DEFAULT_DMA_STRICT.
	Name string `json:"name"`
	// About are the things that differ so, as each side calls them; empty for the machine as a whole.
	About []Pair `json:"about,omitempty"`
	// A and B are the values. An option that is not mentioned is "n"; an argument that is not given is empty.
	A string `json:"a"`
	B string `json:"b"`
	// Weight is the likely effect on I/O, from 0 to 1: the share of throughput that the slow value is expected to cost
	// a fast disk under small random I/O, or a network at full rate, times how likely it is that it acts at all on an
	// arbitrary machine. 0.3 and more is most likely noticed by anybody; 0.05 shows in a careful measurement; below
	// 0.01 it takes many repetitions; 0.001 and less is the default for what nothing is known of. It orders; it
	// predicts nothing.
	Weight float64 `json:"weight"`
	// Slower is the side that is likely slower for it: "a", "b", or empty when that is not known.
	Slower string `json:"slower,omitempty"`
	// Why is the mechanism.
	Why string `json:"why"`
	// Effect is what was published, where and on what; Source says by whom.
	Effect string  `json:"effect,omitempty"`
	Source *Source `json:"source,omitempty"`
	// Argument is a boot argument that gives the fast value without another build.
	Argument string `json:"argument,omitempty"`
	Area     string `json:"area,omitempty"`
	// Note says what takes away from the difference, or adds to it: that both run alike, that a side overrides the
	// build, that a kernel does not know the option.
	Note string `json:"note,omitempty"`
	// Renamed is what the option was called before, when the two sides call it differently.
	Renamed string `json:"renamed,omitempty"`
	// Mechanism is what profiles of both sides say of it, and is in the weight; absent where they say nothing.
	Mechanism *Mechanism `json:"mechanism,omitempty"`
	// Follows are the keys of differences that follow from this one.
	Follows []string `json:"follows,omitempty"`
}

// Pair is a thing as each side calls it. One that only one side has is empty on the other.
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
	// About is the thing as the side that knows it calls it; empty for the machine as a whole.
	About string `json:"about,omitempty"`
	// Unknown is the side that does not know it: "a", "b", or "both".
	Unknown string `json:"unknown"`
	Why     string `json:"why"`
}

// Unknown is the weight up to which nothing is known of a difference: those of whole areas have it, and what nobody has
// written an entry for.
const Unknown = 0.001
