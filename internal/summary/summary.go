package summary

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outliers"
	"github.com/headroom/headroom/internal/paths"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/stat"
)

// Schema names the published JSON document. Fields are added to it, never renamed and never removed.
const Schema = "headroom/run/v1"

// Run is a run in the form that is published and shown. Everything is in base units; what is absent was not
// measured or is not known.
type Run struct {
	Schema   string     `json:"schema"`
	ID       string     `json:"id"`
	Label    string     `json:"label,omitempty"`
	Status   lab.Status `json:"status"`
	Source   lab.Source `json:"source,omitempty"`
	Format   string     `json:"format,omitempty"`
	Created  time.Time  `json:"created,omitzero"`
	Finished time.Time  `json:"finished,omitzero"`
	Version  string     `json:"version,omitempty"`
	Command  []string   `json:"command,omitempty"`

	Suite     string `json:"suite"`
	SuiteText string `json:"suite_text,omitempty"`
	Order     string `json:"order,omitempty"`
	Seed      uint64 `json:"seed,omitempty"`
	// Precision asked for, as a share, and the budget for it, in seconds; 0 where none was asked for. Anytime says that
	// what was measured decided how often to repeat: intervals are such as hold at all looks together.
	Precision float64 `json:"precision,omitempty"`
	Budget    float64 `json:"budget,omitempty"`
	// EndedAfter is how far the run came when its budget ended it; absent where nothing was left undone.
	EndedAfter string `json:"ended_after,omitempty"`
	Anytime    bool   `json:"anytime,omitempty"`
	// Pause between two loads, in seconds.
	Pause       float64 `json:"pause,omitempty"`
	AsPublished bool    `json:"as_published,omitempty"`

	// Experiment describes what a run with several arms varies; nil for a run that varies nothing.
	Experiment *lab.Experiment `json:"experiment,omitempty"`
	// NotVerified are settings of the boot whose effect nothing shows.
	NotVerified []lab.Unverified `json:"not_verified,omitempty"`

	// Design is what the run was measured for, and so the command that resumes it.
	Design lab.Design `json:"-"`
	// Network are the pairs between which one is measured; absent in a run of storage.
	Network []lab.NetworkPair `json:"network,omitempty"`
	// Study lists which arms are loaded at the same time; absent where all are.
	Study *lab.ConcurrentDesign `json:"study,omitempty"`

	Targets []lab.RunTarget `json:"targets"`
	Cells   []Cell          `json:"cells"`
	// Undecided are the metrics that are not as precise as was asked for.
	Undecided []Undecided `json:"undecided,omitempty"`
	// Outliers say which of several targets that were measured together are not like the others; absent where there
	// were fewer than three.
	Outliers *outliers.Document `json:"outliers,omitempty"`
	// Events are the events caused on purpose during the loads; nil where nothing was.
	Events *Events `json:"events,omitempty"`
	// Plateaus are cells that agree at the top although their loads differ.
	Plateaus []Plateau `json:"plateaus,omitempty"`
	// Warnings about the run as a whole; those about one cell are with the cell.
	Warnings []lab.RepeatedWarning `json:"warnings"`
}

// Cell is one job at one combination of parameters and levels, over all its repetitions.
type Cell struct {
	ID string `json:"id"`
	// Arm of an experiment; empty for a run that varies nothing.
	Arm    string `json:"arm,omitempty"`
	Job    string `json:"job"`
	Engine string `json:"engine,omitempty"`
	// Runs is what a cell of the engine "exec" runs.
	Runs   *lab.Command      `json:"runs,omitempty"`
	Params map[string]string `json:"params"`
	Levels map[string]string `json:"levels"`
	Role   string            `json:"role,omitempty"`
	Target string            `json:"target"`
	Steps  []lab.Step        `json:"steps,omitempty"`
	// Planned repetitions; 0 for an import.
	Planned int `json:"planned,omitempty"`
	// N repetitions were measured; 0 when the run was cut off before the first.
	N       int               `json:"n"`
	Metrics map[string]Metric `json:"metrics"`
	// Latency by direction: the bins of all repetitions added.
	Latency map[string]lab.Histogram `json:"latency,omitempty"`
	// Series of the first repetitions, at most MaxSeriesRepetitions of them.
	Series []Series `json:"series,omitempty"`
	// Ports are what went through those of both ends of a network, or of the client of a file server, by repetition.
	Ports []PortTraffic `json:"ports,omitempty"`
	// Transports are the connections of a mount in the same way, and Paths what share of all went over each of several
	// ports or connections.
	Transports []TransportCalls `json:"transports,omitempty"`
	Paths      []paths.Share    `json:"paths,omitempty"`
	// Command of the first repetition. Later ones differ in file names only.
	Command  []string              `json:"command,omitempty"`
	Warnings []lab.RepeatedWarning `json:"warnings"`
}

