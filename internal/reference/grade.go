package reference

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// Grade is how far a measured figure can be compared with a published one.
type Grade string

// The grades. SameConditions is the best, and even that compares with a figure without a spread.
const (
	// SameConditions: the same load, kind of place, model of drive, processor and kernel.
	SameConditions Grade = "same conditions"
	// Close: the same load on the same model of drive; other differences and unknowns are listed.
	Close Grade = "close"
	// OrderOfMagnitude: the same kind of load (operation, block size, operations in flight); a factor of two means
	// nothing.
	OrderOfMagnitude Grade = "only the order of magnitude"
)

// Difference is a condition in which a measurement and a publication differ, or may: an empty value is unknown.
type Difference struct {
	Condition string `json:"condition"`
	Published string `json:"published,omitempty"`
	Measured  string `json:"measured,omitempty"`
}

// String returns the difference in words: "iodepth 8, here 32"; "disk model not stated".
func (d Difference) String() string {
	switch {
	case d.Published == "":
		return d.Condition + " not stated"
	case d.Measured == "":
		return fmt.Sprintf("%s %s, here not known", d.Condition, d.Published)
	}
	return fmt.Sprintf("%s %s, here %s", d.Condition, d.Published, d.Measured)
}

// Comparability is a grade with the reasons against a better one.
type Comparability struct {
	Grade       Grade        `json:"grade"`
	Differences []Difference `json:"differences,omitempty"`
}

// Measurement is a measured cell to compare with a published result, on a place, on a machine with these facts.
type Measurement struct {
	Cell  lab.Cell
	Place lab.Place
	Facts []lab.Fact
}

// Compare grades a result of the reference against a measurement. ok is false if the loads are of different kinds, so
// that not even the order of magnitude is comparable: another load generator, another operation or block size, flushed
// or not, through the page cache or not, or many more operations in flight.
func (r Reference) Compare(result Result, m Measurement) (c Comparability, ok bool) {
	if result.Engine != m.Cell.Engine || !sameKind(result.Params, m.Cell) {
		return Comparability{}, false
	}
	load := loadDifferences(result.Params, m.Cell)
	load = append(load, r.cached(result, m)...)
	drive := r.driveDifference(m)
	rest := r.otherDifferences(result, m)
	switch {
	case len(load) > 0 || drive != nil:
		c.Grade = OrderOfMagnitude
	case len(rest) > 0:
		c.Grade = Close
	default:
		c.Grade = SameConditions
	}
	c.Differences = load
	if drive != nil {
		c.Differences = append(c.Differences, *drive)
	}
	c.Differences = append(c.Differences, rest...)
	return c, true
}

// sameKind reports whether two loads are similar enough for their figures to be of one order. A parameter that a source
// does not state is no difference; but a source that states neither the operation nor the block size matches no load.
func sameKind(published map[string]string, cell lab.Cell) bool {
	if published["rw"] == "" && published["bs"] == "" {
		return false
	}
	for _, name := range []string{"rw", "bs", "direct"} {
		here := Known(cell.Params, cell.Partial, name)
		if here == "" && name == "direct" {
			continue
		}
		if published[name] != "" && Plain(published[name]) != Plain(here) {
			return false
		}
	}
	if flushes(published) != flushes(cell.Params) && !cell.Partial {
		return false
	}
	if published["iodepth"] == "" || published["numjobs"] == "" || Known(cell.Params, cell.Partial, "iodepth") == "" {
		return true
	}
	here, there := inFlight(cell.Params), inFlight(published)
	return here <= depthFactor*there && there <= depthFactor*here
}

// depthFactor is the ratio of operations in flight up to which loads are of the same kind.
const depthFactor = 4

func inFlight(params map[string]string) int {
	depth, _ := strconv.Atoi(Parameter(params, "iodepth"))
	jobs, _ := strconv.Atoi(Parameter(params, "numjobs"))
	return max(depth, 1) * max(jobs, 1)
}

// flushes reports whether a load forces written data to stable storage by its parameters.
func flushes(params map[string]string) bool {
	for _, name := range []string{"fsync", "fdatasync", "sync"} {
		if v := Parameter(params, name); v != "0" && v != "none" {
			return true
		}
	}
	return false
}

// loadDifferences returns the differences in the parameters that define a load.
func loadDifferences(published map[string]string, cell lab.Cell) []Difference {
	var differences []Difference
	for _, name := range []string{"rw", "bs", "iodepth", "numjobs", "direct", "fsync", "fdatasync",
		"sync", "rwmixread"} {
		here := Known(cell.Params, cell.Partial, name)
		if published[name] == "" && slices.Contains([]string{"fsync", "fdatasync", "sync", "rwmixread"}, name) &&
			(here == "" || here == Parameter(nil, name)) {
			continue // sources do not state parameters that they left alone
		}
		if here == "" || Plain(published[name]) != Plain(here) {
			differences = append(differences, Difference{name, published[name], here})
		}
	}
	return differences
}

