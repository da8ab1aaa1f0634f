package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/yamlfile"
)

// Config are the settings of files and of the environment, and the files that were looked for. They are read once.
func (p *App) Config() (config.Settings, []config.File, error) {
	p.configOnce.Do(func() {
		p.config, p.configFiles, p.configErr = config.Read(config.Surroundings{Env: p.Env, Named: p.ConfigFile,
			System: p.SystemConfig}, config.Rules{Target: p.targetFault})
	})
	return p.config, p.configFiles, p.configErr
}

// Setting returns the value of a setting of files or of the environment; empty where there is none.
func (p *App) Setting(key string) string {
	settings, _, _ := p.Config() // an error ends the command before it asks
	return settings.Text(key)
}

// targetFault returns what to write instead of a text that is no target; empty for a target.
func (p *App) targetFault(text string) string {
	kind := p.AllKinds().Of(text)
	if kind == nil {
		return "write " + p.AllKinds().Forms()
	}
	if kind.Scheme == host.SSHScheme {
		if _, err := host.ParseSSH(text); err != nil {
			_, why, _ := strings.Cut(err.Error(), "is no target: ")
			return why
		}
	}
	return ""
}

// NamedTarget is "[ROLE=]TARGET" with the address of a target that the configuration has under this name; other text
// stays as it is.
func (p *App) NamedTarget(typed string) string {
	settings, _, _ := p.Config()
	role, name := RoleOf(typed)
	v, ok := settings.Targets[name]
	switch {
	case !ok:
		return typed
	case role == "":
		return spelling(v.Text)
	}
	return role + "=" + spelling(v.Text)
}

// suiteSuffixes returns how the names of files with a suite, or an experiment, end.
func suiteSuffixes() []string { return []string{".yaml", ".yml", ".fio"} }

// SuiteFile is the file of a suite by its name in the configured folder; other text stays as it is. The names of
// built-in suites keep their meaning.
func (p *App) SuiteFile(name string) (string, error) {
	folder := p.Setting(config.Suites)
	if folder == "" || name == "" || filepath.Base(name) != name || filepath.Ext(name) != "" ||
		slices.Contains(suite.Builtin(), name) {
		return name, nil
	}
	for _, suffix := range suiteSuffixes() {
		file := filepath.Join(folder, name+suffix)
		if _, err := os.Stat(file); err == nil {
			return file, config.OnlyOwn("the suite "+file+" is not used", file)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return name, err
		}
	}
	near := yamlfile.DidYouMean(name, p.ConfiguredSuites())
	if _, err := os.Stat(name); err == nil || near == "" {
		return name, nil // a place perhaps
	}
	return name, Usage(fmt.Sprintf("there is no suite %q, built in or in %s", name, folder), near)
}

// ConfiguredSuites are the names of the suites in the configured folder that are not built in.
func (p *App) ConfiguredSuites() []string {
	folder := p.Setting(config.Suites)
	if folder == "" {
		return nil
	}
	entries, _ := os.ReadDir(folder) // none where it can't be read; a suite that is named says so
	var names []string
	for _, e := range entries {
		suffix := filepath.Ext(e.Name())
		name := strings.TrimSuffix(e.Name(), suffix)
		if slices.Contains(suiteSuffixes(), suffix) && !slices.Contains(suite.Builtin(), name) && name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
