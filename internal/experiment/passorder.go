package experiment

import (
	"fmt"
	"strings"

	"headroom/internal/app"
	"headroom/internal/plan"
)

// ListOrder says in which order the loads come.
func (s *FixedPasses) ListOrder(l app.Listing, of string) {
	seed := s.First().Run.Seed
	if !l.Full {
		l.Line("in each of %d passes each load on all %s, in an order that is drawn (--seed %d)", s.Passes, of, seed)
		return
	}
	l.Line("The order, by %s, with --seed %d:", of, seed)
	l.Each(order(s.Plan))
}

// order is a line for each cell of each pass: "pass 1  randread-q1: 3 1 2".
func order(p plan.Plan) []string {
	var lines []string
	var done []plan.Done
	for {
		next, more := p.Next(done)
		if !more {
			return lines
		}
		head := fmt.Sprintf("pass %d  %s:", next.Block, next.Cell)
		if n := len(lines); n == 0 || !strings.HasPrefix(lines[n-1], head) {
			lines = append(lines, head)
		}
		lines[len(lines)-1] += " " + next.Arm
		done = append(done, plan.Done{Repetition: next})
	}
}
