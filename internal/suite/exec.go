package suite

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/command"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/yamlfile"
)

// Exec is what a job runs that is not a fio job: any command. Its placeholders are the suite's parameters, the job's
// axes, and values that only the target knows ({dir}, {cpus}, {job}).
type Exec struct {
	lab.Command
	// Takes is how long the command is expected to take, with placeholders: "{seconds}s"; empty if unknown.
	Takes string
	// Metrics that the job defines.
	Metrics map[string]lab.MetricInfo
}

// Parameter is a value of a suite's exec jobs that --set changes.
type Parameter struct {
	Name string
	// About is a short description.
	About string
	// Value of the parameter. Given is false while it has none; it must then be set.
	Value string
	Given bool
}

// exec reads the command of a job. Keys of fio jobs are reported as problems.
func (r *reporter) exec(entries []yamlfile.Entry, parameters []Parameter, place Place) (*Exec, []Axis) {
	x := &Exec{}
	var axes []Axis
	before := len(r.Problems)
	for _, e := range entries {
		switch e.Key {
		case "exec":
			x.Argv = r.argv(e.Value, e.Key)
			if place == Device {
				r.At(e.Where, "write place: directory",
					"a command works in a folder, and the suite's place is a device")
			}
		case "prepare":
			x.Prepare = r.commands(e.Value, e.Key)
		case "cleanup":
			x.CleanUp = r.commands(e.Value, e.Key)
		case "environment":
			x.Environment = r.pairs(e.Value, e.Key, environmentName())
		case "timeout":
			x.Timeout = r.Duration(e.Value, e.Key).Seconds()
		case "takes":
			x.Takes, _ = r.Scalar(e.Value, e.Key)
		case "metrics":
			x.Match, x.Metrics = r.metrics(e.Value)
		case "needs":
			x.Needs = r.pairs(e.Value, e.Key, nil)
		case "path":
			x.Path = r.folders(e.Value)
		case "user":
			x.User, _ = r.name(e.Value, e.Key)
		case "matrix":
			axes = r.execMatrix(e.Value)
		default:
			if slices.Contains(fioKeys(), e.Key) {
				r.At(e.Where, "delete one of the two, or make two jobs of it", "a job with exec has no %s", e.Key)
			}
		}
	}
	if len(r.Problems) == before {
		r.placeholders(entries, x, axes, parameters)
	}
	return x, axes
}

// argv reads an argument vector. A string would have to be split as a shell does, and shells differ.
func (r *reporter) argv(n *yaml.Node, what string) []string {
	if n.Kind == yaml.ScalarNode {
		r.At(n, "write a list, one element an argument: [make, -j4]; a shell is named: [sh, -c, \"…\"]",
			"%s must be a list, not %s", what, yamlfile.KindOf(n))
		return nil
	}
	elements := r.Sequence(n, what)
	if n.Kind == yaml.SequenceNode && len(elements) == 0 {
		r.At(n, "name a program and its arguments", "%s is empty", what)
	}
	var argv []string
	for i, e := range elements {
		switch {
		case e.Kind == yaml.ScalarNode && e.Tag == "!!str" && e.Value == "" && i > 0: // an empty argument is valid
		case e.Kind == yaml.ScalarNode && strings.ContainsRune(e.Value, 0):
			r.At(e, "", "an argument can't hold a zero byte")
			continue
		default:
			if _, ok := r.Scalar(e, "an argument of "+what); !ok {
				continue
			}
		}
		argv = append(argv, e.Value)
	}
	return argv
}

// commands reads one argument vector, or a list of them.
func (r *reporter) commands(n *yaml.Node, what string) [][]string {
	if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || yamlfile.Resolve(n.Content[0]).Kind != yaml.SequenceNode {
		if argv := r.argv(n, what); len(argv) > 0 {
			return [][]string{argv}
		}
		return nil
	}
	var list [][]string
	for _, e := range r.Sequence(n, what) {
		if argv := r.argv(e, "a command of "+what); len(argv) > 0 {
			list = append(list, argv)
		}
	}
	return list
}

// pairs reads a mapping of words to words.
func (r *reporter) pairs(n *yaml.Node, what string, name *regexp.Regexp) map[string]string {
	words := map[string]string{}
	for _, e := range r.Mapping(n, what, nil) {
		if name != nil && !name.MatchString(e.Key) {
			r.At(e.Where, "use letters, digits and underscores", "%s can't be the name of a variable",
				yamlfile.Quoted(e.Key))
			continue
		}
		if e.Value.Kind == yaml.ScalarNode && e.Value.Tag == "!!str" && e.Value.Value == "" {
			words[e.Key] = "" // NAME= sets an empty value
			continue
		}
		if v, ok := r.Scalar(e.Value, e.Key); ok {
			words[e.Key] = v
		}
	}
	return words
}

var environmentName = prose.Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)

// folders reads absolute paths of folders, which may contain stars.
func (r *reporter) folders(n *yaml.Node) []string {
	var all []string
	for _, e := range r.Sequence(n, "path") {
		v, ok := r.Scalar(e, "a folder of path")
		switch {
		case !ok:
		case !strings.HasPrefix(v, "/") || strings.ContainsAny(v, ":\n"):
			r.At(e, "write /usr/lib/tool/*/bin", "a folder of path can't be %s", yamlfile.Quoted(v))
		default:
			all = append(all, v)
		}
	}
	return all
}

