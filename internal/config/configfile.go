package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
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