// PortTraffic is what went through a port during a repetition.
type PortTraffic struct {
	Repetition int `json:"repetition"`
	lab.PortTraffic
}

// TransportCalls is what went over a connection of a mount during a repetition; Number counts its connections from 1.
type TransportCalls struct {
	Repetition int `json:"repetition"`
	Number     int `json:"number"`
	lab.TransportCalls
}

// Metric is one metric of a cell.
type Metric struct {
	// Center of the values by the estimator: their median.
	Center float64 `json:"center"`
	// Interval around Center, which covers the true median with the confidence given: 0.75 for three values. It is nil
	// when there are fewer than two values, which say nothing of the spread. Widened is absent where it is not wider.
	*stat.Interval
	Estimator string     `json:"estimator"`
	Unit      lab.Unit   `json:"unit"`
	Better    lab.Better `json:"better"`
	// Decides marks a metric that the suite itself names and decides by.
	Decides bool `json:"decides,omitempty"`
	// Merged is the percentile of all operations of all repetitions together. Reports show it rather than Center
	// where it is there; the interval stays that of the repetitions.
	Merged   *float64 `json:"merged,omitempty"`
	Ceiling  *Ceiling `json:"ceiling,omitempty"`
	Headroom *float64 `json:"headroom,omitempty"`
	Values   []Value  `json:"values"`
}

// Ceiling bounds a metric. Headroom is the share of it that was not reached.
type Ceiling struct {
	Value   float64 `json:"value"`
	Limiter string  `json:"limiter"`
	// Derivation is how the value comes about, with its numbers.
	Derivation string `json:"derivation,omitempty"`
}

// Plateau is several cells that agree at the top although their loads differ.
type Plateau struct {
	Metric string  `json:"metric"`
	Value  float64 `json:"value"`
	// Cells by ID, and the settings in which they differ.
	Cells    []string `json:"cells"`
	Whatever []string `json:"whatever"`
	// Ceiling is the nearest that is known; Reached is whether it is near enough to be the reason.
	Ceiling *Ceiling `json:"ceiling,omitempty"`
	Reached bool     `json:"reached"`
	// Text is all of it in a sentence.
	Text string `json:"text"`
}

// Value is one metric of one repetition, with the conditions that variance is looked for in.
type Value struct {
	Value      float64   `json:"value"`
	Repetition int       `json:"repetition"`
	Boot       string    `json:"boot,omitempty"`
	Block      int       `json:"block,omitempty"`
	Position   int       `json:"position,omitempty"`
	Confirms   bool      `json:"confirms,omitempty"`
	Start      time.Time `json:"start,omitzero"`
}

// Series is one metric over the time of one repetition.
type Series struct {
	Repetition int `json:"repetition"`
	lab.Series
}

// Shown is the number that reports print.
func (m Metric) Shown() float64 {
	if m.Merged != nil {
		return *m.Merged
	}
	return m.Center
}

// outlierRatio is how many times the percentile of any other repetition a percentile of all operations must be to rest
// on one repetition.
const outlierRatio = 2

// RestsOn returns the repetition that alone determines a percentile of all operations, with its own percentile: all
// others are less than half as high. It is nil where there is none. How often such a repetition comes is not known from
// one, so there is no interval around the percentile.
func (m Metric) RestsOn() *Value {
	if m.Merged == nil || len(m.Values) < 2 {
		return nil
	}
	sorted := slices.SortedFunc(slices.Values(m.Values), func(a, b Value) int { return cmp.Compare(b.Value, a.Value) })
	if *m.Merged <= outlierRatio*sorted[1].Value {
		return nil
	}
	return &sorted[0]
}

