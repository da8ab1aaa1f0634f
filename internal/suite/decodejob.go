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

// execKeys returns the keys that are valid only in a job with exec.
func execKeys() []string {
	return []string{"prepare", "cleanup", "environment", "timeout", "takes", "metrics", "needs", "path", "user"}
}

func fioKeys() []string { return []string{"fio", "divide", "steps"} }

// networkKeys returns the keys of jobs that measure a network, one for each load generator.
func networkKeys() []string {
	var keys []string
	for _, g := range served.Generators() {
		keys = append(keys, g.Key)
	}
	return keys
}

// job reads one element of jobs.
func (r *reporter) job(n *yaml.Node, s Suite, defaults settings) Job {
	j := Job{Line: n.Line, column: n.Column}
	before := len(r.Problems)
	keys := slices.Concat([]string{"name", "title", "matrix", "repetitions"}, fioKeys(), []string{"exec"},
		execKeys(), networkKeys())
	entries := r.Mapping(n, "a job", keys)
	has := func(key string) bool {
		return slices.ContainsFunc(entries, func(e yamlfile.Entry) bool { return e.Key == key })
	}
	for _, e := range entries {
		switch e.Key {
		case "name":
			j.Name, _ = r.name(e.Value, "name")
		case "title":
			j.Title, _ = r.Scalar(e.Value, e.Key)
		case "repetitions":
			j.Repetitions = r.Count(e.Value, e.Key, 1, maxRepetitions)
		}
	}
	if n.Kind == yaml.MappingNode && !has("name") {
		r.At(n, "add name:", "the job has no name")
	}
	for _, g := range served.Generators() {
		if has(g.Key) {
			j.Network, j.Matrix = r.network(g, entries)
			j.faulty = len(r.Problems) > before
			return j
		}
	}
	if has("exec") {
		j.Exec, j.Matrix = r.exec(entries, s.Parameters, s.Place)
		j.faulty = len(r.Problems) > before
		return j
	}
	r.fio(&j, n, entries, s.Place, defaults, before)
	j.faulty = len(r.Problems) > before || defaults.faulty
	return j
}

// fio reads a fio job. before is how many problems there were before the job. Keys of jobs that run a command are
// reported as problems.
func (r *reporter) fio(j *Job, n *yaml.Node, entries []yamlfile.Entry, place Place, defaults settings, before int) {
	var own settings
	var matrix *yaml.Node
	for _, e := range entries {
		switch e.Key {
		case "fio":
			own = r.settings(e.Value, "fio")
		case "matrix":
			matrix = e.Value
		case "divide":
			j.Divide = r.YesNo(e.Value, e.Key)
		case "steps":
			j.Steps = r.steps(e.Value, place)
		default:
			if slices.Contains(execKeys(), e.Key) {
				r.At(e.Where, "add exec: and a list of arguments, or delete it", "%s belongs to a job with exec", e.Key)
			}
		}
	}
	j.Fio = map[string]string{}
	maps.Copy(j.Fio, defaults.values)
	maps.Copy(j.Fio, own.values)
	if matrix != nil {
		j.Matrix = r.matrix(matrix, own)
	}
	varied := slices.ContainsFunc(j.Matrix, func(a Axis) bool { return a.Param == "rw" })
	if j.Fio["rw"] == "" && !varied && len(r.Problems) == before && !defaults.faulty {
		r.At(n, "add rw: randread, or another of "+strings.Join(patterns(), ", "),
			"the job does not say what it does: rw is missing")
	}
}

// settings are fio parameters as a mapping gives them.
type settings struct {
	values map[string]string
	where  map[string]*yaml.Node
	// faulty is set if a parameter was left out because of a reported problem; checks that depend on it are then
	// skipped.
	faulty bool
}

// settings reads a mapping of fio parameters.
func (r *reporter) settings(n *yaml.Node, what string) settings {
	s := settings{values: map[string]string{}, where: map[string]*yaml.Node{}}
	before := len(r.Problems)
	for _, e := range r.Mapping(n, what, nil) {
		name, ok := r.parameterName(e.Where, e.Key)
		if !ok {
			continue
		}
		if first, double := s.where[name]; double {
			r.At(e.Where, "delete one of the two", "%s is %s, which stands on line %d already", e.Key, name, first.Line)
			continue
		}
		s.where[name] = e.Where
		if e.Value.Kind == yaml.SequenceNode {
			r.At(e.Value, "put a list of values under matrix:", "%s has several values", name)
			continue
		}
		if v, ok := r.parameterValue(e.Value, name); ok {
			s.values[name] = v
		}
	}
	s.faulty = len(r.Problems) > before
	return s
}

// parameterName checks that a parameter may be set, and returns its canonical name.
func (r *reporter) parameterName(where *yaml.Node, typed string) (string, bool) {
	name, complaint, hint := parameterName(typed)
	if complaint != "" {
		r.At(where, hint, "%s", complaint)
		return "", false
	}
	return name, true
}

