package summary

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/outage"
	"github.com/headroom/headroom/internal/paths"
	"github.com/headroom/headroom/internal/plan"
	"github.com/headroom/headroom/internal/stat"
)

// MaxSeriesRepetitions is of how many repetitions of a cell the per-second series are kept: enough to see what repeats,
// few enough that a run of ten thousand repetitions stays small.
const MaxSeriesRepetitions = 10

// Confidence asked for of every interval; what is reached with few repetitions is lower and stored.
const Confidence = 0.95

// Of reads a run's repetitions once, in the order given, and keeps of each its values alone: histograms are
// added up by cell, series are kept of the first few repetitions. An error of the sequence ends it, and so does a
// repetition of a cell that the run does not have.
func Of(run lab.Run, repetitions iter.Seq2[lab.Repetition, error]) (Run, error) {
	gathered := make(map[string]*gathering, len(run.Cells))
	for id, ceilings := range ceiling.OfCells(run) {
		gathered[id] = newGathering(ceilings)
	}
	boots := map[string]string{} // one copy of each boot id, not one per value
	err := run.Read(repetitions, func(c lab.Cell, rep lab.Repetition) error {
		boot, seen := boots[rep.Boot]
		if !seen {
			boot, boots[rep.Boot] = rep.Boot, rep.Boot
		}
		rep.Boot = boot
		if err := gathered[c.ID].add(rep); err != nil {
			return fmt.Errorf("run %s: cell %s, repetition %d: %w", run.ID, rep.Cell, rep.Number, err)
		}
		return nil
	})
	if err != nil {
		return Run{}, err
	}
	return assemble(run, gathered), nil
}

func assemble(run lab.Run, gathered map[string]*gathering) Run {
	s := Run{
		Schema: Schema, ID: run.ID, Label: run.Label, Status: run.Status, Source: run.Source, Format: run.Format,
		Created: run.Created, Finished: run.Finished, Version: run.Version, Command: run.Command,
		Suite: run.Suite, SuiteText: run.SuiteText, Order: run.Order, Seed: run.Seed,
		Precision: run.Precision, Budget: run.Budget, EndedAfter: run.EndedAfter, Anytime: run.Anytime,
		Pause: run.Pause, AsPublished: run.AsPublished,
		Experiment: run.Experiment, NotVerified: run.NotVerified, Network: run.Network, Study: run.Concurrent,
		Design:   run.MadeBy(),
		Targets:  slices.Clone(run.Targets),
		Cells:    make([]Cell, 0, len(run.Cells)),
		Warnings: lab.OfRun(run.Warnings),
	}
	if len(run.Events) > 0 {
		s.Events = &Events{Schema: EventSchema, Events: run.Events, Loads: []EventLoad{}}
	}
	if s.Targets == nil {
		s.Targets = []lab.RunTarget{}
	}
	for _, cell := range run.Cells {
		g := gathered[cell.ID]
		g.addCell(cell)
		c := g.cell(cell, armOf(run, cell), run)
		s.Cells = append(s.Cells, c)
		for _, load := range g.eventLoads { // of a run that has events, so that there are Events
			load.Job = cell.Job
			s.Events.Loads = append(s.Events.Loads, load)
		}
		s.Undecided = append(s.Undecided, undecided(c, run.Precision, g.took/float64(max(1, g.warnings.N)))...)
	}
	s.Plateaus = plateaus(s.Cells, gathered)
	return s
}

func armOf(run lab.Run, cell lab.Cell) lab.Arm {
	for _, arm := range run.Arms {
		if arm.ID == cell.Arm {
			return arm
		}
	}
	return lab.Arm{}
}

// gathering is what is kept of the repetitions of one cell while they go by.
type gathering struct {
	took       float64 // seconds, of all repetitions together
	values     map[string][]Value
	latency    map[string]lab.Histogram
	series     []Series
	ports      []PortTraffic
	calls      []TransportCalls
	paths      paths.Counted
	command    []string
	warnings   lab.WarningCounts
	ceilings   []ceiling.Ceiling
	eventLoads []EventLoad
}

func newGathering(ceilings []ceiling.Ceiling) *gathering {
	return &gathering{ceilings: ceilings, values: map[string][]Value{}, latency: map[string]lab.Histogram{},
		warnings: lab.WarningCounts{List: []lab.RepeatedWarning{}}}
}

func (g *gathering) add(rep lab.Repetition) error {
	g.warnings.AddRepetition(slices.Concat(rep.Warnings, ceiling.Check(rep.Values, rep.Series, g.ceilings)))
	g.took += rep.Took
	for name, v := range rep.Values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue // not measured; JSON has no word for it either
		}
		g.values[name] = append(g.values[name], Value{
			Value: v, Repetition: rep.Number, Boot: rep.Boot, Block: rep.Block, Position: rep.Position,
			Confirms: rep.Confirms, Start: rep.Start,
		})
	}
	for direction, h := range rep.Latency {
		if len(h.Nanoseconds) != len(h.Counts) {
			return errors.New("the latency bins of " + direction + " have not as many counts as values")
		}
		g.addLatency(direction, h)
	}
	if g.warnings.N <= MaxSeriesRepetitions {
		for _, series := range rep.Series {
			g.series = append(g.series, Series{Repetition: rep.Number, Series: series})
		}
	}
	for _, p := range rep.Ports {
		g.ports = append(g.ports, PortTraffic{Repetition: rep.Number, PortTraffic: p})
	}
	for i, t := range rep.Transports {
		g.calls = append(g.calls, TransportCalls{Repetition: rep.Number, Number: i + 1, TransportCalls: t})
	}
	g.paths.Add(rep)
	if rep.Events != nil && rep.Events.Each != nil {
		g.eventLoads = append(g.eventLoads, eventLoad(rep))
	}
	if g.command == nil {
		g.command = rep.Command
	}
	return nil
}

