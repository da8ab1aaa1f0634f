package suite

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/command"
	"github.com/headroom/headroom/internal/yamlfile"
)

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