// ShownInterval returns the interval of the number that reports print; nil if none is known.
func (m Metric) ShownInterval() *stat.Interval {
	if m.RestsOn() != nil {
		return nil
	}
	return m.Interval
}

// Directions of a cell that have a metric, in the order in which they are shown.
func (c Cell) Directions() []string {
	var found []string
	for _, d := range lab.Directions() {
		if c.hasDirection(d) {
			found = append(found, d)
		}
	}
	return found
}

func (c Cell) hasDirection(direction string) bool {
	for name := range c.Metrics {
		if head, _, _ := lab.CutMetric(name); head == direction {
			return true
		}
	}
	return false
}

// Metric is nil when the cell does not have it.
func (c Cell) Metric(name string) *Metric {
	m, ok := c.Metrics[name]
	if !ok {
		return nil
	}
	return &m
}

// MetricNames are sorted by direction as shown, then by name, so that every report lists them alike.
func (c Cell) MetricNames() []string {
	names := make([]string, 0, len(c.Metrics))
	for name := range c.Metrics {
		names = append(names, name)
	}
	slices.SortFunc(names, compareMetrics)
	return names
}

// NamesMetrics reports whether the metrics of the cell go by their own names, as those of a command or of a network do:
// they are no reads and writes.
func (c Cell) NamesMetrics() bool { return !lab.OfStorage(c.Engine) }

// Deciding are the metrics that the cell is decided by.
func (c Cell) Deciding() []string {
	own := map[string]lab.MetricInfo{}
	for name, m := range c.Metrics {
		own[name] = lab.MetricInfo{Unit: m.Unit, Better: m.Better, Decides: m.Decides}
	}
	return lab.Deciding(own, c.Params, c.Metrics)
}

// Samples returns the deciding metrics of the cells of a run on several targets, for the comparison of the targets.
func (s Run) Samples() []outliers.Sample {
	var all []outliers.Sample
	for _, c := range s.Cells {
		cell, own := strings.CutSuffix(c.ID, "@"+c.Role)
		if !own || c.Role == AllTargets {
			continue
		}
		for _, name := range c.Deciding() {
			m := c.Metrics[name]
			sample := outliers.Sample{Role: c.Role, Cell: cell, Metric: name, Better: m.Better, Unit: m.Unit,
				Values: map[int]float64{}}
			for _, v := range m.Values {
				sample.Values[v.Repetition] = v.Value
			}
			all = append(all, sample)
		}
	}
	return all
}

// AllTargets is the role of what all targets did together.
const AllTargets = "all"

// compareMetrics puts what belongs to one direction together, and the parts of a latency in the order of a
// distribution.
func compareMetrics(a, b string) int {
	_, quantityA, partA := lab.CutMetric(a)
	_, quantityB, partB := lab.CutMetric(b)
	return cmp.Or(cmp.Compare(directionRank(a), directionRank(b)), cmp.Compare(quantityA, quantityB),
		cmp.Compare(partRank(partA), partRank(partB)), cmp.Compare(a, b))
}

// partRank is where a part of a latency stands: percentiles, of which p90 is before p99 and that before p99.9, are
// between the least and the most.
func partRank(part string) int {
	switch strings.TrimPrefix(part, "latency.") { // request.latency.p99 has no direction
	case "mean":
		return 1
	case "min":
		return 2
	case "max":
		return 4
	}
	return 3
}

// directionRank puts what has no direction (cpu, elapsed) last.
func directionRank(metric string) int {
	direction, _, _ := lab.CutMetric(metric)
	if i := slices.Index(lab.Directions(), direction); i >= 0 {
		return i
	}
	return len(lab.Directions())
}

