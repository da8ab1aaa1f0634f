package suite

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/command"
	"github.com/headroom/headroom/internal/yamlfile"
)

// With returns the suite with parameters set for all its jobs, each in the form "runtime=5s". For fio jobs these are
// fio's parameters. For jobs that run a command they are those that the suite declares or has as an axis. For jobs that
// measure a network they are options of the load generators. A parameter that is an axis of a matrix takes the single
// value, and the axis is removed. --as-published does not replace what is set here. Parameters that a file can't set
// can't be set here either. The error is a usage error that names the settings.
func (s Suite) With(settings []string) (Suite, error) {
	if len(settings) == 0 {
		return s, nil
	}
	r := newReporter("--set " + strings.Join(settings, " --set "))
	s.Jobs = slices.Clone(s.Jobs)
	for _, setting := range settings {
		typed, value, _ := strings.Cut(setting, "=")
		if slices.ContainsFunc(s.Jobs, func(j Job) bool { return j.Network != nil }) {
			if complaint, hint := s.setNetwork(typed, value); complaint != "" {
				r.Add(0, 0, hint, "%s", complaint)
			}
			continue
		}
		ours := s.setParameter(typed, value)
		if !slices.ContainsFunc(s.Jobs, Job.byFio) {
			if !ours {
				r.Add(0, 0, s.parameterHint(typed), "the suite %s has no parameter %s", s.Name, yamlfile.Quoted(typed))
			}
			continue
		}
		name, complaint, hint := parameterName(typed)
		if _, fios := parameters()[name]; ours && (complaint != "" || !fios) {
			continue
		}
		if complaint == "" {
			value, complaint, hint = parameterValue(name, value)
		}
		if complaint != "" {
			r.Add(0, 0, hint, "%s", complaint)
			continue
		}
		for i, j := range s.Jobs {
			if !j.byFio() {
				continue
			}
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
	if len(r.Problems) == 0 {
		r.checkCells(s)
	}
	for i := range r.Problems {
		r.Problems[i].Line, r.Problems[i].Column = 0, 0 // positions in the suite's file, which has no fault
	}
	if err := r.Err(); err != nil {
		return Suite{}, err
	}
	return s, nil
}

// ScratchSize returns the size in bytes that a directory's scratch file needs: the suite's size, and at least the
// extent that the cells access; 0 if neither is known.
func (s Suite) ScratchSize(cells []Cell) int64 {
	size := float64(s.Size)
	for _, c := range cells {
		if lab.ByFio(c.Engine) {
			size = max(size, extentEnd(c.Params))
		}
	}
	return int64(min(size, math.MaxInt64/2))
}

// bytesFor returns an amount in fio's syntax: 1g, 1536m, 1000.
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

// CheckParameters returns a usage error that names the parameters without a value.
func (s Suite) CheckParameters() error {
	var missing, hints []string
	for _, p := range s.Parameters {
		used := func(j Job) bool {
			return j.Exec != nil && slices.Contains(command.Uses(j.Exec.Command), p.Name) &&
				!slices.ContainsFunc(j.Matrix, func(a Axis) bool { return a.Param == p.Name })
		}
		if !p.Given && slices.ContainsFunc(s.Jobs, used) {
			missing = append(missing, p.Name)
			hints = append(hints, strings.TrimSuffix("--set "+p.Name+"="+strings.ToUpper(p.Name)+": "+p.About, ": "))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return &lab.Error{Kind: lab.Usage, What: "the suite " + s.Name + " needs " + strings.Join(missing, " and "),
		Hints: hints}
}

// setParameter sets a parameter of jobs with exec, and reports whether it exists. An axis of that name is removed.
func (s *Suite) setParameter(name, value string) bool {
	found := false
	s.Parameters = slices.Clone(s.Parameters)
	for i, p := range s.Parameters {
		if p.Name == name {
			s.Parameters[i].Value, s.Parameters[i].Given, found = value, true, true
		}
	}
	for i, j := range s.Jobs {
		is := func(a Axis) bool { return a.Param == name }
		if j.Exec == nil || !slices.ContainsFunc(j.Matrix, is) {
			continue
		}
		if !found {
			s.Parameters, found = append(s.Parameters, Parameter{Name: name, Value: value, Given: true}), true
		}
		s.Jobs[i].Matrix = slices.DeleteFunc(slices.Clone(j.Matrix), is)
	}
	return found
}

// parameterHint returns a hint that lists the existing parameters.
func (s *Suite) parameterHint(typed string) string {
	var known []string
	for _, p := range s.Parameters {
		known = append(known, p.Name)
	}
	for _, j := range s.Jobs {
		for _, a := range j.Matrix {
			known = append(known, a.Param)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if near := yamlfile.DidYouMean(typed, known); near != "" || len(known) == 0 {
		return near
	}
	return "it has " + strings.Join(known, ", ")
}