// addCell adds what is known of the cell as a whole.
func (g *gathering) addCell(cell lab.Cell) {
	for direction, h := range cell.Latency {
		g.addLatency(direction, h)
	}
	g.warnings.AddWhole(cell.Warnings)
}

func (g *gathering) addLatency(direction string, h lab.Histogram) {
	sum := g.latency[direction]
	sum.Nanoseconds, sum.Counts = stat.MergeBins(sum.Nanoseconds, sum.Counts, h.Nanoseconds, h.Counts)
	g.latency[direction] = sum
}

func (g *gathering) cell(cell lab.Cell, arm lab.Arm, run lab.Run) Cell {
	c := Cell{
		ID: cell.ID, Job: cell.Job, Engine: cell.Engine, Runs: cell.Command, Params: cell.Params, Levels: arm.Levels,
		Role:  arm.Role,
		Steps: cell.Steps, Planned: cell.Repetitions, N: g.warnings.N, Command: g.command, Series: g.series,
		Ports: g.ports, Transports: g.calls, Paths: g.paths.Shares(), Warnings: g.warnings.List,
		Metrics: make(map[string]Metric, len(g.values)),
	}
	if run.Experiment != nil {
		c.Arm = arm.ID
	}
	if c.Params == nil {
		c.Params = map[string]string{}
	}
	if c.Levels == nil {
		c.Levels = map[string]string{}
	}
	for _, t := range run.Targets {
		if t.Role == arm.Role {
			c.Target = t.Target
		}
	}
	if len(g.latency) > 0 {
		c.Latency = maps.Clone(g.latency)
	}
	estimate := stat.MedianInterval
	if run.Anytime {
		estimate = anytime
	}
	for name, values := range g.values {
		c.Metrics[name] = summarizeMetric(cell.Metric(name), values, estimate)
	}
	for direction, h := range c.Latency {
		for _, q := range lab.Quantiles() {
			name := lab.Latency(direction, q.Name)
			m, measured := c.Metrics[name]
			merged := stat.BinQuantile(h.Nanoseconds, h.Counts, q.Q) / 1e9
			if measured && !math.IsNaN(merged) {
				m.Merged = &merged
				c.Metrics[name] = m
			}
		}
	}
	bound(c.Metrics, g.ceilings)
	return c
}

// anytime is the interval that plans by precision look at.
func anytime(values []float64, confidence float64) stat.Interval {
	i := stat.MedianSequence(values, confidence)
	i.Estimator = "median, anytime"
	return i
}

func summarizeMetric(info lab.MetricInfo, values []Value, estimator func([]float64, float64) stat.Interval) Metric {
	floats := make([]float64, len(values))
	for i, v := range values {
		floats[i] = v.Value
	}
	estimate := estimator(floats, Confidence)
	m := Metric{Center: estimate.Center, Estimator: estimate.Estimator, Unit: info.Unit, Better: info.Better,
		Decides: info.Decides, Values: values}
	if estimate.Known() {
		if m.Interval = &estimate; estimate.Widened <= 1 {
			m.Widened = 0
		}
	}
	return m
}

// Undecided is a metric that is not as precise as was asked for.
type Undecided struct {
	Cell   string `json:"cell"`
	Metric string `json:"metric"`
	N      int    `json:"n"`
	// Width is how far the interval reaches from its centre, as a share of it; absent where there is no interval yet.
	Width *float64 `json:"width,omitempty"`
	// More is how many more repetitions are enough in four of five cases, and Seconds what they take; without an
	// interval the fewest that give one.
	More    int     `json:"more"`
	Seconds float64 `json:"seconds,omitempty"`
}

// undecided are those among the metrics by which a cell is decided; each is how many seconds a repetition takes.
func undecided(c Cell, within, each float64) []Undecided {
	if within == 0 {
		return nil
	}
	var list []Undecided
	for _, name := range c.Deciding() {
		m := c.Metrics[name]
		i := stat.Interval{Center: m.Center, Lo: math.NaN(), Hi: math.NaN()}
		if m.Interval != nil {
			i.Lo, i.Hi = m.Lo, m.Hi
		}
		width := plan.Width(i)
		more := plan.AdditionalRepetitions(width, within, len(m.Values))
		if more == 0 {
			continue
		}
		u := Undecided{Cell: c.ID, Metric: name, N: len(m.Values), More: more, Seconds: float64(more) * each}
		if !math.IsInf(width, 1) {
			u.Width = &width
		}
		list = append(list, u)
	}
	return list
}

