package app

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// Print prints a line to standard error; on a terminal that is narrower, several.
func (p *App) Print(prefix, text string) {
	p.outputMu.Lock()
	defer p.outputMu.Unlock()
	text = p.Naming.Text(text) // before it is broken into lines
	if width := Columns(p.Stderr); width > 0 {
		(&Wrapper{Out: p.Stderr, Width: width}).Line(prefix, text)
		return
	}
	fmt.Fprintln(p.Stderr, prefix+text)
}

// Fit cuts a line to a number of columns; every character that is used here is one column wide.
func Fit(line string, width int) string {
	line = prose.Inline(line)
	r := []rune(line)
	if len(r) <= width {
		return line
	}
	return string(r[:max(0, width-1)]) + "…"
}

// CutLines cuts the lines of a table to a width; a width of 0 is none.
func CutLines(table string, width int) string {
	if width == 0 {
		return table
	}
	var cut strings.Builder
	for line := range strings.Lines(table) {
		cut.WriteString(Fit(strings.TrimSuffix(line, "\n"), width) + "\n")
	}
	return cut.String()
}

// Rows prints names, each with its text if it has one.
func (w *Wrapper) Rows(rows [][2]string) {
	for _, row := range rows {
		if row[1] != "" {
			w.Line(fmt.Sprintf("  %-11s", row[0]), row[1])
		}
	}
}

// Wrapper prints paragraphs no wider than the terminal, or 100 columns where there is none.
type Wrapper struct {
	Out   io.Writer
	Width int
}

const plainWidth = 100

func (w *Wrapper) columns() int {
	if w.Width == 0 {
		return plainWidth
	}
	return max(40, w.Width)
}

// Line prints text behind a prefix; what does not fit follows below, as far to the right.
func (w *Wrapper) Line(prefix, text string) {
	indent := strings.Repeat(" ", prose.Columns(prefix))
	for _, l := range prose.Wrap(strings.TrimLeft(text, " "), w.columns()-len(indent), 0) {
		fmt.Fprintln(w.Out, strings.TrimRight(prefix+l, " "))
		prefix = indent
	}
}

// maxListedNames is how many things a line names before it counts.
const maxListedNames = 4

// Names lists the first few names, and how many more there are.
func Names(list []string) string { return prose.Few(list, maxListedNames) }

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
