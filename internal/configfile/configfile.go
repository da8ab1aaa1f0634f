// Package configfile finds the configuration files and reads them, unless somebody else could have written them.
package configfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

// System is the system's configuration file.
const System = "/etc/headroom/config.yaml"

// File is one that may have settings.
type File struct {
	Name  string
	Place config.Place
	// Read is false where there is none.
	Read bool
	// named says that the user named it, so that it must be there.
	named bool
}

// Surroundings say where the files are.
type Surroundings struct {
	Env func(string) string
	// Named is the file of the flag, and System that of the system; empty for none.
	Named, System string
}

// Read merges the settings of the environment and of all files, and says which files were looked for.
func Read(s Surroundings, r config.Rules) (config.Settings, []File, error) {
	r.Home = s.Env("HOME")
	settings, err := config.FromEnvironment(s.Env, r)
	files := s.files()
	for i := range files {
		if err != nil {
			break
		}
		var of config.Settings
		if of, err = files[i].read(r); err == nil {
			settings = config.Merge(settings, of)
		}
	}
	return settings, files, err
}

// files are those that may have settings, those that count first. One that is named stands in the place of the user's
// own.
func (s Surroundings) files() []File {
	user := File{Name: s.Named, Place: config.User, named: true}
	if user.Name == "" {
		user.Name = s.Env(config.FileVariable)
	}
	if user.Name == config.None {
		return nil
	}
	if user.Name == "" {
		user.named = false
		if base := s.Env("XDG_CONFIG_HOME"); filepath.IsAbs(base) { // others are to be ignored, by the specification
			user.Name = filepath.Join(base, "headroom", "config.yaml")
		} else if home := s.Env("HOME"); home != "" {
			user.Name = filepath.Join(home, ".config", "headroom", "config.yaml")
		}
	}
	var files []File
	for _, f := range []File{user, {Name: s.System, Place: config.System}} {
		if f.Name != "" {
			files = append(files, f)
		}
	}
	return files
}

// read reads the file, unless somebody else could have written it: what it says decides where root writes, which
// machines are reached, and which commands of suites are carried out there.
func (f *File) read(r config.Rules) (config.Settings, error) {
	info, err := os.Stat(f.Name)
	switch {
	case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) && !f.named:
		return config.Settings{}, nil // as for another user who has kept HOME, whose folder is closed to this one
	case err == nil && !info.Mode().IsRegular():
		err = &fs.PathError{Op: "open", Path: f.Name, Err: errors.New("it is no regular file")}
	}
	if err != nil {
		return config.Settings{}, unreadable(err)
	}
	if err := OnlyOwn("the configuration file "+f.Name+" is not followed", f.Name); err != nil {
		if e, ok := errors.AsType[*lab.Error](err); ok {
			e.Hints = append(e.Hints, "or go on without any: --config "+config.None)
		}
		return config.Settings{}, err
	}
	data, err := os.ReadFile(f.Name)
	if err != nil {
		return config.Settings{}, unreadable(err)
	}
	f.Read = true
	return config.Decode(f.Name, f.Place, data, r)
}

func unreadable(err error) error {
	return &lab.Error{Kind: lab.Usage, What: "can't read the configuration", Err: err,
		Hints: []string{"read another: --config FILE, or none: --config " + config.None}}
}

// OnlyOwn refuses a file that anybody but the user and root could have written, or put something else in its place.
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
