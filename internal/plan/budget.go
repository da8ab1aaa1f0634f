package plan

// Within ends a plan before a pass that would go beyond a budget of seconds, but not before the first has ended; a
// budget of 0 is none. A pass is what follows one another in a block, and is taken to need as long as the longest so
// far.
func Within(p Plan, budget float64) Plan {
	if budget == 0 {
		return p
	}
	return &limited{p, budget}
}

type limited struct {
	Plan
	budget float64
}

func (l *limited) Next(done []Done) (Repetition, bool) {
	next, more := l.Plan.Next(done)
	if !more || len(done) == 0 || next.Block == done[len(done)-1].Block {
		return next, more
	}
	spent, pass, longest := 0.0, 0.0, 0.0
	for i, d := range done {
		if i > 0 && d.Block != done[i-1].Block {
			pass = 0
		}
		spent, pass = spent+d.Seconds, pass+d.Seconds
		longest = max(longest, pass)
	}
	if spent+longest > l.budget {
		return Repetition{}, false
	}
	return next, true
}
