package sweep

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/unit"
)

// Curve is latency over load, of one direction of one cell.
type Curve struct {
	Cell      string            `json:"cell"`
	Title     string            `json:"title"`
	Job       string            `json:"job"`
	Params    map[string]string `json:"params"`
	Direction string            `json:"direction"`
	// Rate is the metric that counts the load. Quantile is the latency that Limit bounds: "p99".
	Rate     string `json:"rate"`
	Quantile string `json:"quantile"`
	// Confidence is the confidence of each interval. All intervals of all curves hold together with 1-alpha.
	Confidence float64      `json:"confidence"`
	Points     []CurvePoint `json:"points"`
	// Limit is the load that stays below a latency; absent where no limit was given.
	Limit *Limit `json:"limit,omitempty"`
	// Knee is where rate divided by mean latency is the highest.
	Knee *Knee `json:"knee,omitempty"`
}

// CurvePoint is one level. Values that were not measured are absent.
type CurvePoint struct {
	Level string `json:"level"`
	// Offered is the requested load of all processes together, if the factor is a rate. KeptUp is true if the load
	// reached it, within the margin.
	Offered *float64   `json:"offered,omitempty"`
	KeptUp  *bool      `json:"kept_up,omitempty"`
	Reached *Estimated `json:"reached,omitempty"`
	Mean    *Estimated `json:"mean,omitempty"`
	Tail    *Estimated `json:"tail,omitempty"`
	// Costs are the costs of an operation by metric, reads and writes together.
	Costs map[string]Cost `json:"costs,omitempty"`
}

// Estimated is the geometric mean of N blocks with its interval.
type Estimated struct {
	Value float64 `json:"value"`
	stat.Bounds
	N int `json:"n"`
}

// Limit is the highest load at which a quantile of latency stays within a limit.
type Limit struct {
	Seconds float64 `json:"seconds"`
	// Level has the highest rate of the levels that stay within the limit; empty if none does. Reached is its rate.
	Level   string     `json:"level"`
	Reached *Estimated `json:"reached,omitempty"`
	// Between bounds the best level with certainty: from the best level that is shown to stay within the limit (empty
	// if none is) to the best that is not shown to exceed it.
	Between Between `json:"between"`
	// Exceeding lists levels with a lower rate that exceed the limit. Level stays within it by chance then, or for
	// another reason.
	Exceeding []string `json:"exceeding,omitempty"`
}

// Knee is the level at which rate divided by mean latency ("power") is the highest. Below it more load costs little
// latency; above it latency rises much for little rate. Set lists the level and all that can't be distinguished from
// it.
//
// Source: L. Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in computer communications",
// ICC 1979.
type Knee struct {
	Level           string   `json:"level"`
	Set             []string `json:"set"`
	Distinguishable bool     `json:"told_apart"`
}

// isRate reports whether the factor is the rate that the load requests. No level is better than another then.
func isRate(factor string) bool {
	return slices.Contains([]string{"job:rate", "job:rate_iops", "job:thinktime"}, factor)
}

// IsLoad reports whether the levels of the factor increase the load.
func IsLoad(factor string) bool {
	return isRate(factor) || slices.Contains([]string{"job:iodepth", "job:numjobs"}, factor)
}

// curves returns the curves of all cells and directions.
func curves(in *Input) []Curve {
	if !IsLoad(in.Factor) {
		return nil
	}
	var out []Curve
	var rows []curveRows
	for _, c := range in.Cells {
		for _, direction := range []string{lab.Read, lab.Write} {
			rate := lab.IOPS(direction)
			if in.Factor == "job:rate" {
				rate = lab.Bandwidth(direction)
			}
			r := curveRows{
				rate: newRow(in, c, rate, named(rate)),
				mean: newRow(in, c, lab.Latency(direction, "mean"), named(lab.Latency(direction, "mean"))),
				tail: newRow(in, c, lab.Latency(direction, in.Settings.Quantile),
					named(lab.Latency(direction, in.Settings.Quantile))),
			}
			r.power = newRow(in, c, rate, func(values map[string]float64) (float64, bool) {
				x, okX := values[rate]
				l, okL := values[lab.Latency(direction, "mean")]
				return x / l, okX && okL && l > 0
			})
			r.costs = in.costs(c)
			if !slices.ContainsFunc(r.rate.values, func(v map[int]float64) bool { return len(v) > 0 }) {
				continue
			}
			out = append(out, Curve{Cell: c.ID, Title: c.Title, Job: c.Job, Params: c.Params, Direction: direction,
				Rate: rate, Quantile: in.Settings.Quantile})
			rows = append(rows, r)
		}
	}
	points := stat.FamilyWise(in.Settings.Alpha, len(out)*len(in.Levels))
	pairs := stat.FamilyWise(in.Settings.Alpha, len(out)*len(in.Levels)*(len(in.Levels)-1)/2)
	var power []*row
	for _, r := range rows {
		power = append(power, r.power)
	}
	unseen := jumpsOf(power, in.Settings.Alpha, in.Settings.Margin)
	for i := range out {
		in.fill(&out[i], rows[i], points, pairs, unseen)
	}
	return out
}

