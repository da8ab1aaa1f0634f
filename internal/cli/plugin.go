package cli

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

// words are the arguments of the command line. What completes words gets those that it completes alone.
func commandWords(s app.Environment) []string {
	if filepath.Base(s.Args[0]) == app.CompletionFile {
		return append([]string{cobra.ShellCompRequestCmd}, s.Args[1:]...)
	}
	return s.Args[1:]
}

// pluginNaming knows the commands below root.
func pluginNaming(root *cobra.Command) app.Naming {
	names := []string{"--help"}
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name()))
	}
	// Not the end of a path; and with the word before it, what was turned already stays as it is.
	return app.Naming{Commands: regexp.MustCompile(`(^|[^-./\w])(?:kubectl )?headroom(\s+(?:` +
		strings.Join(names, "|") + `)\b)`)}
}

// rewriteHelp turns the help of a command and of all below it. Error messages and usage lines begin with the name that
// the root shows.
func renameTree(n app.Naming, c *cobra.Command) {
	c.Short, c.Long, c.Example = n.Text(c.Short), n.Text(c.Long), n.Text(c.Example)
	for _, below := range c.Commands() {
		renameTree(n, below)
	}
}
