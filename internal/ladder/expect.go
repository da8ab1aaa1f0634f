package ladder

import "slices"

// expected is what the rungs below promise for a cell, by block, with its origin in words and the rungs that it comes
// from. Nothing is promised to a rung without storage, and to a drive only by drives like it. A loopback is promised
// what the facts say that the machine's ports carry.
func (a *analysis) expected(rung int, cell, metric string) (from string, rungs []int, values map[int]float64) {
	s := a.steps[rung]
	if s.Network == Pods && s.Below >= 0 {
		return a.steps[s.Below].Name, []int{s.Below}, a.series(s.Below, cell, metric)
	}
	switch s.Kind {
	case Memory, Null, Flow:
		return "", nil, nil
	case Loopback:
		carries, known := s.Carries[cell]
		if !known {
			return "", nil, nil
		}
		return "what its ports can carry: " + carries.Limiter, []int{},
			constant(carries.Value, a.series(rung, cell, metric))
	case Port:
		if from = "ports like it"; s.Like == UnknownSpeed {
			from = "the other ports, of which no speed is known"
		}
		rungs = a.equalRungs(rung)
		return from, rungs, a.combine(rungs, cell, metric, middle)
	case BothWays:
		return a.steps[s.Below].Name + " one way", []int{s.Below}, a.series(s.Below, cell, metric)
	case Drive:
		from, rungs = "drives like it", a.equalRungs(rung)
		return from, rungs, a.combine(rungs, cell, metric, middle)
	case DriveGroup, Ports:
		from, rungs = "the sum of each alone", a.singleRungs(rung)
		return from, rungs, a.combine(rungs, cell, metric, sum)
	}
	if s.Below >= 0 {
		return a.steps[s.Below].Name, []int{s.Below}, a.series(s.Below, cell, metric)
	}
	if s.Kind == Guest {
		return "", nil, nil // its disks have different names
	}
	if rungs = a.drivesUnder(rung); len(rungs) > 0 {
		return "the sum of its drives, each alone", rungs, a.combine(rungs, cell, metric, sum)
	}
	return "", nil, nil
}

// equalRungs are the other drives or ports that one should be as fast as.
func (a *analysis) equalRungs(rung int) []int {
	var found []int
	for i, s := range a.steps {
		if i != rung && s.Kind == a.steps[rung].Kind && s.Like != "" && s.Like == a.steps[rung].Like {
			found = append(found, i)
		}
	}
	return found
}

// singleRungs are the rungs where each member of a rung was measured by itself; none unless all of them were.
func (a *analysis) singleRungs(rung int) []int {
	var found []int
	for _, place := range a.steps[rung].Places {
		i := slices.IndexFunc(a.steps, func(s Step) bool {
			return s.Kind != Guest && s.Kind != Flow && len(s.Places) == 1 && s.Places[0] == place
		})
		if i < 0 {
			return nil
		}
		found = append(found, i)
	}
	return found
}

// drivesUnder are the rungs of the drives under a rung; none unless all of them were measured.
func (a *analysis) drivesUnder(rung int) []int {
	var found []int
	for _, disk := range a.steps[rung].Disks {
		i := slices.IndexFunc(a.steps, func(s Step) bool {
			return s.Kind == Drive && slices.Equal(s.Disks, []string{disk})
		})
		if i < 0 {
			return nil
		}
		found = append(found, i)
	}
	return found
}

// combine puts several rungs together, in the blocks that all of them have.
func (a *analysis) combine(rungs []int, cell, metric string, together func([]float64) float64) map[int]float64 {
	parts := map[int][]float64{}
	for _, i := range rungs {
		for block, v := range a.series(i, cell, metric) {
			parts[block] = append(parts[block], v)
		}
	}
	values := map[int]float64{}
	for block, list := range parts {
		if len(list) == len(rungs) {
			values[block] = together(list)
		}
	}
	return values
}

// middle is the middle one, and of an even number the upper of the two: of two drives like a third, a slow one must not
// lower what is expected of it.
func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func sum(values []float64) float64 {
	total := 0.0
	for _, v := range values {
		total += v
	}
	return total
}

// constant is the same value in all blocks of a series.
func constant(v float64, like map[int]float64) map[int]float64 {
	values := map[int]float64{}
	for block := range like {
		values[block] = v
	}
	return values
}
