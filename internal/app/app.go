package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/yamlfile"
)

// Environment is everything outside the process that the program touches, except files.
type Environment struct {
	// Args is the command line as typed, with the program's name first.
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            func(string) string
	Version        string
	// Commit that the program was built from, and its date (RFC 3339), where the linker was told.
	Commit, CommitDate string
	// Signals are those that ask the program to stop, and Exit ends the process where one does not want to wait for
	// that; nil for none.
	Signals <-chan os.Signal
	Exit    func(code int)
	// SystemConfig is the system's configuration file; empty for none.
	SystemConfig string
	// Kinds of targets beside the program's own, and before them; nil in the real program.
	Kinds []TargetKind
	// AtStep is called before each step of saving a run; tests end the process there. Nil in the real program.
	AtStep func(string)
	// Executable finds the file of this program, which is copied to machines to record there; nil for none.
	Executable func() (string, error)
	// Footprint bounds the memory of the process; nil where headroom does not have it to itself.
	Footprint *Footprint
}

// App is what the commands share: where they are, and the flags that all of them take.
type App struct {
	Environment
	// StoreDir and ConfigFile are the flags.
	StoreDir, ConfigFile string
	// Index is the index of the store in memory, for a process that lists its runs again and again; nil for a command
	// that ends.
	Index *store.Memory
	// config has the settings of files and of the environment, and configFiles where they were looked for.
	config      config.Settings
	configFiles []config.File
	configErr   error
	configOnce  sync.Once
	// storeErr says why the store doesn't answer.
	storeErr  error
	storeOnce sync.Once
	JSON      bool
	// Key marks the program's own control characters on Stdout and Stderr, which show all others; RawStdout is
	// the standard output that sends what it gets.
	Key       prose.Key
	RawStdout io.Writer
	// Trust allows an imported run to be resumed.
	Trust bool
	// Naming is how the commands in what is said are called.
	Naming Naming
	// links connect the guests that a command starts.
	links guestLinks
	// UnfinishedWork has what commands are making that end at once.
	UnfinishedWork sync.WaitGroup
	// outputMu is held for each message: targets that are opened at once say it at any time.
	outputMu sync.Mutex
	// Started has the runs that this command began, and Others the runs of other processes.
	Started StartedRuns
	Others  OtherRuns
}

// Usage is an error in the command line.
func Usage(what string, hints ...string) error {
	return &lab.Error{Kind: lab.Usage, What: what, Hints: hints}
}

// PrintJSON prints a document on standard output.
func (p *App) PrintJSON(v any) error { return EncodeJSON(p.Stdout, v) }

// EncodeJSON writes a document with an indent, as all documents are printed.
func EncodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// OpenStore returns the store of the flag, of the configuration, or the user's own. It returns an error when the file
// system that the store is on doesn't answer.
func (p *App) OpenStore() (*store.Store, error) {
	settings, _, err := p.Config()
	dir := cmp.Or(p.StoreDir, settings.Text(config.Store), p.DefaultStore())
	switch {
	case err != nil:
		return nil, err
	case dir == "":
		return nil, Usage("neither HOME nor XDG_DATA_HOME is set", "name a folder for the runs with --store DIR")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	p.storeOnce.Do(func() {
		p.storeErr = collect.FileSystemAnswers(context.Background(), p.Local(), dir, collect.AnswerWithin)
	})
	if p.storeErr != nil {
		return nil, p.storeErr
	}
	s := store.Open(dir)
	s.Remember(p.Index)
	if p.AtStep != nil {
		s.AtStep(p.AtStep)
	}
	return s, nil
}

// DefaultStore returns the store of a user who names none; empty without HOME and XDG_DATA_HOME.
func (p *App) DefaultStore() string {
	base, home := p.Env("XDG_DATA_HOME"), p.Env("HOME")
	switch {
	case base != "":
		return filepath.Join(base, "headroom")
	case home != "":
		return filepath.Join(home, ".local", "share", "headroom")
	}
	return ""
}

// Local returns this machine. The folders of its jobs are kept in memory, so that nothing that a load generator prints
// goes to the disk that it loads. The place depends on the user alone: the next start must find what a killed one left.
func (p *App) Local() *host.Local {
	return host.NewLocal(JobsFolder())
}

// JobsFolder holds the folders of jobs and of guests.
func JobsFolder() string { return fmt.Sprintf("/dev/shm/headroom-%d", os.Getuid()) }

// Columns returns the width of the terminal that w is; 0 when it is none.
func Columns(w io.Writer) int {
	f, ok := w.(descriptor)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil || width == 0 { // a serial line does not tell
		return 80
	}
	return width
}

// Lines returns the height of the terminal that w is; 0 when it is none.
func Lines(w io.Writer) int {
	f, ok := w.(descriptor)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	_, height, err := term.GetSize(int(f.Fd()))
	if err != nil || height == 0 {
		return 24
	}
	return height
}

// Colour makes escape sequences that w sends; it is nil where what goes to w has no colour.
func (p *App) Colour(w io.Writer) func(sequence string) string {
	if Columns(w) == 0 || p.Env("NO_COLOR") != "" || p.Env("TERM") == "dumb" {
		return nil
	}
	return p.Key.Own
}

// New returns the app of one command line.
func New(e Environment) *App {
	if e.Env == nil {
		e.Env = func(string) string { return "" }
	}
	return &App{Environment: e, Key: prose.NewKey(), RawStdout: e.Stdout}
}

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
