// Package cli is the command line: commands, flags, help, progress and exit codes. It combines the other packages and
// makes no decisions about measurements.
//
// Each command has a file with its name. Results go to standard output, everything else to standard error. Every
// command takes --json if it prints something that programs could use.
package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

// Run carries out a command line and returns the exit code.
func Run(ctx context.Context, s app.Environment) int {
	s.Footprint.ReleaseProgramPages() // libraries that most commands never use set themselves up when a program starts
	a := app.New(s)
	out, printed := a.Key.Writer(s.Stdout), a.Key.Writer(s.Stderr)
	a.Stdout, a.Stderr = app.WithDescriptor(out, s.Stdout), app.WithDescriptor(printed, s.Stderr)
	if s.AsPlugin() {
		a.Naming = pluginNaming(commands())
		a.Stderr = a.Naming.Writer(a.Stderr)
	}
	words, tree := commandWords(s), newCommandTree(a)
	tree.buildNamed(words)
	root := tree.root
	if completes(s) {
		completion{a}.sharedFlags(root)
	}
	root.SetArgs(words)
	root.SetIn(s.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	ctx, ended := a.HandleSignals(ctx)
	defer ended()
	err := root.ExecuteContext(ctx)
	if err != nil && err.Error() != "" && !app.IsBrokenPipe(err) {
		a.PrintError(err)
	}
	if flushed := errors.Join(out.Flush(), printed.Flush()); err == nil {
		err = flushed
	}
	return app.ExitCode(err)
}

func newRootCommand(a *app.App) *cobra.Command {
	root := &cobra.Command{
		Use:   "headroom",
		Short: "Measure the I/O of Linux machines, and say which numbers to trust",
		Long: `headroom measures the I/O of Linux machines with fio and iperf3, keeps every raw result, and marks
numbers that can't be trusted.

A run is named by its id or the start of it, its label, "last", or the path of its folder.`,
		Example: `  headroom run quick /srv            a minute on a scratch file in /srv
  headroom run nvme /dev/nvme1n1     the whole suite on an empty drive
  headroom report last -o page.html  the last run as a page`,
		Version:           a.Version,
		Args:              cobra.ArbitraryArgs, // for noCommand to see them
		RunE:              noCommand,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		// cobra would suggest nothing without it: its default is set where it reports the error itself.
		SuggestionsMinimumDistance: 2,
	}
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().StringVar(&a.StoreDir, "store", "",
		"folder of saved runs (default $HEADROOM_STORE, else $XDG_DATA_HOME/headroom)")
	root.PersistentFlags().StringVar(&a.ConfigFile, "config", "",
		"configuration file, or none (default $HEADROOM_CONFIG, else ~/.config/headroom/config.yaml)")
	root.PersistentPreRunE = configured{a}.apply
	if a.Naming.Commands != nil {
		root.Long, root.Example = a.Naming.Text(root.Long), a.Naming.Text(root.Example)
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: app.PluginWords}
		root.CompletionOptions.DisableDefaultCmd = true // kubectl completes in another way
	}
	fitHelp(root, a.Stdout)
	return root
}

// noCommand runs if the first word is not a command.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	hints := []string{c.CommandPath() + " --help lists the commands"}
	if near := slices.Sorted(slices.Values(c.SuggestionsFor(args[0]))); len(near) > 0 {
		hints = append([]string{"did you mean " + strings.Join(near, " or ") + "?"}, hints...)
	}
	return app.Usage(fmt.Sprintf("there is no command %q", args[0]), hints...)
}

// argumentCount refuses another number of arguments; names describes the right ones.
func argumentCount(least, most int, names string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return app.Usage(fmt.Sprintf("%s takes %s", c.CommandPath(), names),
				"for example: "+strings.TrimSpace(strings.Split(c.Example, "\n")[0]))
		}
		return nil
	}
}

// unlimited is the number of arguments without a limit.
const unlimited = 1 << 20
