package cli

import (
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// The file names by which kubectl finds a plugin and what completes its words. Both may be links to headroom: krew
// makes the first. Sources: https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/, kubectl's
// pluginCompletion (pkg/cmd/plugin).
const (
	pluginFile     = "kubectl-headroom"
	completionFile = "kubectl_complete-headroom"
)

// pluginWords is what people type then.
const pluginWords = "kubectl headroom"

// asPlugin says whether kubectl has started this program, by the name of the file that it has started.
func (s Environment) asPlugin() bool {
	name := filepath.Base(s.Args[0])
	return name == pluginFile || name == completionFile
}

// words are the arguments of the command line. What completes words gets those that it completes alone.
func commandWords(s Environment) []string {
	if filepath.Base(s.Args[0]) == completionFile {
		return append([]string{cobra.ShellCompRequestCmd}, s.Args[1:]...)
	}
	return s.Args[1:]
}

// naming turns the commands in a text into what people type: the same for headroom itself, "kubectl headroom run" for
// its plugin.
type naming struct{ commands *regexp.Regexp }

func (n naming) text(text string) string {
	if n.commands == nil {
		return text
	}
	return n.commands.ReplaceAllString(text, "${1}"+pluginWords+"${2}")
}

// pluginNaming knows the commands below root.
func pluginNaming(root *cobra.Command) naming {
	names := []string{"--help"}
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name()))
	}
	// Not the end of a path; and with the word before it, what was turned already stays as it is.
	return naming{regexp.MustCompile(`(^|[^-./\w])(?:kubectl )?headroom(\s+(?:` + strings.Join(names, "|") + `)\b)`)}
}

// rewriteHelp turns the help of a command and of all below it. Error messages and usage lines begin with the name that
// the root shows.
func renameTree(n naming, c *cobra.Command) {
	c.Short, c.Long, c.Example = n.text(c.Short), n.text(c.Long), n.text(c.Example)
	for _, below := range c.Commands() {
		renameTree(n, below)
	}
}

// writer is a writer that turns what is written to w; each write must have whole commands. It still says which terminal
// it is.
func (n naming) writer(w io.Writer) io.Writer {
	if n.commands == nil {
		return w
	}
	return withDescriptor(namedWriter{n, w}, w)
}

// descriptor is what a terminal is asked about by.
type descriptor interface{ Fd() uintptr }

// withDescriptor is w with the descriptor of what it writes to, where that has one.
func withDescriptor(w, to io.Writer) io.Writer {
	if f, ok := to.(descriptor); ok {
		return describedWriter{w, f}
	}
	return w
}

type describedWriter struct {
	io.Writer
	descriptor
}

type namedWriter struct {
	naming
	w io.Writer
}

func (w namedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, w.text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
