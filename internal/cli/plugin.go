package cli

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headroom/headroom/internal/app"
)

// commandWords are the arguments of the command line. What completes words gets those that it completes alone.
func commandWords(s app.Environment) []string {
	if filepath.Base(s.Args[0]) == app.CompletionFile {
		return append([]string{cobra.ShellCompRequestCmd}, s.Args[1:]...)
	}
	return s.Args[1:]
}

// pluginNaming knows the commands below the program's own.
func pluginNaming(below []listed) app.Naming {
	names := []string{"--help"}
	for _, l := range below {
		names = append(names, regexp.QuoteMeta(l.name))
	}
	// Not the end of a path; and with the word before it, what was turned already stays as it is.
	return app.Naming{Commands: regexp.MustCompile(`(^|[^-./\w])(?:kubectl )?headroom(\s+(?:` +
		strings.Join(names, "|") + `)\b)`)}
}
