package suite

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"headroom/internal/lab"
)

// The limits of a suite file. They are far above what anyone measures, and keep a slip (one matrix axis too many) from
// becoming a run that never ends.
const (
	formatVersion  = 1
	maxFile        = 1 << 20 // bytes
	maxCells       = 10_000
	maxRepetitions = 10_000
)

// defaultRepetitions is the least number from which a spread can be seen.
const defaultRepetitions = 3

// Decode reads a suite file; name is the file's, for messages. The error holds Problems: all of them at once.
//
// A file looks like this:
//
//	version: 1
//	jobs:
//	  - {name: randread, fio: {rw: randread, bs: 4k, ioengine: libaio, direct: 1, runtime: 10s, time_based: 1}}
func Decode(name string, data []byte) (Suite, error) {
	r := &reporter{file: name}
	root := r.parse(data)
	if root == nil {
		return Suite{}, r.err()
	}
	s := r.suite(root)
	s.Text = string(data)
	r.checkCells(s)
	if err := r.err(); err != nil {
		return Suite{}, err
	}
	return s, nil
}

// parse reads the file's one YAML document; nil when there is nothing to go on with.
func (r *reporter) parse(data []byte) *yaml.Node {
	if len(data) > maxFile {
		r.add(0, 0, "", "the file is larger than 1 MiB, which no suite is")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF), err == nil && len(document.Content) == 0:
		r.add(0, 0, "begin it with version: 1", "the file is empty")
		return nil
	case err != nil:
		r.syntax(err)
		return nil
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		r.add(second.Line, second.Column, "give each suite a file of its own", "a second YAML document begins here")
	case !errors.Is(err, io.EOF):
		r.syntax(err)
		return nil
	}
	return document.Content[0]
}

// syntax reports an error of the YAML parser, which has the line in its text only: "yaml: line 3: did not find …".
func (r *reporter) syntax(err error) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 0
	if rest, ok := strings.CutPrefix(message, "line "); ok {
		if digits, after, ok := strings.Cut(rest, ": "); ok {
			if n, err := strconv.Atoi(digits); err == nil {
				line, message = n, after
			}
		}
	}
	hint := "look at the indentation and the colons around this line"
	if strings.Contains(message, "cannot start any token") {
		hint = "indent with spaces, not tabs, and quote a value that begins with a special character"
	}
	r.add(line, 0, hint, "not valid YAML: %s", message)
}

// suite reads the top level.
func (r *reporter) suite(root *yaml.Node) Suite {
	s := Suite{Place: Any, Order: Interleaved, Repetitions: defaultRepetitions}
	s.Name = nameFrom(r.file)
	entries := r.mapping(root, "a suite", []string{"version", "name", "title", "source", "place", "order", "seed",
		"repetitions", "interval", "size", "defaults", "jobs", "as_published"})
	if !r.version(root, entries) {
		return s
	}
	// Defaults and the place come first, wherever they stand: the jobs are read in their light.
	var defaults settings
	var jobs, published *yaml.Node
	for _, e := range entries {
		switch e.key {
		case "name":
			if v, ok := r.name(e.value, "name"); ok {
				s.Name = v
			}
		case "title":
			s.Title, _ = r.scalar(e.value, e.key)
		case "source":
			s.Source, _ = r.scalar(e.value, e.key)
		case "place":
			if v := r.oneOf(e.value, e.key, string(Any), string(Device), string(Directory)); v != "" {
				s.Place = Place(v)
			}
		case "order":
			s.Order = r.order(e.value)
		case "seed":
			v, _ := r.scalar(e.value, e.key)
			n, err := strconv.ParseUint(v, 10, 64)
			if v != "" && (err != nil || n == 0) {
				r.at(e.value, "write a whole number above 0, or delete the key to have one drawn",
					"seed can't be %s", quoted(v))
			}
			s.Seed = n
		case "repetitions":
			s.Repetitions = r.count(e.value, e.key, 1, maxRepetitions)
		case "interval":
			s.Interval = r.duration(e.value, e.key)
		case "size":
			s.Size = r.size(e.value, e.key)
		case "defaults":
			defaults = r.settings(e.value, "defaults")
		case "jobs":
			jobs = e.value
		case "as_published":
			published = e.value
		}
	}
	if s.Size > 0 && s.Place == Device {
		r.at(root, "delete it, or write place: any",
			"size is that of a directory's scratch file, and the place is a device")
	}
	switch {
	case resolve(root).Kind != yaml.MappingNode:
		return s
	case jobs == nil:
		r.at(root, "list them under jobs:", "the suite has no jobs")
		return s
	}
	elements := r.sequence(jobs, "jobs")
	if jobs.Kind == yaml.SequenceNode && len(elements) == 0 {
		r.at(jobs, "list at least one", "the suite has no jobs")
	}
	for _, n := range elements {
		job := r.job(n, s.Place, defaults)
		if i := slices.IndexFunc(s.Jobs, func(j Job) bool { return j.Name == job.Name }); i >= 0 && job.Name != "" {
			r.at(n, "give it another name", "a job %s stands on line %d already", job.Name, s.Jobs[i].Line)
		}
		s.Jobs = append(s.Jobs, job)
	}
	if published != nil {
		s.Published = r.published(published, s.Place)
	}
	return s
}

