package layer

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed layers/*.yaml
var files embed.FS

// file is a file of the folder.
type file struct {
	Operations []operation
	Layers     []entry
}

type operation struct {
	Interface string
	Functions []string
}

type entry struct {
	ID, Title, Why, Source string
	Passes, Follows        bool

	Functions, Passing, Called, Modules, Events, Programs []string
	Varying, Chance, Telling, Spinning, Preempting        []string
}

// Load reads the built-in layers, once.
func Load() (*Layers, error) { return load() }

var load = sync.OnceValues(readBuiltIn)

func readBuiltIn() (*Layers, error) {
	l := empty()
	names, err := fs.Glob(files, "layers/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err == nil {
			err = l.add(data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(name), err)
		}
	}
	for _, patterns := range [][]member{l.patterns, l.modulesOf} {
		slices.SortStableFunc(patterns, func(a, b member) int {
			return cmp.Compare(len(b.before)+len(b.after), len(a.before)+len(a.after))
		})
	}
	return l, nil
}

func empty() *Layers {
	return &Layers{byID: map[string]*Layer{}, exact: map[string]member{}, modules: map[string]*Layer{},
		prefixes: map[string]member{}}
}

func (l *Layers) add(data []byte) error {
	var f file
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil {
		return err
	}
	for _, o := range f.Operations {
		l.operations = append(l.operations, o.Functions)
	}
	for _, e := range f.Layers {
		if err := l.addLayer(e); err != nil {
			return fmt.Errorf("layer %s: %w", e.ID, err)
		}
	}
	return nil
}

func (l *Layers) addLayer(e entry) error {
	if e.ID == "" || e.Title == "" || e.Why == "" {
		return fmt.Errorf("id, title and why must be there")
	}
	if l.byID[e.ID] != nil {
		return fmt.Errorf("it is there twice")
	}
	one := &Layer{ID: e.ID, Title: e.Title, Why: e.Why, Source: e.Source, Follows: e.Follows}
	l.layers = append(l.layers, one)
	l.byID[e.ID] = one
	for _, list := range []struct {
		patterns []string
		passes   bool
	}{{e.Functions, e.Passes}, {e.Passing, true}} {
		for _, p := range list.patterns {
			m := pattern(p, one)
			m.passes = list.passes
			if err := l.addFunction(p, m); err != nil {
				return err
			}
		}
	}
	for _, p := range e.Called {
		caller, function, ok := strings.Cut(p, ">")
		if !ok {
			return fmt.Errorf("%s: write caller>function", p)
		}
		l.called = append(l.called, call{pattern(caller, one), pattern(function, one)})
	}
	for _, marked := range []struct {
		patterns []string
		into     *[]member
	}{{e.Varying, &l.varying}, {e.Chance, &l.chance}, {e.Telling, &l.telling}, {e.Spinning, &l.spinning},
		{e.Preempting, &l.preempting}} {
		for _, p := range marked.patterns {
			*marked.into = append(*marked.into, pattern(p, one))
		}
	}
	return l.addOthers(e, one)
}

// addOthers adds members that are not functions.
func (l *Layers) addOthers(e entry, one *Layer) error {
	for _, p := range e.Modules {
		if m := pattern(p, one); m.star {
			l.modulesOf = append(l.modulesOf, m)
		} else if err := put(l.modules, p, one); err != nil {
			return err
		}
	}
	for _, before := range slices.Concat(e.Events, e.Programs) {
		if err := put(l.prefixes, before, member{layer: one, passes: e.Passes}); err != nil {
			return err
		}
	}
	return nil
}

func (l *Layers) addFunction(name string, m member) error {
	if !m.star {
		return put(l.exact, name, m)
	}
	if strings.Contains(m.after, "*") || strings.HasPrefix(m.before, "_") {
		return fmt.Errorf("%s: write one *, and no underscore in front", name)
	}
	for _, other := range l.patterns {
		if other.before == m.before && other.after == m.after {
			return fmt.Errorf("%s is in %s, too", name, other.layer.ID)
		}
	}
	l.patterns = append(l.patterns, m)
	return nil
}

func pattern(text string, one *Layer) member {
	before, after, star := strings.Cut(text, "*")
	return member{before: before, after: after, star: star, layer: one}
}

func put[V any](into map[string]V, key string, value V) error {
	if _, twice := into[key]; twice {
		return fmt.Errorf("%s is there twice", key)
	}
	into[key] = value
	return nil
}