// metrics reads the metrics that a job defines.
func (r *reporter) metrics(n *yaml.Node) (map[string]lab.Match, map[string]lab.MetricInfo) {
	matches, infos := map[string]lab.Match{}, map[string]lab.MetricInfo{}
	for _, e := range r.Mapping(n, "metrics", nil) {
		given := r.Mapping(e.Value, "the metric "+e.Key, []string{"match", "unit", "better", "decides"})
		info, match := lab.MetricInfo{Unit: lab.Count}, lab.Match{Scale: 1}
		for _, k := range given {
			switch k.Key {
			case "match":
				match.Expression, _ = r.Scalar(k.Value, k.Key)
				if fault := command.CheckExpression(match.Expression); match.Expression != "" && fault != "" {
					r.At(k.Value, "write an expression with one group, around the number: 'tps = ([0-9.]+)'",
						"match can't be %s: %s",
						yamlfile.Quoted(match.Expression), fault)
				}
			case "unit":
				printed, _ := r.Scalar(k.Value, k.Key)
				info.Unit, match.Scale = command.Unit(printed)
			case "better":
				info.Better = lab.Better(r.OneOf(k.Value, k.Key, string(lab.Higher), string(lab.Lower)))
			case "decides":
				info.Decides = r.YesNo(k.Value, k.Key)
			}
		}
		has := func(key string) bool {
			return slices.ContainsFunc(given, func(k yamlfile.Entry) bool { return k.Key == key })
		}
		switch {
		case !parameterWord().MatchString(e.Key):
			r.At(e.Where, "use lower-case letters, digits and underscores, a letter first",
				"a metric can't be called %s", yamlfile.Quoted(e.Key))
		case slices.Contains(lab.Directions(), e.Key) || e.Key == "cpu":
			r.At(e.Where, "give it another name", "%s is the beginning of other metrics' names", yamlfile.Quoted(e.Key))
		case e.Key == command.Elapsed && (has("match") || has("unit") || has("better")):
			r.At(e.Where, "leave decides alone",
				"elapsed is measured and not matched: it has no match, unit and better")
		case e.Key != command.Elapsed && e.Value.Kind == yaml.MappingNode && !has("match"):
			r.At(e.Where, "add match: and an expression with one group, around the number",
				"the metric %s does not say where it is found", e.Key)
		case e.Key != command.Elapsed && e.Value.Kind == yaml.MappingNode && !has("better"):
			r.At(e.Where, "add better: higher, or better: lower", "the metric %s does not say which way is better",
				e.Key)
		case e.Key == command.Elapsed:
			infos[e.Key] = lab.MetricInfo{Unit: lab.Seconds, Better: lab.Lower, Decides: info.Decides}
		default:
			matches[e.Key], infos[e.Key] = match, info
		}
	}
	return matches, infos
}

// parameters reads the parameters of a suite's exec jobs: a name with its default, or with a mapping of further fields.
func (r *reporter) parameters(n *yaml.Node) []Parameter {
	var all []Parameter
	for _, e := range r.Mapping(n, "parameters", nil) {
		p := Parameter{Name: e.Key}
		switch {
		case !r.placeholderName(e):
			continue
		case e.Value.Kind == yaml.MappingNode:
			for _, k := range r.Mapping(e.Value, "the parameter "+e.Key, []string{"default", "about"}) {
				switch k.Key {
				case "default":
					p.Value, p.Given = r.Scalar(k.Value, k.Key)
				case "about":
					p.About, _ = r.Scalar(k.Value, k.Key)
				}
			}
		default:
			p.Value, p.Given = r.Scalar(e.Value, e.Key)
		}
		all = append(all, p)
	}
	return all
}

// execMatrix reads the axes of a job with exec.
func (r *reporter) execMatrix(n *yaml.Node) []Axis { return r.axes(n, r.placeholderName, r.Scalar) }

// axes reads the axes of a job that fio does not run. may decides which names are valid, and value reads one value.
func (r *reporter) axes(n *yaml.Node, may func(yamlfile.Entry) bool,
	value func(n *yaml.Node, name string) (string, bool)) []Axis {
	var axes []Axis
	cells := 1
	for _, e := range r.Mapping(n, "matrix", nil) {
		if !may(e) {
			continue
		}
		axis := Axis{Param: e.Key}
		elements := r.Sequence(e.Value, e.Key+" under matrix")
		if e.Value.Kind == yaml.SequenceNode && len(elements) == 0 {
			r.At(e.Value, "list at least one value", "%s has no values", e.Key)
		}
		for _, element := range elements {
			v, ok := value(element, e.Key)
			switch {
			case !ok:
			case slices.Contains(axis.Values, v):
				r.At(element, "delete one of the two", "%s has the value %s twice", e.Key, yamlfile.Quoted(v))
			default:
				axis.Values = append(axis.Values, v)
			}
		}
		if len(axis.Values) == 0 {
			continue
		}
		axes = append(axes, axis)
		if cells *= len(axis.Values); cells > maxCells {
			r.At(n, "measure fewer values", "the matrix has more than %d cells", maxCells)
			return nil
		}
	}
	return axes
}
