package reference

import (
	"bytes"
	"embed"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/yamlfile"
)

//go:embed files/*.yaml
var builtIn embed.FS

// BuiltIn reads the references that come with headroom, in the order of their files.
func BuiltIn() ([]Reference, error) {
	names, err := fs.Glob(builtIn, "files/*.yaml")
	if err != nil {
		return nil, err
	}
	var references []Reference
	for _, name := range names {
		data, err := builtIn.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r, err := Decode(path.Base(name), data)
		if err != nil {
			return nil, err
		}
		references = append(references, r...)
	}
	return references, nil
}

// The nodes of a file. Fields of type yaml.Node know their line.
type (
	fileText struct {
		Version    yaml.Node       `yaml:"version"`
		Source     sourceText      `yaml:"source"`
		References []referenceText `yaml:"references"`
	}
	sourceText struct {
		Name   yaml.Node `yaml:"name"`
		Title  yaml.Node `yaml:"title"`
		Author yaml.Node `yaml:"author"`
		Date   yaml.Node `yaml:"date"`
		URL    yaml.Node `yaml:"url"`
	}
	referenceText struct {
		Name     yaml.Node         `yaml:"name"`
		Title    yaml.Node         `yaml:"title"`
		Suite    string            `yaml:"suite"`
		Facts    map[string]string `yaml:"facts"`
		Hardware string            `yaml:"hardware"`
		Model    yaml.Node         `yaml:"model"`
		Place    struct {
			Kind       yaml.Node `yaml:"kind"`
			Path       string    `yaml:"path"`
			Filesystem string    `yaml:"filesystem"`
		} `yaml:"place"`
		Unstated []string `yaml:"unstated"`
		Doubts   []struct {
			Text   yaml.Node `yaml:"text"`
			Taints []string  `yaml:"taints"`
		} `yaml:"doubts"`
		Engine  string            `yaml:"engine"`
		Params  map[string]string `yaml:"params"`
		Results []resultText      `yaml:"results"`
	}
	resultText struct {
		Job    yaml.Node            `yaml:"job"`
		Params map[string]string    `yaml:"params"`
		Values map[string]yaml.Node `yaml:"values"`
		Where  yaml.Node            `yaml:"where"`
	}
)

// Decode reads a file of references. name is the file's name, for messages. The error holds all yamlfile.Problems at
// once.
//
// A file looks like this:
//
//	version: 1
//	source: {name: some-report, title: Title of the report, url: "https://…"}
//	references:
//	  - name: raw-disk
//	    title: The disk without a file system
//	    place: {kind: device}
//	    engine: fio
//	    params: {ioengine: libaio, direct: 1}
//	    results:
//	      - {job: randread, params: {rw: randread, bs: 4k, iodepth: 32}, values: {read.iops: 97831}, where: "table 1"}
func Decode(name string, data []byte) ([]Reference, error) {
	r := newReporter(name)
	var file fileText
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		r.yaml(err)
	}
	references := r.references(file)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return references, nil
}

// reporter collects the problems of one file.
type reporter struct{ yamlfile.Reader }

func newReporter(file string) *reporter { return &reporter{yamlfile.Reader{Name: file}} }

// yaml reports the YAML package's complaints, whose line is only in the text.
func (r *reporter) yaml(err error) {
	complaints := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	if types, ok := errors.AsType[*yaml.TypeError](err); ok {
		complaints = types.Errors
	}
	unknown := regexp.MustCompile(`^field (\S+) not found in type .*$`)
	for _, message := range complaints {
		line := 0
		if rest, ok := strings.CutPrefix(message, "line "); ok {
			if number, after, ok := strings.Cut(rest, ": "); ok {
				line, _ = strconv.Atoi(number)
				message = after
			}
		}
		r.Add(line, 0, "", "%s", unknown.ReplaceAllString(message, "there is no key $1 here"))
	}
}

// text returns the value of a required node; line is where the problem is reported if it is missing.
func (r *reporter) text(n yaml.Node, line int, what string) string {
	if n.Kind == yaml.ScalarNode && n.Value != "" {
		return n.Value
	}
	r.Add(max(n.Line, line), 0, "", "%s is missing", what)
	return ""
}