// version checks the format's version, and says whether it makes sense to read on.
func (r *reporter) version(root *yaml.Node, entries []entry) bool {
	i := slices.IndexFunc(entries, func(e entry) bool { return e.key == "version" })
	if i < 0 {
		if resolve(root).Kind == yaml.MappingNode {
			r.at(root, "begin the file with version: 1", "the format's version is missing")
		}
		return true
	}
	v, ok := r.scalar(entries[i].value, "version")
	if !ok {
		return true
	}
	n, err := strconv.Atoi(v)
	switch {
	case err == nil && n > formatVersion:
		// What else seems wrong may be right in that version.
		r.problems = nil
		r.at(entries[i].value, "update headroom",
			"the file is of version %d, and this headroom reads version %d", n, formatVersion)
		return false
	case err != nil || n < 1:
		r.at(entries[i].value, "write version: 1", "version can't be %s", quoted(v))
	}
	return true
}

// name reads a name that is to be a file name, an argument and a spreadsheet's column title.
func (r *reporter) name(n *yaml.Node, what string) (string, bool) {
	v, ok := r.scalar(n, what)
	if ok && !isName(v) {
		r.at(n, "use up to 64 letters, digits, dots, dashes and underscores, a letter or digit first",
			"%s can't be %s", what, quoted(v))
		return "", false
	}
	return v, ok
}

func isName(s string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString(s)
}

func (r *reporter) order(n *yaml.Node) Order {
	return Order(r.oneOf(n, "order", string(Interleaved), string(Shuffled), string(Sequential)))
}

// job reads one element of jobs.
func (r *reporter) job(n *yaml.Node, place Place, defaults settings) Job {
	j := Job{Line: n.Line, column: n.Column}
	before := len(r.problems)
	var own settings
	var matrix *yaml.Node
	entries := r.mapping(n, "a job", []string{"name", "title", "fio", "matrix", "divide", "steps", "repetitions"})
	for _, e := range entries {
		switch e.key {
		case "name":
			j.Name, _ = r.name(e.value, "name")
		case "title":
			j.Title, _ = r.scalar(e.value, e.key)
		case "fio":
			own = r.settings(e.value, "fio")
		case "matrix":
			matrix = e.value
		case "divide":
			j.Divide = r.yesNo(e.value, e.key)
		case "steps":
			j.Steps = r.steps(e.value, place)
		case "repetitions":
			j.Repetitions = r.count(e.value, e.key, 1, maxRepetitions)
		}
	}
	named := slices.ContainsFunc(entries, func(e entry) bool { return e.key == "name" })
	if n.Kind == yaml.MappingNode && !named {
		r.at(n, "add name:", "the job has no name")
	}
	j.Fio = map[string]string{}
	maps.Copy(j.Fio, defaults.values)
	maps.Copy(j.Fio, own.values)
	if matrix != nil {
		j.Matrix = r.matrix(matrix, own)
	}
	varied := slices.ContainsFunc(j.Matrix, func(a Axis) bool { return a.Param == "rw" })
	if j.Fio["rw"] == "" && !varied && len(r.problems) == before && !defaults.faulty {
		r.at(n, "add rw: randread, or another of "+strings.Join(patterns(), ", "),
			"the job does not say what it does: rw is missing")
	}
	j.faulty = len(r.problems) > before || defaults.faulty
	return j
}

// settings are fio parameters as a mapping gives them.
type settings struct {
	values map[string]string
	where  map[string]*yaml.Node
	// faulty is set when one was left out, with its problem reported; what depends on it is then not to be judged.
	faulty bool
}

// settings reads a mapping of fio parameters.
func (r *reporter) settings(n *yaml.Node, what string) settings {
	s := settings{values: map[string]string{}, where: map[string]*yaml.Node{}}
	before := len(r.problems)
	for _, e := range r.mapping(n, what, nil) {
		name, ok := r.parameterName(e.where, e.key)
		if !ok {
			continue
		}
		if first, double := s.where[name]; double {
			r.at(e.where, "delete one of the two", "%s is %s, which stands on line %d already", e.key, name, first.Line)
			continue
		}
		s.where[name] = e.where
		if e.value.Kind == yaml.SequenceNode {
			r.at(e.value, "put a list of values under matrix:", "%s has several values", name)
			continue
		}
		if v, ok := r.parameterValue(e.value, name); ok {
			s.values[name] = v
		}
	}
	s.faulty = len(r.problems) > before
	return s
}