// LoadNames are what some cells are called, in their order, and their parameters as far as these tell them apart. Cells
// of one load on several machines have the machine's name.
func LoadNames(cells []Cell) (names, params []string) {
	extra, several := distinguishingParams(cells), map[string]bool{}
	for _, c := range cells {
		_, again := several[c.Job]
		several[c.Job] = again
	}
	for i := range cells {
		c := &cells[i]
		text := paramText(c, extra[c.Job])
		name := c.Job
		if several[c.Job] {
			name = prose.Join(c.Job, text)
		}
		names, params = append(names, name), append(params, text)
	}
	targets := map[[2]string]map[string]bool{} // of the cells with a name and parameters
	for i, name := range names {
		alike := [2]string{name, params[i]}
		if targets[alike] == nil {
			targets[alike] = map[string]bool{}
		}
		targets[alike][cells[i].Target] = true
	}
	for i, name := range names {
		if on := cells[i].Target; on != "" && len(targets[[2]string{name, params[i]}]) > 1 {
			names[i], params[i] = name+" on "+on, prose.Join(params[i], "on "+on)
		}
	}
	return names, params
}

// CellNames are what the cells of a run are called, by their IDs.
func CellNames(s *Run) map[string]string {
	byID := map[string]string{}
	names, _ := LoadNames(s.Cells)
	for i, name := range names {
		byID[s.Cells[i].ID] = name
	}
	return byID
}

// paramText is the shortest text that engineers tell loads apart by. The direction is left out where the job's name
// says it already.
func paramText(c *Cell, extra []string) string {
	var words []string
	if rw := c.Params["rw"]; rw != "" && !strings.Contains(c.Job, rw) {
		words = append(words, rw)
	}
	if mix := c.Params["rwmixread"]; mix != "" {
		words = append(words, mix+"%r")
	}
	words = append(words, sizes(c)...)
	for _, sync := range []string{"fsync", "fdatasync"} {
		if v := c.Params[sync]; v != "" && v != "0" && !strings.Contains(c.Job, "sync") {
			words = append(words, sync+"="+v)
		}
	}
	return strings.Join(append(words, settings(c, extra)...), " ")
}

// sizes in the notation of CrystalDiskMark's users: block, queue depth, jobs.
func sizes(c *Cell) []string {
	var words []string
	if bs := c.Params["bs"]; bs != "" {
		words = append(words, bs)
	}
	if depth := c.Params["iodepth"]; depth != "" {
		words = append(words, "q"+depth)
	}
	if jobs := c.Params["numjobs"]; jobs != "" && jobs != "1" {
		words = append(words, "x"+jobs)
	}
	return words
}

// shortNotation returns the parameters that have a special notation in paramText.
func shortNotation() []string {
	return []string{"rw", "rwmixread", "bs", "iodepth", "numjobs", "fsync", "fdatasync"}
}

// settings returns the parameters without a special notation, and the factor levels.
func settings(c *Cell, extra []string) []string {
	var words []string
	for _, key := range extra {
		if v := c.Params[key]; v != "" && !slices.Contains(shortNotation(), key) {
			words = append(words, key+"="+v)
		}
	}
	for _, factor := range slices.Sorted(maps.Keys(c.Levels)) {
		name, ofLoad := strings.CutPrefix(factor, "job:")
		if printed := slices.Contains(extra, name) || slices.Contains([]string{"bs", "iodepth", "numjobs"},
			name); ofLoad && printed && c.Params[name] == c.Levels[factor] {
			continue
		}
		words = append(words, factor+"="+c.Levels[factor])
	}
	if len(c.Levels) == 0 && c.Arm != "" {
		words = append(words, c.Arm)
	}
	return words
}

// distinguishingParams finds, by job, the parameters that differ between the job's cells: without them two rows would
// read the same.
func distinguishingParams(cells []Cell) map[string][]string {
	values := map[string]map[string][]string{}
	for _, c := range cells {
		if values[c.Job] == nil {
			values[c.Job] = map[string][]string{}
		}
		for key, v := range c.Params {
			if !slices.Contains(values[c.Job][key], v) {
				values[c.Job][key] = append(values[c.Job][key], v)
			}
		}
	}
	differ := map[string][]string{}
	for job, params := range values {
		for _, key := range slices.Sorted(maps.Keys(params)) {
			if len(params[key]) > 1 {
				differ[job] = append(differ[job], key)
			}
		}
	}
	return differ
}
