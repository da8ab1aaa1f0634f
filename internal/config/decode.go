package config

import (
	"bytes"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/yamlfile"
)

// Decode reads a file; place is the file's kind. All faults are reported at once, each with its line and column.
func Decode(name string, place Place, data []byte, r Rules) (Settings, error) {
	d := decoder{Reader: yamlfile.Reader{Name: name}, place: place, rules: r, read: empty()}
	if blank(data) {
		return d.read, nil
	}
	if root := d.Parse(data); root != nil {
		d.settings(root)
	}
	return d.read, d.Err()
}

// blank reports whether a file has only comments.
func blank(data []byte) bool {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

type decoder struct {
	yamlfile.Reader
	place Place
	rules Rules
	read  Settings
}

func (d *decoder) settings(root *yaml.Node) {
	known := []string{}
	for _, k := range Keys() {
		known = append(known, k.Name)
	}
	entries := d.Mapping(root, "the configuration", append(known, targets, version))
	for _, e := range entries {
		if e.Key == version && !d.Version(root, entries, newest) {
			return
		}
		if e.Key == targets {
			d.targets(e.Value)
		}
	}
	for _, k := range Keys() {
		for _, e := range entries {
			if e.Key == k.Name {
				d.value(k, e.Value)
			}
		}
	}
}

func (d *decoder) value(k Key, n *yaml.Node) {
	text, ok := d.Scalar(n, k.Name)
	if !ok {
		return
	}
	fault := k.fault
	if k.path {
		text, fault = d.atHome(text), pathFault
	}
	if hint := fault(text); hint != "" {
		d.At(n, hint, "%s can't be %s", k.Name, yamlfile.Quoted(n.Value))
		return
	}
	d.read.Values[k.Name] = Value{text, d.origin(n)}
}

func (d *decoder) targets(n *yaml.Node) {
	for _, e := range d.Mapping(n, targets, nil) {
		if hint := nameFault(e.Key); hint != "" {
			d.At(e.Where, hint, "a target can't be called %s", yamlfile.Quoted(e.Key))
			continue
		}
		text, ok := d.Scalar(e.Value, "target "+e.Key)
		if !ok {
			continue
		}
		scheme, file, isFile := strings.Cut(text, ":")
		if isFile && scheme == "qemu" {
			if file = d.atHome(file); pathFault(file) != "" {
				d.At(e.Value, "write the whole path, like qemu:/srv/guest.yaml or qemu:~/guest.yaml",
					"target %s can't be %s", e.Key, yamlfile.Quoted(text))
				continue
			}
			text = scheme + ":" + file
		}
		if hint := d.rules.Target(text); hint != "" {
			d.At(e.Value, hint, "target %s can't be %s", e.Key, yamlfile.Quoted(text))
			continue
		}
		d.read.Targets[e.Key] = Value{text, d.origin(e.Value)}
	}
}

// atHome replaces ~ in a path by the user's home.
func (d *decoder) atHome(text string) string {
	if rest, ok := strings.CutPrefix(text, "~/"); ok && d.rules.Home != "" {
		return filepath.Join(d.rules.Home, rest)
	}
	return text
}

func (d *decoder) origin(n *yaml.Node) Origin {
	return Origin{Place: d.place, Name: d.Name, Line: n.Line, Column: n.Column}
}
