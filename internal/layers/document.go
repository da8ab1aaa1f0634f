package layers

import (
	"fmt"
	"slices"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/layers/v1"

// Document is what each layer adds. Values are in base units.
type Document struct {
	Schema string `json:"schema"`
	// Layers from the bottom up.
	Layers []Layer `json:"layers"`
	// Confidence of each interval by itself.
	Confidence float64 `json:"confidence"`
	Steps      []Step  `json:"steps"`
	Sums       []Sum   `json:"sums"`
	// Warnings of all layers, from the bottom up.
	Warnings []LayerWarning `json:"warnings"`
	// Notes say what was left out, and what is in doubt about the stack.
	Notes []string `json:"notes"`
}

// NotStacked is the warning that a place does not lie on the one that was named as the layer below.
func NotStacked(upper, lower string) lab.Warning {
	return lab.Warning{Code: "not-stacked", Taints: []string{}, Text: fmt.Sprintf(
		"%s does not lie on %s, so what is found between them is a difference and not what a layer adds; layers are "+
			"named from the bottom up", upper, lower)}
}

// Stacked says that no layer is known to lie elsewhere than on the one below.
func (d *Document) Stacked() bool {
	return !slices.ContainsFunc(d.Warnings, func(w LayerWarning) bool { return w.Code == "not-stacked" })
}

// LayerWarning is a reason to distrust what was measured at a layer, in a cell or, where that is empty, in all of them.
type LayerWarning struct {
	// Layer by its place in Layers, from 0.
	Layer int `json:"layer"`
	lab.CellWarning
}

// Layer is one place that was measured.
type Layer struct {
	Name string        `json:"name"`
	Kind lab.PlaceKind `json:"kind"`
	// Filesystem of a directory.
	Filesystem string `json:"filesystem,omitempty"`
	// Run is the ID of the run that holds what was measured here.
	Run string `json:"run"`
}

// Step is one metric of one job at one layer, against the layer below.
type Step struct {
	Cell   string            `json:"cell"`
	Title  string            `json:"title"`
	Job    string            `json:"job"`
	Params map[string]string `json:"params"`
	Metric string            `json:"metric"`
	Unit   lab.Unit          `json:"unit"`
	Better lab.Better        `json:"better"`
	// Layer by its place in Layers, from 0; that of the bottom has no Added and no Ratio.
	Layer int `json:"layer"`
	// Value is the mean of N repetitions.
	Value float64 `json:"value"`
	N     int     `json:"n"`
	// Added is the difference to the mean of the layer below, in the metric's unit, and Ratio how many times that this
	// one is. Intervals are of the differences within a block.
	Added *stat.Estimate `json:"added,omitempty"`
	Ratio *stat.Estimate `json:"ratio,omitempty"`
	// Clear reports that more is added than nothing, with Confidence for all layers of the metric together.
	Clear bool `json:"-"`
	// Warnings are the codes of those that taint Value. What is added is tainted by those of the layer below as well.
	Warnings []string `json:"warnings,omitempty"`
}

// Sum holds what the layers add, one by one, against the whole of them. The parts come from the odd blocks and the
// whole from the even ones: out of the same blocks they would agree by arithmetic, whatever was measured.
type Sum struct {
	Cell   string            `json:"cell"`
	Title  string            `json:"title"`
	Job    string            `json:"job"`
	Params map[string]string `json:"params"`
	Metric string            `json:"metric"`
	Parts  stat.Estimate     `json:"parts"`
	Whole  stat.Estimate     `json:"whole"`
	// Agree says that the two differ by no more than their spread explains.
	Agree bool `json:"agree"`
}
