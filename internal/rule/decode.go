package rule

import (
	"bytes"
	"embed"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/yamlfile"
)

// maxFile is the maximum size of a rule file in bytes, far above any real file.
const maxFile = 1 << 20

//go:embed rules/*.yaml
var builtIn embed.FS

// BuiltIn reads the rules that come with headroom, once. Compiling their conditions takes long, and many are never
// evaluated: each is compiled on first use.
func BuiltIn() ([]Rule, error) {
	rules, err := readBuiltIn()
	return slices.Clone(rules), err
}

var readBuiltIn = sync.OnceValues(func() ([]Rule, error) {
	names, err := fs.Glob(builtIn, "rules/*.yaml")
	if err != nil {
		return nil, err
	}
	l, err := newLanguage()
	if err != nil {
		return nil, err
	}
	var rules []Rule
	r := newReporter("")
	r.faultless = true
	for _, name := range names {
		data, err := builtIn.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r.Name = path.Base(name)
		rules = append(rules, r.decode(l, data)...)
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	return rules, nil
})

// Decode reads a file of rules. name is the file's name, for messages. The error holds all yamlfile.Problems at once.
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
	r := newReporter(name)
	rules := r.decode(l, data)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return rules, nil
}

// place is a position in a rule file.
type place struct {
	file string
	line int
}

// reporter collects the problems of rule files.
type reporter struct {
	yamlfile.Reader
	// faultless is true if the conditions are known to be valid.
	faultless bool
}

func newReporter(file string) *reporter { return &reporter{Reader: yamlfile.Reader{Name: file}} }

// decode reads one file.
func (r *reporter) decode(l *language, data []byte) []Rule {
	if len(data) > maxFile {
		r.Add(0, 0, "", "the file is larger than 1 MiB, which no list of rules is")
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil && !errors.Is(err, io.EOF) {
		r.yamlError(err)
		return nil
	}
	if len(document.Content) == 0 {
		r.Add(0, 0, "write a list of rules", "the file is empty")
		return nil
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		r.Add(0, 0, "keep one list in a file", "a second YAML document follows the first")
	}
	list := document.Content[0]
	if list.Kind != yaml.SequenceNode {
		r.Add(list.Line, 0, "begin each rule with a dash: - id: …", "a rule file is a list of rules")
		return nil
	}
	var rules []Rule
	if err := list.Decode(&rules); err != nil {
		r.yamlError(err)
	}
	for _, n := range list.Content {
		r.unknownFields(yamlfile.Resolve(n), "rule")
	}
	// an element is not a mapping; the decoder reports that unless the element is empty
	if len(rules) != len(list.Content) {
		if len(r.Problems) == 0 {
			r.Add(list.Line, 0, "begin each rule with a dash: - id: …", "a rule is a mapping")
		}
		return nil
	}
	var valid []Rule
	for i := range rules {
		n := yamlfile.Resolve(list.Content[i])
		if n.Kind != yaml.MappingNode {
			r.Add(n.Line, 0, "begin each rule with a dash: - id: …", "a rule is a mapping")
			continue
		}
		rules[i].place = place{r.Name, n.Line}
		r.rule(l, &rules[i], n)
		valid = append(valid, rules[i])
	}
	r.order(valid)
	return valid
}
