// Package cli is the command line: commands, flags, help, progress and exit codes. It puts the other packages
// together and decides nothing about measuring.
//
// One file a command, named after it. Results go to standard output, everything else to standard error. Every command
// takes --json where it prints something that a program could want.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"headroom/internal/lab"
	"headroom/internal/store"
	"headroom/internal/target"
	"headroom/internal/visible"
)

// Environment are everything outside the process that the program touches besides files.
type Environment struct {
	// Args is the command line as typed, with the program's name first.
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            func(string) string
	Version        string
	// Signals are those that ask the program to stop, and Exit ends the process where one does not want to wait for
	// that; nil for none.
	Signals <-chan os.Signal
	Exit    func(code int)
	// Kinds of targets beside the program's own, and before them; nil in the real program.
	Kinds []TargetKind
	// AtStep is called before each step of saving a run; tests end the process there. Nil in the real program.
	AtStep func(string)
	// Footprint bounds the memory of the process; nil where headroom does not have it to itself.
	Footprint *Footprint
}

// Run carries out a command line and returns the exit code.
func Run(ctx context.Context, s Environment) int {
	s.Footprint.releaseProgramPages() // libraries that most commands never use set themselves up when a program starts
	p := newProgram(s)
	out, printed := p.key.Writer(s.Stdout), p.key.Writer(s.Stderr)
	p.Stdout, p.Stderr = withDescriptor(out, s.Stdout), withDescriptor(printed, s.Stderr)
	root := p.rootCommand()
	if s.asPlugin() {
		p.naming = pluginNaming(root)
		renameTree(p.naming, root)
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: pluginWords}
		root.CompletionOptions.DisableDefaultCmd = true // kubectl completes by another way
		p.Stderr = p.naming.writer(p.Stderr)
	}
	root.SetArgs(commandWords(s))
	root.SetIn(s.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	ctx, ended := p.handleSignals(ctx)
	defer ended()
	err := root.ExecuteContext(ctx)
	if err != nil && err.Error() != "" && !isBrokenPipe(err) {
		p.printError(err)
	}
	if flushed := errors.Join(out.Flush(), printed.Flush()); err == nil {
		err = flushed
	}
	return exitCode(err)
}

// program is what the commands share: where they are, and the flags that all of them take.
type program struct {
	Environment
	storeDir string
	json     bool
	// key marks the program's own control characters on Stdout and Stderr, which show all others; unshown is the
	// standard output that sends what it gets.
	key       visible.Key
	rawStdout io.Writer
	// trust says to go on with a run that was imported.
	trust bool
	// naming is how the commands in what is said are called.
	naming naming
	// links connect the guests that a command starts.
	links guestLinks
	// unfinishedWork has what commands are making that end at once.
	unfinishedWork sync.WaitGroup
	// outputMu is held for each thing that is said: targets that are opened at once say it at any time.
	outputMu sync.Mutex
	// startedRuns are the runs that the command has begun, and savedIn is where; guarded by saying.
	startedRuns []string
	savedIn     *store.Store
	// active are the runs that other processes were carrying out when this command first looked; warnedActive are those
	// of them that the user was told of, guarded by saying.
	active       []*store.Bundle
	activeOnce   sync.Once
	warnedActive []string
}