// parameterValue reads and checks one value of a fio parameter.
func (r *reporter) parameterValue(n *yaml.Node, name string) (string, bool) {
	v := n.Value
	switch {
	case n.Kind == yaml.ScalarNode && v == "null":
		// In YAML null is no value, but in fio it is an engine (ioengine=null) and a way to verify.
	case n.Tag == "!!null" && parameters()[name] == toggle:
		r.At(n, "write "+name+": 1", "%s has no value", name)
		return "", false
	default:
		var ok bool
		if v, ok = r.Scalar(n, name); !ok {
			return "", false
		}
	}
	canonical, complaint, hint := parameterValue(name, v)
	if complaint != "" {
		r.At(n, hint, "%s", complaint)
		return "", false
	}
	return canonical, true
}

// matrix reads the axes of a job, and refuses axes that the job's own parameters set as well.
func (r *reporter) matrix(n *yaml.Node, own settings) []Axis {
	var axes []Axis
	cells := 1
	for _, e := range r.Mapping(n, "matrix", nil) {
		name, ok := r.parameterName(e.Where, e.Key)
		if !ok {
			continue
		}
		if slices.ContainsFunc(axes, func(a Axis) bool { return a.Param == name }) {
			r.At(e.Where, "delete one of the two", "%s is %s, which is an axis already", e.Key, name)
			continue
		}
		if first, double := own.where[name]; double {
			r.At(e.Where, "delete one of the two", "%s stands under fio too, on line %d", name, first.Line)
			continue
		}
		axis := Axis{Param: name}
		elements := r.Sequence(e.Value, name+" under matrix")
		if e.Value.Kind == yaml.SequenceNode && len(elements) == 0 {
			r.At(e.Value, "list at least one value", "%s has no values", name)
		}
		taken := map[string]bool{}
		for _, element := range elements {
			v, ok := r.parameterValue(element, name)
			if !ok {
				continue
			}
			means := canonical(name, v)
			if taken[means] {
				r.At(element, "delete one of the two", "%s has the value %s twice", name, yamlfile.Quoted(v))
				continue
			}
			taken[means] = true
			axis.Values = append(axis.Values, v)
		}
		if len(axis.Values) == 0 {
			continue
		}
		axes = append(axes, axis)
		if cells = cells * len(axis.Values); cells > maxCells {
			r.At(n, "measure fewer values", "the matrix has more than %d cells", maxCells)
			return nil
		}
	}
	return axes
}

// steps reads the steps of a job: a list, or a mapping with a list for a device, a directory or both.
func (r *reporter) steps(n *yaml.Node, place Place) map[lab.PlaceKind][]lab.Step {
	steps := map[lab.PlaceKind][]lab.Step{}
	if n.Kind != yaml.MappingNode {
		kinds := []lab.PlaceKind{lab.PlaceKind(place)}
		if place == Any {
			kinds = []lab.PlaceKind{lab.Device, lab.Directory}
		}
		list := r.stepList(n, kinds...)
		for _, k := range kinds {
			steps[k] = list
		}
		return steps
	}
	for _, e := range r.Mapping(n, "steps", []string{string(lab.Device), string(lab.Directory)}) {
		if place != Any && e.Key != string(place) {
			r.At(e.Where, "delete it, or write place: any", "the suite does not run on a %s", e.Key)
			continue
		}
		steps[lab.PlaceKind(e.Key)] = r.stepList(e.Value, lab.PlaceKind(e.Key))
	}
	return steps
}

// stepList reads steps that must be possible on all of the given kinds of place.
func (r *reporter) stepList(n *yaml.Node, kinds ...lab.PlaceKind) []lab.Step {
	var steps []lab.Step
	before := len(r.Problems)
	for _, element := range r.Sequence(n, "steps") {
		v := r.OneOf(element, "a step", string(lab.Discard), string(lab.Fill), string(lab.Layout), string(lab.Load),
			string(lab.CleanUp))
		if v == "" {
			continue
		}
		if slices.Contains(steps, lab.Step(v)) {
			r.At(element, "delete one of the two", "the step %s stands twice", v)
			continue
		}
		for _, k := range kinds {
			if !suits(lab.Step(v), k) {
				hint := "a device has discard, fill and load; a directory layout, load and clean-up"
				if len(kinds) > 1 {
					hint = "name the steps for each place: steps: {device: […], directory: […]}"
				}
				r.At(element, hint, "a %s has no step %s", k, v)
				break
			}
		}
		steps = append(steps, lab.Step(v))
	}
	if len(r.Problems) == before {
		if fault := stepFault(steps); fault != "" {
			r.At(n, "", "%s", fault)
		}
	}
	return steps
}

// published reads what the suite's source did differently.
func (r *reporter) published(n *yaml.Node, place Place) *Published {
	p := &Published{}
	for _, e := range r.Mapping(n, "as_published", []string{"note", "order", "repetitions", "steps", "fio"}) {
		switch e.Key {
		case "note":
			p.Note, _ = r.Scalar(e.Value, e.Key)
		case "order":
			p.Order = r.order(e.Value)
		case "repetitions":
			p.Repetitions = r.Count(e.Value, e.Key, 1, maxRepetitions)
		case "steps":
			if place == Any {
				r.At(e.Where, "write place: device or place: directory",
					"the source did its steps on one kind of place, and the suite takes any")
				continue
			}
			p.Steps = r.stepList(e.Value, lab.PlaceKind(place))
		case "fio":
			p.Fio = r.settings(e.Value, "fio").values
		}
	}
	if p.Note == "" {
		r.At(n, "add note: and a sentence", "as_published does not say what differs from the suite")
	}
	return p
}