// curveRows holds the rows that make a curve.
type curveRows struct {
	rate, mean, tail, power *row
	costs                   []*row
}

func (in *Input) fill(c *Curve, r curveRows, points, pairs float64, unseen *jumps) {
	c.Confidence = points
	for i, l := range in.Levels {
		p := CurvePoint{Level: l.Name, Offered: in.offered(l.Name, c), Reached: r.rate.estimated(i, points),
			Mean: r.mean.estimated(i, points), Tail: r.tail.estimated(i, points)}
		if p.Offered != nil && p.Reached != nil {
			kept := p.Reached.Value >= *p.Offered/(1+in.Settings.Margin)
			p.KeptUp = &kept
		}
		for _, cost := range r.costs {
			if cost.measured(i) {
				p.Costs = cost.among(p.Costs, i)
			}
		}
		c.Points = append(c.Points, p)
	}
	if in.Settings.Limit > 0 {
		c.Limit = limitOf(c.Points, in.Settings.Limit)
	}
	r.power.compare(pairs, unseen)
	top := topOf(r.power.score[:r.power.levels])
	if top < 0 {
		return
	}
	c.Knee = &Knee{Level: in.name(top), Set: []string{}}
	for i := range in.Levels {
		switch {
		case !r.power.measured(i):
		case i == top || !r.power.isWorse(i, top):
			c.Knee.Set = append(c.Knee.Set, in.name(i))
		default:
			c.Knee.Distinguishable = true
		}
	}
}

// among adds the cost of an operation at a level.
func (r *row) among(costs map[string]Cost, level int) map[string]Cost {
	if costs == nil {
		costs = map[string]Cost{}
	}
	v, b := r.level(level, singleConfidence)
	costs[r.metric] = Cost{Value: v, Bounds: b}
	return costs
}

func (r *row) estimated(level int, confidence float64) *Estimated {
	if !r.measured(level) {
		return nil
	}
	v, b := r.level(level, confidence)
	return &Estimated{Value: v, Bounds: b, N: len(r.values[level])}
}

// offered returns the rate that a level requests. fio gives each process the rate, and takes "reads,writes,trims" if
// the rates differ.
func (in *Input) offered(level string, c *Curve) *float64 {
	if in.Factor != "job:rate" && in.Factor != "job:rate_iops" {
		return nil
	}
	each := strings.Split(level, ",")
	at := slices.Index([]string{lab.Read, lab.Write}, c.Direction)
	if len(each) == 1 {
		at = 0
	}
	if at >= len(each) {
		return nil
	}
	n, err := unit.ParseBytes(each[at]) // fio's k is 1024 for rates of operations as well
	if err != nil || n <= 0 {
		return nil
	}
	processes, err := strconv.Atoi(c.Params["numjobs"])
	if err != nil {
		processes = 1
	}
	v := float64(n) * float64(processes)
	return &v
}

// limitOf finds the level with the highest rate that stays within a latency.
func limitOf(points []CurvePoint, seconds float64) *Limit {
	out := &Limit{Seconds: seconds}
	sure, possible := -1.0, -1.0
	for _, p := range points {
		if p.Tail == nil || p.Reached == nil {
			continue
		}
		rate := p.Reached.Value
		if p.Tail.Value <= seconds && (out.Reached == nil || rate > out.Reached.Value) {
			out.Level, out.Reached = p.Level, p.Reached
		}
		if p.Tail.Known() && *p.Tail.Hi <= seconds && rate > sure {
			sure, out.Between.From = rate, p.Level
		}
		if (!p.Tail.Known() || *p.Tail.Lo <= seconds) && rate > possible {
			possible, out.Between.To = rate, p.Level
		}
	}
	for _, p := range points {
		if p.Tail != nil && p.Reached != nil && out.Reached != nil && p.Tail.Value > seconds &&
			p.Reached.Value < out.Reached.Value {
			out.Exceeding = append(out.Exceeding, p.Level)
		}
	}
	return out
}
