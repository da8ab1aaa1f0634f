package changepoint

import "github.com/headroom/headroom/internal/stat"

// Levels is how the level of a series moves.
type Levels struct {
	// Changes are the steps, in the order of time, of what is left without the rhythm and the modes.
	Changes []ChangePoint
	// Slope is the ratio of the end of the series to its start where its level rises or falls evenly; it has no changes
	// then. Nil elsewhere.
	Slope *stat.Change
	// Rhythm is set where the values repeat, and Modes where their level switches between two.
	Rhythm *Rhythm
	Modes  *Modes
	// Values are the series without its rhythm. Changes are found in Levelled, which are also at the level of one mode.
	Values, Levelled []float64
}

// minForPattern is the least number of values of a slope and of two modes. The correlation of fewer values is unknown.
const minForPattern = 12

// Levels returns how the level of a series moves. A rhythm is taken out first. Where the level switches between two
// modes, changes are looked for in what is left when the lower one is put at the level of the upper one. If that leaves
// no more switches than there are changes, steps alone explain the series as well.
func (s *ChangeSearch) Levels(values []float64) Levels {
	found := Levels{Values: values, Levelled: values}
	logs := stat.LogsOf(values)
	if len(logs) != len(values) {
		return found
	}
	if rhythm, ok := rhythmOf(logs); ok {
		found.Rhythm, found.Values = &rhythm, rhythm.without(values)
	}
	if modes, levelled, upper, ok := s.modesOf(found.Values); ok {
		found.Changes = s.ChangePoints(levelled)
		if upper.switchesBesides(found.Changes) >= minSwitches {
			found.Modes, found.Levelled = &modes, levelled
			return found
		}
	}
	found.Changes, found.Levelled = s.ChangePoints(found.Values), found.Values
	if c, ok := s.slope(found.Values, found.Changes); ok {
		found.Slope, found.Changes = &c, nil
	}
	return found
}
