package suite

import (
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/served"
	"github.com/headroom/headroom/internal/yamlfile"
)

// NetworkLoad is the load of a job that measures a network.
type NetworkLoad struct {
	Engine string
	// Options by their long names, matrix not applied.
	Options map[string]string
}

// generator returns the load's generator.
func (l NetworkLoad) generator() served.Generator {
	g, _ := served.Of(l.Engine)
	return g
}

// network reads the load of a network job: options of its load generator's client by their long names. Keys of other
// kinds of jobs are reported as problems.
func (r *reporter) network(g served.Generator, entries []yamlfile.Entry) (*NetworkLoad, []Axis) {
	load := &NetworkLoad{Engine: g.Engine, Options: map[string]string{}}
	where := map[string]*yaml.Node{}
	var axes []Axis
	for _, e := range entries {
		switch {
		case e.Key == g.Key:
			for _, option := range r.Mapping(e.Value, e.Key, nil) {
				where[option.Key] = option.Where
				if v, ok := r.Scalar(option.Value, option.Key); ok {
					if v, ok = r.networkOption(g, option.Where, option.Key, v); ok {
						load.Options[option.Key] = v
					}
				}
			}
		case e.Key == "matrix":
			axes = r.networkMatrix(g, e.Value)
		case slices.Contains(fioKeys(), e.Key), e.Key == "exec", slices.Contains(execKeys(), e.Key),
			slices.Contains(networkKeys(), e.Key):
			r.At(e.Where, "delete one of the two, or make two jobs of it", "a job with %s has no %s", g.Key, e.Key)
		}
	}
	for _, a := range axes {
		if first, double := where[a.Param]; double {
			r.At(first, "delete one of the two", "%s stands under matrix too", a.Param)
		}
	}
	return load, axes
}

func (r *reporter) networkOption(g served.Generator, where *yaml.Node, name, value string) (string, bool) {
	canonical, complaint, hint := networkValue(g, name, value)
	if complaint != "" {
		r.At(where, hint, "%s", complaint)
	}
	return canonical, complaint == ""
}

// networkMatrix reads the axes of a job. Checking their values also checks that the option exists.
func (r *reporter) networkMatrix(g served.Generator, n *yaml.Node) []Axis {
	whatever := func(yamlfile.Entry) bool { return true }
	return r.axes(n, whatever, func(element *yaml.Node, name string) (string, bool) {
		v, ok := r.Scalar(element, name)
		if !ok {
			return "", false
		}
		return r.networkOption(g, element, name, v)
	})
}

// networkValue checks an option and its value; complaint is empty if both are valid.
func networkValue(g served.Generator, name, value string) (canonical, complaint, hint string) {
	o, known := g.Options()[name]
	if !known {
		names := slices.Sorted(maps.Keys(g.Options()))
		if hint = yamlfile.DidYouMean(name, names); hint == "" {
			hint = "there are " + strings.Join(names, ", ")
		}
		return "", "a network test has no option " + yamlfile.Quoted(name), hint
	}
	canonical, ok, hint := o.Canonical(value)
	if !ok {
		return "", name + " can't be " + yamlfile.Quoted(value), hint
	}
	return canonical, "", ""
}

func networkCell(j Job, params map[string]string) Cell {
	g := j.Network.generator()
	return Cell{Job: j.Name, JobTitle: j.Title, Engine: g.Engine, Params: params, Steps: []lab.Step{lab.Load},
		Runtime: g.TestTime(params)}
}

// setNetwork sets an option of all jobs that measure a network and whose load generator has it, and removes an axis of
// that name. complaint describes the fault, or that no generator has the option.
func (s *Suite) setNetwork(name, typed string) (complaint, hint string) {
	set := false
	for i, j := range s.Jobs {
		if j.Network == nil {
			continue
		}
		g := j.Network.generator()
		value, wrong, instead := networkValue(g, name, typed)
		if _, known := g.Options()[name]; known && wrong != "" {
			return wrong, instead
		}
		if wrong != "" {
			complaint, hint = wrong, instead
			continue
		}
		load := *j.Network
		load.Options = maps.Clone(load.Options)
		load.Options[name] = value
		j.Network = &load
		j.Matrix = slices.DeleteFunc(slices.Clone(j.Matrix), func(a Axis) bool { return a.Param == name })
		s.Jobs[i], set = j, true
	}
	if set {
		return "", ""
	}
	return complaint, hint
}
