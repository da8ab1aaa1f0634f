package rule

import (
	"bytes"
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"headroom/internal/lab"
	"headroom/internal/yamlfile"
)

// maxFile is the size of a rule file in bytes, far above any.
const maxFile = 1 << 20

//go:embed rules/*.yaml
var builtIn embed.FS

// BuiltIn reads the rules that come with headroom.
func BuiltIn() ([]Rule, error) {
	names, err := fs.Glob(builtIn, "rules/*.yaml")
	if err != nil {
		return nil, err
	}
	l, err := newLanguage()
	if err != nil {
		return nil, err
	}
	var rules []Rule
	r := &reporter{}
	for _, name := range names {
		data, err := builtIn.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r.file = path.Base(name)
		rules = append(rules, r.decode(l, data)...)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return rules, nil
}

// Decode reads a file of rules; name is the file's, for messages. The error holds yamlfile.Problems: all of them at
// once.
//
// A file looks like this:
//
//   - id: clock-source
//     title: The clock is read from a slow device
//     class: kernel
//     severity: medium
//     when: clock.source in ["hpet", "acpi_pm"]
//     because: Every time stamp is then a read of a register outside the CPU.
//     metrics: [iops, cpu]
func Decode(name string, data []byte) ([]Rule, error) {
	l, err := newLanguage()
	if err != nil {
		return nil, err
	}
	r := &reporter{file: name}
	rules := r.decode(l, data)
	if err := r.err(); err != nil {
		return nil, err
	}
	return rules, nil
}

// place is where something stands in a rule file.
type place struct {
	file string
	line int
}

// reporter collects the problems of rule files.
type reporter struct {
	file     string
	problems yamlfile.Problems
}

func (r *reporter) add(line int, hint, format string, args ...any) {
	r.problems = append(r.problems, yamlfile.Problem{File: r.file, Line: line, Hint: hint,
		Message: fmt.Sprintf(format, args...)})
}

// err is nil, or a usage error that holds all problems.
func (r *reporter) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b yamlfile.Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return &lab.Error{Kind: lab.Usage, Err: slices.Compact(r.problems)}
}

// decode reads one file.
func (r *reporter) decode(l *language, data []byte) []Rule {
	if len(data) > maxFile {
		r.add(0, "", "the file is larger than 1 MiB, which no list of rules is")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		r.yamlError(err)
		return nil
	}
	if len(document.Content) == 0 {
		r.add(0, "write a list of rules", "the file is empty")
		return nil
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		r.add(0, "keep one list in a file", "a second YAML document follows the first")
	}
	list := document.Content[0]
	if list.Kind != yaml.SequenceNode {
		r.add(list.Line, "begin each rule with a dash: - id: …", "a rule file is a list of rules")
		return nil
	}
	var rules []Rule
	if err := list.Decode(&rules); err != nil {
		r.yamlError(err)
	}
	for _, n := range list.Content {
		r.unknownFields(resolve(n), "rule")
	}
	if len(rules) != len(list.Content) { // an element is no mapping; the decoder complains, but for one that is empty
		if len(r.problems) == 0 {
			r.add(list.Line, "begin each rule with a dash: - id: …", "a rule is a mapping")
		}
		return nil
	}
	var valid []Rule
	for i := range rules {
		n := resolve(list.Content[i])
		if n.Kind != yaml.MappingNode {
			r.add(n.Line, "begin each rule with a dash: - id: …", "a rule is a mapping")
			continue
		}
		rules[i].place = place{r.file, n.Line}
		r.rule(l, &rules[i], n)
		valid = append(valid, rules[i])
	}
	r.order(valid)
	return valid
}