func (p *program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "headroom",
		Short: "Measure the I/O of Linux machines, and say which numbers to trust",
		Long: `headroom measures the I/O of Linux machines with fio and iperf3, keeps every raw result, and says
which numbers can't be trusted.

A run is named by its id or the start of it, its label, "last", or the path of its folder.`,
		Example: `  headroom run quick /srv            a minute on a scratch file in /srv
  headroom run nvme /dev/nvme1n1     the whole suite on an empty drive
  headroom report last -o page.html  the last run as a page`,
		Version:           p.Version,
		Args:              cobra.ArbitraryArgs, // so that noCommand gets to see them
		RunE:              noCommand,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		// Without it cobra suggests nothing: the default is set where cobra reports the error itself.
		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&p.storeDir, "store", "",
		"folder that runs are kept in (default $HEADROOM_STORE, else $XDG_DATA_HOME/headroom)")
	p.addReadOnly(root,
		p.suitesCommand(),
		p.listCommand(),
		p.showCommand(),
		p.reportCommand(),
		p.historyCommand(),
		p.stagesCommand(),
		p.exportCommand(),
		p.rulesCommand(),
		p.explainCommand(),
		p.factorsCommand(),
		p.referencesCommand(),
	)
	root.AddCommand(
		p.runCommand(),
		p.netCommand(),
		p.nfsCommand(),
		p.doctorCommand(),
		p.factsCommand(),
		p.compareCommand(),
		p.sweepCommand(),
		p.ablateCommand(),
		p.bisectCommand(),
		p.ladderCommand(),
		p.importCommand(),
		p.labelCommand(),
		p.rmCommand(),
		p.restoreCommand(),
		p.versionCommand(),
	)
	root.SetHelpTemplate(root.HelpTemplate() + exitCodeHelp(root))
	groupCommands(root)
	p.fitHelp(root)
	return root
}

// noCommand is carried out when the first word is no command.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	hints := []string{c.CommandPath() + " --help lists the commands"}
	if near := c.SuggestionsFor(args[0]); len(near) > 0 {
		hints = append([]string{"did you mean " + strings.Join(near, " or ") + "?"}, hints...)
	}
	return usage(fmt.Sprintf("there is no command %q", args[0]), hints...)
}

// usage is an error in the command line.
func usage(what string, hints ...string) error {
	return &lab.Error{Kind: lab.Usage, What: what, Hints: hints}
}

// argumentCount demands a number of arguments and says which.
func argumentCount(least, most int, names string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usage(fmt.Sprintf("%s takes %s", c.CommandPath(), names),
				"for example: "+strings.TrimSpace(strings.Split(c.Example, "\n")[0]))
		}
		return nil
	}
}

// unlimited is no limit on arguments.
const unlimited = 1 << 20

func (p *program) jsonFlag(c *cobra.Command) {
	c.Flags().BoolVar(&p.json, "json", false, "print JSON")
}

func (p *program) printJSON(v any) error { return encodeJSON(p.Stdout, v) }

func encodeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// openStore returns the store of the flag, of $HEADROOM_STORE, or the user's own.
func (p *program) openStore() (*store.Store, error) {
	dir := p.storeDir
	if dir == "" {
		dir = p.Env("HEADROOM_STORE")
	}
	if dir == "" {
		base := p.Env("XDG_DATA_HOME")
		if base == "" {
			home := p.Env("HOME")
			if home == "" {
				return nil, usage("neither HOME nor XDG_DATA_HOME is set",
					"name a folder for the runs with --store DIR")
			}
			base = filepath.Join(home, ".local", "share")
		}
		dir = filepath.Join(base, "headroom")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := store.Open(dir)
	if p.AtStep != nil {
		s.AtStep(p.AtStep)
	}
	return s, nil
}

// local is this machine. The folders of its jobs are kept in memory, so that nothing that a load generator prints goes
// to the disk that it loads. The place depends on the user alone: the next start must find what a killed one left.
func (p *program) local() *target.Local {
	return target.NewLocal(jobsFolder())
}

// jobsFolder holds the folders of jobs and of guests.
func jobsFolder() string { return fmt.Sprintf("/dev/shm/headroom-%d", os.Getuid()) }

// columns is the width of the terminal that w is; 0 when it is none.
func columns(w io.Writer) int {
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

// lines is the height of the terminal that w is; 0 when it is none.
func lines(w io.Writer) int {
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

// colour makes escape sequences that w sends; it is nil where what goes to w has no colour.
func (p *program) colour(w io.Writer) func(sequence string) string {
	if columns(w) == 0 || p.Env("NO_COLOR") != "" || p.Env("TERM") == "dumb" {
		return nil
	}
	return p.key.Own
}
