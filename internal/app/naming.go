package app

import (
	"io"
	"path/filepath"
	"regexp"
)

// The file names by which kubectl finds a plugin and what completes its words. Both may be links to headroom: krew
// makes the first. Sources: https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/, kubectl's
// pluginCompletion (pkg/cmd/plugin).
const (
	PluginFile     = "kubectl-headroom"
	CompletionFile = "kubectl_complete-headroom"
)

// PluginWords is what people type then.
const PluginWords = "kubectl headroom"

// AsPlugin reports whether kubectl has started this program, by the name of the file that it has started.
func (s Environment) AsPlugin() bool {
	name := filepath.Base(s.Args[0])
	return name == PluginFile || name == CompletionFile
}

// Naming turns the commands in a text into what people type: the same for headroom itself, "kubectl headroom run" for
// its plugin.
type Naming struct{ Commands *regexp.Regexp }

// Text is a text with commands as the user types them.
func (n Naming) Text(text string) string {
	if n.Commands == nil {
		return text
	}
	return n.Commands.ReplaceAllString(text, "${1}"+PluginWords+"${2}")
}

// Writer is a writer that turns what is written to w; each write must have whole commands. It still has the descriptor
// of the terminal.
func (n Naming) Writer(w io.Writer) io.Writer {
	if n.Commands == nil {
		return w
	}
	return WithDescriptor(namedWriter{n, w}, w)
}

// descriptor is what a terminal is asked about by.
type descriptor interface{ Fd() uintptr }

// WithDescriptor is w with the descriptor of what it writes to, where that has one.
func WithDescriptor(w, to io.Writer) io.Writer {
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
	Naming
	w io.Writer
}

func (w namedWriter) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, w.Text(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}
