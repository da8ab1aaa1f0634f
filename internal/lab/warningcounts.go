package lab

import "slices"

// WarningCounts counts the warnings of repetitions by code: a code counts once for each repetition that it marks,
// however often the repetition has it. A code keeps its first text. It taints what any of its warnings taints, by the
// largest share of them.
type WarningCounts struct {
	// N is the number of repetitions, failed ones included.
	N    int
	List []RepeatedWarning
}

// AddRepetition counts a repetition with its warnings.
func (c *WarningCounts) AddRepetition(warnings []Warning) {
	c.N++
	var counted []string
	for _, w := range warnings {
		known := c.add(w)
		if !slices.Contains(counted, w.Code) {
			counted = append(counted, w.Code)
			known.Repetitions++
		}
	}
}

// AddWhole adds warnings about all repetitions together.
func (c *WarningCounts) AddWhole(warnings []Warning) {
	for _, w := range warnings {
		c.add(w)
	}
}

func (c *WarningCounts) add(w Warning) *RepeatedWarning {
	i := slices.IndexFunc(c.List, func(known RepeatedWarning) bool { return known.Code == w.Code })
	if i < 0 {
		c.List = append(c.List, w.repeated())
		return &c.List[len(c.List)-1]
	}
	known := &c.List[i]
	for _, taint := range w.Taints {
		if !slices.Contains(known.Taints, taint) {
			known.Taints = append(known.Taints, taint)
		}
	}
	if known.MostError == 0 || w.MostError == 0 {
		known.MostError = 0 // the share of one of them is unknown
	} else {
		known.MostError = max(known.MostError, w.MostError)
	}
	return known
}

// Counted returns the warnings with the number of repetitions that each was looked for in.
func (c WarningCounts) Counted() []CountedWarning {
	var list []CountedWarning
	for _, w := range c.List {
		list = append(list, CountedWarning{w, c.N})
	}
	return list
}

// OfRun returns the warnings about a run as a whole, each once. Those of one code stay apart where their texts differ:
// one code can be about several cells.
func OfRun(warnings []Warning) []RepeatedWarning {
	list := []RepeatedWarning{}
	for _, w := range warnings {
		if !slices.ContainsFunc(list, func(known RepeatedWarning) bool {
			return known.Code == w.Code && known.Text == w.Text
		}) {
			list = append(list, w.repeated())
		}
	}
	return list
}

// repeated returns the warning with a copy of its taints, which is never null in JSON.
func (w Warning) repeated() RepeatedWarning {
	w.Taints = append([]string{}, w.Taints...)
	return RepeatedWarning{Warning: w}
}
