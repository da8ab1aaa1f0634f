package diff

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/facts/catalogue"
)

//go:embed knowledge/*.yaml
var files embed.FS

// Knowledge is what is known of options, boot arguments, sysctls, parameters of modules and other facts.
//
// It is data, in the folder knowledge: a file for each area, a list of entries in each, families.yaml for what goes
// together, and history.yaml for options that came or went. An entry names one thing, or with * a pattern; the exact
// name counts first, then the longest pattern.
//
//   - option: IOMMU_DEFAULT_DMA_STRICT   or argument, sysctl, module, fact (a key of the catalogue)
//     slow: y           which value is the slow one: y (on), n (off), high, low, or values with | between
//     weight: 0.36      likely share of throughput lost; see Difference.Weight. 0: never a difference
//     why: …            the mechanism
//     effect, source    what was published, and where (a name of the file's sources)
//     boot: ["iommu.strict=0 n", "iommu.strict=1 y"]
//     arguments that override an option, each with what the option then is, the strongest first
//     code: true        the option is the code, not a default: where it is off, no argument of boot switches it on
//     fast: …           the argument that gives the fast value, where boot does not tell
//     runtime: [disk.iommu.group_type]
//     facts that tell what is really in effect: when they are equal, this difference hardly matters
//     since: "6.12"     the first kernel that knows the option
//     until: "6.11"     the first kernel that knows it no longer
//     implied: y        what kernels before since, or from until on, behave as
//     needs: OPTION     without this other option the slow value costs nothing; unless: OPTION, with it
//     needs: "OPTION: WORD", where the option is a list, without this word in it
//     same: sysctl.…    another key for the same thing
//     calls: ["qi_submit_sync >= 0.9", "bfq: bfq_dispatch_request >= 0.5", "srso_* >= 5% of time"]
//     functions of the kernel that run at least so often in each I/O while the slow value is in effect, or the one before
//     the colon. One that does is enough: they have other names on other processors and kernels. Names stand in the
//     kernel's symbols (Debian 6.1, 6.12) or its sources, and can be traced: neither inlined nor notrace. Those that can't
//     be take a share of the CPU time in samples
//     path: ["nfs_*"]   functions of its object files: where none ran, it did not matter
type Knowledge struct {
	exact    map[string]*entry
	patterns map[string][]*entry
	// linked are the options that an argument overrides, by the argument's name.
	linked map[string][]*entry
	// implied are options whose absence indicates an older or a newer kernel.
	implied   []*entry
	choices   [][]string
	families  [][]string
	ordered   []*ordered
	choiceOf  map[string]*ordered
	causes    [][]string
	taken     []taken
	kernels   struct{ From, To string }
	catalogue definitions
}

type entry struct {
	Option   string
	Argument string
	Sysctl   string
	Module   string
	Fact     string

	Slow    string
	Weight  float64
	Why     string
	Effect  string
	Source  string
	Boot    []string
	Fast    string
	Runtime []string
	Since   string
	Until   string
	Implied string
	Same    string
	Area    string
	Calls   []string
	Path    []string
	Needs   string
	Unless  string
	Code    bool

	// like is an option whose value determines how kernels without this one behave; past is the option's history.
	like, past string
	foreign    bool

	source *Source
	boot   []override
	calls  []call
}

// override is a boot argument with the value that it gives an option.
type override struct{ name, value, result string }

type knowledgeFile struct {
	Area     string
	Sources  map[string]Source
	Entries  []*entry
	Choices  [][]string
	Families [][]string
	Ordered  []*ordered
	Causes   [][]string
	Taken    []taken
	History  *past
}

// Load reads the built-in knowledge, once: some commands compare hundreds of machines.
func Load() (*Knowledge, error) { return load() }

var load = sync.OnceValues(readBuiltIn)

func readBuiltIn() (*Knowledge, error) {
	k := &Knowledge{exact: map[string]*entry{}, patterns: map[string][]*entry{}, linked: map[string][]*entry{},
		choiceOf: map[string]*ordered{}, catalogue: definitions{catalogue.NewIndex()}}
	names, err := fs.Glob(files, "knowledge/*.yaml")
	if err != nil {
		return nil, err
	}
	var history past
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err == nil {
			err = k.add(data, &history)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(name), err)
		}
	}
	return k, k.learn(history)
}

