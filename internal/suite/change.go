package suite

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// With returns the suite with fio parameters set for all its jobs, each in the form "runtime=5s". A parameter that is
// an axis of a matrix takes the one value, and the axis is gone; one that the suite's source set otherwise stays as it
// is set here. What a file can't set, this can't either. The error is a usage error that names the settings.
func (s Suite) With(settings []string) (Suite, error) {
	if len(settings) == 0 {
		return s, nil
	}
	r := &reporter{file: "--set " + strings.Join(settings, " --set ")}
	s.Jobs = slices.Clone(s.Jobs)
	for _, setting := range settings {
		typed, value, _ := strings.Cut(setting, "=")
		name, complaint, hint := parameterName(typed)
		if complaint == "" {
			value, complaint, hint = parameterValue(name, value)
		}
		if complaint != "" {
			r.add(0, 0, hint, "%s", complaint)
			continue
		}
		for i, j := range s.Jobs {
			j.Fio = maps.Clone(j.Fio)
			j.Fio[name] = value
			j.Matrix = slices.DeleteFunc(slices.Clone(j.Matrix), func(a Axis) bool { return a.Param == name })
			s.Jobs[i] = j
		}
		if s.Published != nil {
			published := *s.Published
			published.Fio = maps.Clone(published.Fio)
			delete(published.Fio, name)
			s.Published = &published
		}
	}
	if len(r.problems) == 0 {
		r.checkCells(s)
	}
	for i := range r.problems {
		r.problems[i].Line, r.problems[i].Column = 0, 0 // those of the suite's file, which is not at fault
	}
	if err := r.err(); err != nil {
		return Suite{}, err
	}
	return s, nil
}

// ScratchSize is the size in bytes that a directory's scratch file needs: what the suite says, and at least as much as
// the cells reach; 0 when neither says.
func (s Suite) ScratchSize(cells []Cell) int64 {
	size := float64(s.Size)
	for _, c := range cells {
		size = max(size, reach(c.Params))
	}
	return int64(min(size, math.MaxInt64/2))
}

// bytesFor prints an amount as fio reads it: 1g, 1536m, 1000.
func bytesFor(n int64) string {
	for _, unit := range []struct {
		letter string
		size   int64
	}{{"t", 1 << 40}, {"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10}} {
		if n%unit.size == 0 && n > 0 {
			return strconv.FormatInt(n/unit.size, 10) + unit.letter
		}
	}
	return strconv.FormatInt(n, 10)
}