// parameterName checks that a parameter may be set, and returns its canonical name.
func (r *reporter) parameterName(where *yaml.Node, typed string) (string, bool) {
	name, complaint, hint := parameterName(typed)
	if complaint != "" {
		r.at(where, hint, "%s", complaint)
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
		r.at(n, "write "+name+": 1", "%s has no value", name)
		return "", false
	default:
		var ok bool
		if v, ok = r.scalar(n, name); !ok {
			return "", false
		}
	}
	canonical, complaint, hint := parameterValue(name, v)
	if complaint != "" {
		r.at(n, hint, "%s", complaint)
		return "", false
	}
	return canonical, true
}

// matrix reads the axes of a job, and refuses those that its own parameters set as well.
func (r *reporter) matrix(n *yaml.Node, own settings) []Axis {
	var axes []Axis
	cells := 1
	for _, e := range r.mapping(n, "matrix", nil) {
		name, ok := r.parameterName(e.where, e.key)
		if !ok {
			continue
		}
		if slices.ContainsFunc(axes, func(a Axis) bool { return a.Param == name }) {
			r.at(e.where, "delete one of the two", "%s is %s, which is an axis already", e.key, name)
			continue
		}
		if first, double := own.where[name]; double {
			r.at(e.where, "delete one of the two", "%s stands under fio too, on line %d", name, first.Line)
			continue
		}
		axis := Axis{Param: name}
		elements := r.sequence(e.value, name+" under matrix")
		if e.value.Kind == yaml.SequenceNode && len(elements) == 0 {
			r.at(e.value, "list at least one value", "%s has no values", name)
		}
		for _, element := range elements {
			v, ok := r.parameterValue(element, name)
			if !ok {
				continue
			}
			if slices.ContainsFunc(axis.Values, func(w string) bool { return sameValue(name, v, w) }) {
				r.at(element, "delete one of the two", "%s has the value %s twice", name, quoted(v))
				continue
			}
			axis.Values = append(axis.Values, v)
		}
		if len(axis.Values) == 0 {
			continue
		}
		axes = append(axes, axis)
		if cells = cells * len(axis.Values); cells > maxCells {
			r.at(n, "measure fewer values", "the matrix has more than %d cells", maxCells)
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
	for _, e := range r.mapping(n, "steps", []string{string(lab.Device), string(lab.Directory)}) {
		if place != Any && e.key != string(place) {
			r.at(e.where, "delete it, or write place: any", "the suite does not run on a %s", e.key)
			continue
		}
		steps[lab.PlaceKind(e.key)] = r.stepList(e.value, lab.PlaceKind(e.key))
	}
	return steps
}

// stepList reads steps that must make sense on all the kinds of place given.
func (r *reporter) stepList(n *yaml.Node, kinds ...lab.PlaceKind) []lab.Step {
	var steps []lab.Step
	before := len(r.problems)
	for _, element := range r.sequence(n, "steps") {
		v := r.oneOf(element, "a step", string(lab.Discard), string(lab.Fill), string(lab.Layout), string(lab.Load),
			string(lab.CleanUp))
		if v == "" {
			continue
		}
		if slices.Contains(steps, lab.Step(v)) {
			r.at(element, "delete one of the two", "the step %s stands twice", v)
			continue
		}
		for _, k := range kinds {
			if !suits(lab.Step(v), k) {
				hint := "a device has discard, fill and load; a directory layout, load and clean-up"
				if len(kinds) > 1 {
					hint = "name the steps for each place: steps: {device: […], directory: […]}"
				}
				r.at(element, hint, "a %s has no step %s", k, v)
				break
			}
		}
		steps = append(steps, lab.Step(v))
	}
	if len(r.problems) == before {
		if fault := stepFault(steps); fault != "" {
			r.at(n, "", "%s", fault)
		}
	}
	return steps
}

// published reads what the suite's source did otherwise.
func (r *reporter) published(n *yaml.Node, place Place) *Published {
	p := &Published{}
	for _, e := range r.mapping(n, "as_published", []string{"note", "order", "repetitions", "steps", "fio"}) {
		switch e.key {
		case "note":
			p.Note, _ = r.scalar(e.value, e.key)
		case "order":
			p.Order = r.order(e.value)
		case "repetitions":
			p.Repetitions = r.count(e.value, e.key, 1, maxRepetitions)
		case "steps":
			if place == Any {
				r.at(e.where, "write place: device or place: directory",
					"the source did its steps on one kind of place, and the suite takes any")
				continue
			}
			p.Steps = r.stepList(e.value, lab.PlaceKind(place))
		case "fio":
			p.Fio = r.settings(e.value, "fio").values
		}
	}
	if p.Note == "" {
		r.at(n, "add note: and a sentence", "as_published does not say what differs from the suite")
	}
	return p
}