// add adds a file. The history is applied after all entries are known.
func (k *Knowledge) add(data []byte, history *past) error {
	var f knowledgeFile
	decoder := yaml.NewDecoder(strings.NewReader(string(data)))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil {
		return err
	}
	k.choices = append(k.choices, f.Choices...)
	k.families = append(k.families, f.Families...)
	k.ordered = append(k.ordered, f.Ordered...)
	for _, o := range f.Ordered {
		for _, member := range o.members() {
			k.choiceOf[member] = o
		}
	}
	k.taken = append(k.taken, f.Taken...)
	k.causes = append(k.causes, f.Causes...)
	if f.History != nil {
		*history = *f.History
	}
	for _, e := range f.Entries {
		if err := k.addEntry(f, e); err != nil {
			return fmt.Errorf("entry %s: %w", e.subject(), err)
		}
	}
	return nil
}

func (k *Knowledge) addEntry(f knowledgeFile, e *entry) error {
	kind, name := e.about()
	if e.Area == "" {
		e.Area = f.Area
	}
	if e.Source != "" {
		s, ok := f.Sources[e.Source]
		if !ok {
			return fmt.Errorf("the file has no source %q", e.Source)
		}
		e.source = &s
	}
	for _, b := range e.Boot {
		argument, result, ok := strings.Cut(b, " ")
		if !ok {
			return fmt.Errorf("boot: %q has no result; write \"argument=value result\"", b)
		}
		name, value := splitArgument(argument)
		e.boot = append(e.boot, override{name, value, result})
	}
	for _, text := range e.Calls {
		c, err := parseCall(text)
		if err != nil {
			return err
		}
		e.calls = append(e.calls, c)
	}
	for _, o := range e.boot {
		if list := k.linked[o.name]; len(list) == 0 || list[len(list)-1] != e {
			k.linked[o.name] = append(list, e)
		}
	}
	if kind == argumentKind {
		name = argumentName(name)
	}
	key := kind + ":" + name
	if _, twice := k.exact[key]; twice {
		return fmt.Errorf("it is there twice")
	}
	k.exact[key] = e
	if e.Implied != "" {
		k.implied = append(k.implied, e)
	}
	if strings.Contains(name, "*") {
		k.patterns[kind] = append(k.patterns[kind], e)
	}
	return nil
}

// The kinds of differences, as in Difference.Kind.
const (
	optionKind   = "option"
	argumentKind = "argument"
	sysctlKind   = "sysctl"
	moduleKind   = "module"
	factKind     = "fact"
)

func (e *entry) about() (kind, name string) {
	switch {
	case e.Option != "":
		return optionKind, e.Option
	case e.Argument != "":
		return argumentKind, e.Argument
	case e.Sysctl != "":
		return sysctlKind, e.Sysctl
	case e.Module != "":
		return moduleKind, e.Module
	}
	return factKind, e.Fact
}

func (e *entry) subject() string {
	kind, name := e.about()
	return kind + " " + name
}

// lookup returns the entry for a thing. There always is one: at least the default of the kind.
func (k *Knowledge) lookup(kind, name string) *entry {
	if e, ok := k.exact[kind+":"+name]; ok {
		return e
	}
	best, length := &entry{Weight: 0.0005, Why: "no effect on I/O is known"}, -1
	for _, e := range k.patterns[kind] {
		_, pattern := e.about()
		if literal := len(pattern) - strings.Count(pattern, "*"); literal > length && matches(pattern, name) {
			best, length = e, literal
		}
	}
	return best
}

// named reports whether a thing has its own entry.
func (k *Knowledge) named(kind, name string) bool {
	_, ok := k.exact[kind+":"+name]
	return ok
}

// matches reports whether a name matches a pattern in which * matches any characters.
func matches(pattern, name string) bool {
	before, after, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == name
	}
	rest, ok := strings.CutPrefix(name, before)
	if !ok {
		return false
	}
	parts := strings.Split(after, "*")
	last := len(parts) - 1
	for _, part := range parts[:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}

// fastArgument returns the boot argument that gives the fast value, if there is one.
func (e *entry) fastArgument() string {
	if e.Fast != "" {
		return e.Fast
	}
	if e.Slow != "y" && e.Slow != "n" {
		return ""
	}
	for i, o := range e.boot {
		if on(o.result) == (e.Slow == "n") {
			argument, _, _ := strings.Cut(e.Boot[i], " ")
			return argument
		}
	}
	return ""
}