// Parameter returns a parameter, or fio's default if it is not set. A measured cell names all parameters that were set.
func Parameter(params map[string]string, name string) string {
	if v := params[name]; v != "" {
		return v
	}
	return map[string]string{"rw": "read", "bs": "4k", "iodepth": "1", "numjobs": "1", "direct": "0", "fsync": "0",
		"fdatasync": "0", "sync": "0",
		"rwmixread": "50", "ioengine": "psync"}[name]
}

// Known is Parameter, except that it returns an empty string if the parameters are partial and lack the name.
func Known(params map[string]string, partial bool, name string) string {
	if partial {
		return params[name]
	}
	return Parameter(params, name)
}

// Plain returns an amount as a number, so that 4k is 4096; other values are unchanged.
func Plain(value string) string {
	if n, err := unit.ParseBytes(value); err == nil {
		return strconv.FormatInt(n, 10)
	}
	return strings.ToLower(value)
}

// cached returns a difference if the page cache makes two buffered loads incomparable: data fits into memory on one
// side only, or its extent is unknown.
func (r Reference) cached(result Result, m Measurement) []Difference {
	if result.Params["direct"] == "1" || Parameter(m.Cell.Params, "direct") == "1" {
		return nil
	}
	fits := func(params map[string]string, place lab.Place, facts []lab.Fact) string {
		size, _ := unit.ParseBytes(params["size"])
		if size == 0 {
			size = place.Size
		}
		memory, _ := strconv.ParseInt(fact(facts, "memory.total"), 10, 64)
		switch jobs, _ := strconv.ParseInt(Parameter(params, "numjobs"), 10, 64); {
		case size == 0 || memory == 0:
			return ""
		case size*max(jobs, 1) < memory:
			return "within memory"
		}
		return "beyond memory"
	}
	published, measured := fits(result.Params, r.Place, r.Facts), fits(m.Cell.Params, m.Place, m.Facts)
	if published != "" && published == measured {
		return nil
	}
	return []Difference{{"buffered data", published, measured}}
}

// driveDifference returns nil if the models of the drives are equal.
func (r Reference) driveDifference(m Measurement) *Difference {
	var models []string
	for _, f := range m.Facts {
		other := len(m.Place.Disks) > 0 && !slices.Contains(m.Place.Disks, f.About)
		if f.Value != "" && (f.Key == "disk.under-test.model" || f.Key == "disk.model" && !other) {
			models = append(models, f.Value)
		}
	}
	slices.Sort(models)
	models = slices.Compact(models)
	if r.Model != nil && len(models) > 0 && !slices.ContainsFunc(models, func(model string) bool {
		return !r.Model.MatchString(model)
	}) {
		return nil
	}
	return &Difference{"drive", r.Hardware, strings.Join(models, ", ")}
}

// otherDifferences returns differences other than the load and the drive.
func (r Reference) otherDifferences(result Result, m Measurement) []Difference {
	var differences []Difference
	compare := func(condition, published, measured string) {
		if published != measured || published == "" {
			differences = append(differences, Difference{condition, published, measured})
		}
	}
	if published, measured := result.Params["ioengine"], Known(m.Cell.Params, m.Cell.Partial,
		"ioengine"); published != measured {
		compare("ioengine", published, measured)
	}
	if r.Place.Kind != m.Place.Kind {
		compare("place", string(r.Place.Kind), string(m.Place.Kind))
	} else if r.Place.Kind == lab.Directory {
		compare("file system", r.Place.Filesystem, m.Place.Filesystem)
	}
	compare("processor", fact(r.Facts, "cpu.model"), fact(m.Facts, "cpu.model"))
	compare("kernel", series(fact(r.Facts, "kernel.release")), series(fact(m.Facts, "kernel.release")))
	return differences
}

// series returns the series of a kernel's release: 6.1 of 6.1.0-28-amd64.
func series(release string) string {
	parts := strings.SplitN(release, ".", 3)
	if len(parts) < 2 {
		return release
	}
	return parts[0] + "." + parts[1]
}

// fact returns the value of a fact about the whole machine; empty if it is unknown.
func fact(facts []lab.Fact, key string) string {
	for _, f := range facts {
		if f.Key == key && f.About == "" && f.Unknown == "" {
			return f.Value
		}
	}
	return ""
}
