package suite

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/load/command"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/yamlfile"
)

// The limits of a suite file. They are far above real needs, and keep a mistake (one matrix axis too many) from
// becoming a run that never ends.
const (
	formatVersion  = 1
	maxCells       = 10_000
	maxRepetitions = 10_000
)

// defaultRepetitions is the smallest number that shows a spread.
const defaultRepetitions = 3

// Decode reads a suite file. name is the file's name, for messages. The error holds all Problems at once.
//
// A file looks like this:
//
//	version: 1
//	jobs:
//	  - {name: randread, fio: {rw: randread, bs: 4k, ioengine: libaio, direct: 1, runtime: 10s, time_based: 1}}
func Decode(name string, data []byte) (Suite, error) {
	r := newReporter(name)
	root := r.Parse(data)
	if root == nil {
		return Suite{}, r.Err()
	}
	s := r.suite(root)
	s.Text = string(data)
	r.checkCells(s)
	if err := r.Err(); err != nil {
		return Suite{}, err
	}
	return s, nil
}

// suite reads the top level.
func (r *reporter) suite(root *yaml.Node) Suite {
	s := Suite{Place: Any, Order: Interleaved, Repetitions: defaultRepetitions}
	s.Name = nameFrom(r.Name)
	entries := r.Mapping(root, "a suite", []string{"version", "name", "title", "source", "place", "order", "seed",
		"repetitions", "interval", "size", "defaults", "parameters", "jobs", "as_published"})
	if !r.Version(root, entries, formatVersion) {
		return s
	}
	// Defaults, parameters and the place are read first, wherever they are in the file: reading jobs needs them.
	var defaults settings
	var jobs, published *yaml.Node
	for _, e := range entries {
		switch e.Key {
		case "name":
			if v, ok := r.name(e.Value, "name"); ok {
				s.Name = v
			}
		case "title":
			s.Title, _ = r.Scalar(e.Value, e.Key)
		case "source":
			s.Source, _ = r.Scalar(e.Value, e.Key)
		case "place":
			if v := r.OneOf(e.Value, e.Key, string(Any), string(Device), string(Directory)); v != "" {
				s.Place = Place(v)
			}
		case "order":
			s.Order = r.order(e.Value)
		case "seed":
			v, _ := r.Scalar(e.Value, e.Key)
			n, err := strconv.ParseUint(v, 10, 64)
			if v != "" && (err != nil || n == 0) {
				r.At(e.Value, "write a whole number above 0, or delete the key to have one drawn",
					"seed can't be %s", yamlfile.Quoted(v))
			}
			s.Seed = n
		case "repetitions":
			s.Repetitions = r.Count(e.Value, e.Key, 1, maxRepetitions)
		case "interval":
			s.Interval = r.Duration(e.Value, e.Key)
		case "size":
			s.Size = r.Size(e.Value, e.Key)
		case "defaults":
			defaults = r.settings(e.Value, "defaults")
		case "parameters":
			s.Parameters = r.parameters(e.Value)
		case "jobs":
			jobs = e.Value
		case "as_published":
			published = e.Value
		}
	}
	if s.Size > 0 && s.Place == Device {
		r.At(root, "delete it, or write place: any",
			"size sets the size of a directory's scratch file, and the place is a device")
	}
	switch {
	case yamlfile.Resolve(root).Kind != yaml.MappingNode:
		return s
	case jobs == nil:
		r.At(root, "list them under jobs:", "the suite has no jobs")
		return s
	}
	elements := r.Sequence(jobs, "jobs")
	if jobs.Kind == yaml.SequenceNode && len(elements) == 0 {
		r.At(jobs, "list at least one", "the suite has no jobs")
	}
	for _, n := range elements {
		job := r.job(n, s, defaults)
		if i := slices.IndexFunc(s.Jobs, func(j Job) bool { return j.Name == job.Name }); i >= 0 && job.Name != "" {
			r.At(n, "give it another name", "a job %s stands on line %d already", job.Name, s.Jobs[i].Line)
		}
		s.Jobs = append(s.Jobs, job)
	}
	switch n := len(slices.DeleteFunc(slices.Clone(s.Jobs), func(j Job) bool { return j.Network == nil })); {
	case n > 0 && n < len(s.Jobs):
		r.At(jobs, "make two suites of them", "some jobs measure a network, and others do not")
	case n > 0:
		s.Place = Network
	}
	if published != nil {
		s.Published = r.published(published, s.Place)
	}
	return s
}

// name reads a name that is used as a file name, an argument and a spreadsheet's column title.
func (r *reporter) name(n *yaml.Node, what string) (string, bool) {
	v, ok := r.Scalar(n, what)
	if ok && !isName(v) {
		r.At(n, "use up to 64 letters, digits, dots, dashes and underscores, a letter or digit first",
			"%s can't be %s", what, yamlfile.Quoted(v))
		return "", false
	}
	return v, ok
}

func isName(s string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`).MatchString(s)
}

func (r *reporter) order(n *yaml.Node) Order {
	return Order(r.OneOf(n, "order", string(Interleaved), string(Shuffled), string(Sequential)))
}

// reporter collects the problems of one file.
type reporter struct{ yamlfile.Reader }

func newReporter(file string) *reporter { return &reporter{yamlfile.Reader{Name: file}} }

// parameterWord matches a name that can be written in braces.
var parameterWord = prose.Pattern(`^[a-z][a-z0-9_]{0,31}$`)

// placeholderName checks a name for use in braces.
func (r *reporter) placeholderName(e yamlfile.Entry) bool {
	switch {
	case !parameterWord().MatchString(e.Key):
		r.At(e.Where, "use lower-case letters, digits and underscores, a letter first",
			"a parameter can't be called %s", yamlfile.Quoted(e.Key))
	case slices.Contains(command.OfTarget(), e.Key):
		r.At(e.Where, "give it another name", "{%s} has a fixed meaning", e.Key)
	default:
		return true
	}
	return false
}

// placeholders reports placeholders without a value, and axes that no placeholder uses.
func (r *reporter) placeholders(entries []yamlfile.Entry, x *Exec, axes []Axis, parameters []Parameter) {
	known := append(command.OfTarget(), command.Tree)
	for _, p := range parameters {
		known = append(known, p.Name)
	}
	for _, a := range axes {
		known = append(known, a.Param)
	}
	for _, e := range entries {
		if e.Key == "exec" || slices.Contains(execKeys(), e.Key) && e.Key != "metrics" {
			r.unknownPlaceholders(e.Value, known)
		}
	}
	uses := append(command.Uses(x.Command), command.Placeholders(x.Takes)...)
	for _, e := range entries {
		if e.Key != "matrix" {
			continue
		}
		for _, axis := range r.Mapping(e.Value, "matrix", nil) {
			if !slices.Contains(uses, axis.Key) {
				r.At(axis.Where, "write {"+axis.Key+"} where it belongs",
					"nothing in the job uses %s, so its values would measure the same", axis.Key)
			}
		}
	}
}

func (r *reporter) unknownPlaceholders(n *yaml.Node, known []string) {
	n = yamlfile.Resolve(n)
	for _, child := range n.Content {
		r.unknownPlaceholders(child, known)
	}
	if n.Kind != yaml.ScalarNode {
		return
	}
	for _, name := range command.Placeholders(n.Value) {
		if !slices.Contains(known, name) {
			hint := yamlfile.DidYouMean(name, known)
			if hint == "" {
				hint = "known here: " + strings.Join(known, ", ") +
					"; text that is no placeholder has a space in its braces: { " + name + " }"
			}
			r.At(n, hint, "nothing fills in {%s}", name)
		}
	}
}
