package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
	"github.com/headroom/headroom/internal/yamlfile"
)

// SystemFile is the system's configuration file.
const SystemFile = "/etc/headroom/config.yaml"

// File is a file that may have settings.
type File struct {
	Name  string
	Place Place
	// Read is false if the file does not exist.
	Read bool
	// named is true if the user named it, so that it must exist.
	named bool
}

// Surroundings determine where the files are.
type Surroundings struct {
	Env func(string) string
	// Named is the file of the flag, and System the system's file; empty for none.
	Named, System string
}

// Read merges the settings of the environment and of all files, and returns which files were looked for.
func Read(s Surroundings, r Rules) (Settings, []File, error) {
	r.Home = s.Env("HOME")
	settings, err := FromEnvironment(s.Env, r)
	files := s.files()
	for i := range files {
		if err != nil {
			break
		}
		var of Settings
		if of, err = files[i].read(r); err == nil {
			settings = Merge(settings, of)
		}
	}
	return settings, files, err
}

// files returns the files that may have settings, in order of precedence. A named file replaces the user's default
// file.
func (s Surroundings) files() []File {
	user := File{Name: s.Named, Place: User, named: true}
	if user.Name == "" {
		user.Name = s.Env(FileVariable)
	}
	if user.Name == None {
		return nil
	}
	if user.Name == "" {
		user.named = false
		if base := s.Env("XDG_CONFIG_HOME"); filepath.IsAbs(base) { // the specification says to ignore relative paths
			user.Name = filepath.Join(base, "headroom", "config.yaml")
		} else if home := s.Env("HOME"); home != "" {
			user.Name = filepath.Join(home, ".config", "headroom", "config.yaml")
		}
	}
	var files []File
	for _, f := range []File{user, {Name: s.System, Place: System}} {
		if f.Name != "" {
			files = append(files, f)
		}
	}
	return files
}

// read reads the file, unless another user could have written it: it decides where root writes, which machines are
// contacted, and which commands of suites run there.
func (f *File) read(r Rules) (Settings, error) {
	info, err := os.Stat(f.Name)
	switch {
	case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) && !f.named:
		return Settings{}, nil // as for another user who has kept HOME, and may not read this user's folder
	case err == nil && !info.Mode().IsRegular():
		err = &fs.PathError{Op: "open", Path: f.Name, Err: errors.New("it is no regular file")}
	}
	if err != nil {
		return Settings{}, unreadable(err)
	}
	if err := OnlyOwn("the configuration file "+f.Name+" is not followed", f.Name); err != nil {
		if e, ok := errors.AsType[*lab.Error](err); ok {
			e.Hints = append(e.Hints, "or continue without a configuration: --config "+None)
		}
		return Settings{}, err
	}
	data, err := os.ReadFile(f.Name)
	if err != nil {
		return Settings{}, unreadable(err)
	}
	f.Read = true
	return Decode(f.Name, f.Place, data, r)
}

func unreadable(err error) error {
	return &lab.Error{Kind: lab.Usage, What: "can't read the configuration", Err: err,
		Hints: []string{"read another: --config FILE, or none: --config " + None}}
}

// OnlyOwn refuses a file that anyone but the user and root could have written or replaced.
func OnlyOwn(what, name string) error {
	whole, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	err = safepath.Check(safepath.Local{}, whole, os.Geteuid())
	unsafe, ok := errors.AsType[*safepath.Unsafe](err)
	if !ok {
		return err
	}
	e := &lab.Error{Kind: lab.Refused, What: what, Err: unsafe,
		Hints: []string{fmt.Sprintf("whoever can write there could have headroom do anything as user %d",
			os.Geteuid())}}
	if unsafe.Remedy != nil && (unsafe.Remedy[0] != "chown" || unsafe.Name == whole) {
		e.Hints = append(e.Hints, "look at what is in there; where all of it is your own: "+
			lab.ShellQuote(unsafe.Remedy))
	}
	return e
}

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
