package plan

import "slices"

// Plan says what comes next. It is asked after every repetition, so that it can act on what was measured; the same
// results give the same answer, so that an interrupted run goes on as if nothing had happened.
type Plan interface {
	// Next is the repetition to carry out now; false when the plan has come to its end. Done are those that ended, in
	// that order.
	Next(done []Done) (Repetition, bool)
}

// Done is a repetition that has ended.
type Done struct {
	Repetition
	// Values that steer the plan, by metric name; none where the load failed.
	Values map[string]float64
	// Seconds that it took with its preparation, but without a layout or fill that other repetitions share.
	Seconds float64
}

// Fixed is the plan that carries out an order as it stands.
func Fixed(order []Repetition) Plan { return fixed(order) }

type fixed []Repetition

func (f fixed) Next(done []Done) (Repetition, bool) {
	for _, r := range f {
		if !slices.ContainsFunc(done, func(d Done) bool { return d.Cell == r.Cell && d.Number == r.Number }) {
			return r, true
		}
	}
	return Repetition{}, false
}