func (r *reporter) references(file fileText) []Reference {
	if v := r.text(file.Version, 1, "version"); v != "" && v != "1" {
		r.Add(file.Version.Line, 0, "write version: 1, or update headroom", "version can't be %s", v)
	}
	name := r.name(file.Source.Name, 1, "the source's name")
	source := Source{Title: r.text(file.Source.Title, file.Source.Name.Line, "the source's title"),
		Author: file.Source.Author.Value,
		URL:    file.Source.URL.Value}
	if date := file.Source.Date; date.Kind != 0 {
		var err error
		if source.Date, err = time.Parse(time.DateOnly, date.Value); err != nil {
			r.Add(date.Line, 0, "write 2024-10-22", "date can't be %q", date.Value)
		}
	}
	if len(file.References) == 0 {
		r.Add(1, 0, "list them under references:", "there are no references")
	}
	var references []Reference
	for _, text := range file.References {
		reference := r.reference(text)
		if slices.ContainsFunc(references, func(other Reference) bool {
			return other.Name == name+"/"+reference.Name
		}) {
			r.Add(text.Name.Line, 0, "give it another name", "a reference %s stands here already", reference.Name)
		}
		reference.Name = name + "/" + reference.Name
		reference.Source = source
		references = append(references, reference)
	}
	return references
}

func (r *reporter) name(n yaml.Node, line int, what string) string {
	v := r.text(n, line, what)
	if v != "" && !regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`).MatchString(v) {
		r.Add(n.Line, 0, "use small letters, digits, dots, dashes and underscores", "%s can't be %q", what, v)
	}
	return v
}

func (r *reporter) reference(text referenceText) Reference {
	line := text.Name.Line
	out := Reference{
		Name: r.name(text.Name, line, "a reference's name"), Title: r.text(text.Title, line, "title"),
		Suite:    text.Suite,
		Hardware: text.Hardware, Unstated: text.Unstated,
		Place: lab.Place{Kind: lab.PlaceKind(text.Place.Kind.Value), Path: text.Place.Path,
			Filesystem: text.Place.Filesystem},
	}
	if kind := r.text(text.Place.Kind, line, "place: kind"); kind != "" &&
		!slices.Contains([]lab.PlaceKind{lab.Directory, lab.Device, lab.NoPlace}, lab.PlaceKind(kind)) {
		r.Add(text.Place.Kind.Line, 0, "write directory, device or none", "kind can't be %q", kind)
	}
	for _, key := range slices.Sorted(maps.Keys(text.Facts)) {
		out.Facts = append(out.Facts, lab.Fact{Key: key, Value: text.Facts[key], Source: "as published"})
	}
	if text.Model.Kind != 0 {
		var err error
		if out.Model, err = regexp.Compile("(?i)" + text.Model.Value); err != nil {
			r.Add(text.Model.Line, 0, "", "model is no regular expression: %v", err)
		}
	}
	for _, doubt := range text.Doubts {
		if len(doubt.Taints) == 0 {
			r.Add(doubt.Text.Line, 0, "write taints: [write.*]", "the doubt taints nothing")
		}
		out.Warnings = append(out.Warnings,
			lab.Warning{Code: doubtful, Text: r.text(doubt.Text, line, "a doubt's text"), Taints: doubt.Taints})
	}
	if text.Engine == "" {
		r.Add(line, 0, "write engine: fio", "engine is missing")
	}
	if len(text.Results) == 0 {
		r.Add(line, 0, "list them under results:", "the reference has no results")
	}
	for _, t := range text.Results {
		result := r.result(t, line)
		if slices.ContainsFunc(out.Results, func(other Result) bool { return other.Job == result.Job }) {
			r.Add(t.Job.Line, 0, "give it another name", "a job %s stands here already", result.Job)
		}
		result.Engine = text.Engine
		params := maps.Clone(text.Params)
		if params == nil {
			params = map[string]string{}
		}
		maps.Copy(params, result.Params)
		result.Params = params
		out.Results = append(out.Results, result)
	}
	return out
}

func (r *reporter) result(text resultText, line int) Result {
	line = max(line, text.Job.Line)
	out := Result{Job: r.name(text.Job, line, "job"), Params: text.Params, Values: map[string]float64{}, Line: line,
		Where: r.text(text.Where, line, "where (the place in the source)")}
	if len(text.Values) == 0 {
		r.Add(line, 0, "write values: {read.iops: 97831}", "the result has no values")
	}
	for metric, n := range text.Values {
		v, err := figure(metric, n.Value)
		if err != nil {
			r.Add(n.Line, 0, "", "%s can't be %q: %v", metric, n.Value, err)
		}
		out.Values[metric] = v
	}
	return out
}