// bound gives each metric its tightest ceiling, and the headroom below it.
func bound(metrics map[string]Metric, ceilings []ceiling.Ceiling) {
	for name, m := range metrics {
		c, ok := ceiling.Tightest(ceilings, name)
		if !ok {
			continue
		}
		headroom := c.Headroom(m.Shown())
		m.Ceiling, m.Headroom = published(c), &headroom
		metrics[name] = m
	}
}

func published(c ceiling.Ceiling) *Ceiling {
	return &Ceiling{Value: c.Value, Limiter: c.Limiter, Derivation: c.Derivation}
}

// plateaus of the cells that go in one direction: in bytes, and in operations among those of one block size.
func plateaus(cells []Cell, gathered map[string]*gathering) []Plateau {
	points, order := map[string][]ceiling.Point{}, []string{}
	for _, c := range cells {
		directions := 0
		for _, d := range lab.Directions() {
			if c.Metric(lab.IOPS(d)) != nil || c.Metric(lab.Bandwidth(d)) != nil {
				directions++
			}
		}
		for _, metric := range ceiling.Metrics() {
			m := c.Metric(metric)
			if m == nil || directions != 1 {
				continue
			}
			group := metric
			if m.Unit == lab.PerSecond {
				group += " " + c.Params["bs"]
			}
			if points[group] == nil {
				order = append(order, group)
			}
			points[group] = append(points[group], ceiling.Point{
				Cell: c.ID, Value: m.Center, Varies: varies(c), Ceilings: gathered[c.ID].ceilings,
			})
		}
	}
	var all []Plateau
	reported := map[string]bool{}
	for _, metric := range ceiling.Metrics() {
		for _, group := range order {
			if group != metric && (len(group) <= len(metric) || group[:len(metric)+1] != metric+" ") {
				continue
			}
			p, ok := ceiling.FindPlateau(metric, points[group])
			if !ok || reported[p.Cells[0]] {
				continue // the same cells, in other units
			}
			for _, id := range p.Cells {
				reported[id] = true
			}
			out := Plateau{Metric: metric, Value: p.Value, Cells: p.Cells, Whatever: p.Whatever, Reached: p.Reached,
				Text: p.String()}
			if p.Known {
				out.Ceiling = published(p.Nearest)
			}
			all = append(all, out)
		}
	}
	return all
}

// varies is what may differ between cells that share a plateau.
func varies(c Cell) map[string]string {
	out := map[string]string{"target": c.Target, "numjobs": "1"}
	for _, key := range []string{"iodepth", "numjobs", "bs", "rw"} {
		if v := c.Params[key]; v != "" {
			out[key] = v
		}
	}
	for factor, v := range c.Levels {
		out[factor] = v
	}
	return out
}

// EventSchema names the part of the published document that is about events. Fields are added to it, never renamed and
// never removed.
const EventSchema = "headroom/event/v1"

// Events are the events caused on purpose during the loads, and their effects on each load.
type Events struct {
	Schema string      `json:"schema"`
	Events []lab.Event `json:"events"`
	Loads  []EventLoad `json:"loads"`
}

// EventLoad is one load with its events.
type EventLoad struct {
	Cell       string `json:"cell"`
	Job        string `json:"job"`
	Repetition int    `json:"repetition"`
	// Rate of all directions together, Unit is its unit.
	Rate lab.Series `json:"rate"`
	Unit lab.Unit   `json:"unit"`
	// Happened and Findings have an entry for each event, in their order.
	Happened []lab.Occurrence `json:"happened"`
	Findings []outage.Finding `json:"findings"`
	// Retransmits of the whole test, where its sender tells.
	Retransmits *float64 `json:"retransmits,omitempty"`
	// Slowest is how many seconds the slowest operation of the load took, where it tells. Others may have gone on
	// meanwhile, so that the rate does not show it.
	Slowest *float64 `json:"slowest,omitempty"`
	// Errors that the load itself told of.
	Errors []string `json:"errors,omitempty"`
}

// eventLoad is what events did to a repetition.
func eventLoad(rep lab.Repetition) EventLoad {
	e := EventLoad{Cell: rep.Cell, Repetition: rep.Number, Rate: rep.Events.Rate, Happened: rep.Events.Each,
		Findings: outage.Of(*rep.Events)}
	e.Unit = lab.Metric("all." + e.Rate.Metric).Unit
	for _, direction := range []string{lab.Send, lab.Receive} {
		if n, reported := rep.Values[lab.Retransmits(direction)]; reported {
			if e.Retransmits == nil {
				e.Retransmits = new(float64)
			}
			*e.Retransmits += n
		}
	}
	for _, direction := range []string{lab.Read, lab.Write, lab.Trim} {
		if took, reported := rep.Values[lab.Latency(direction, "max")]; reported &&
			(e.Slowest == nil || took > *e.Slowest) {
			e.Slowest = &took
		}
	}
	for _, w := range rep.Warnings {
		if w.Code == "errors" || w.Code == "no-result" {
			e.Errors = append(e.Errors, w.Text)
		}
	}
	return e
}
