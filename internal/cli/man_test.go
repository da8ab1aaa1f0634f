package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/headroom/headroom/internal/app"
)

// TestManualPages looks for each command's page, and on it for the words of its help. Only macros that are meant begin
// a line: whatever else did would be swallowed.
func TestManualPages(t *testing.T) {
	a := app.New(app.Environment{Stdout: io.Discard, Stderr: io.Discard, Version: "v1.2.3", Commit: "c0ffee",
		CommitDate: "2026-11-26T10:00:00Z", Env: func(string) string { return "" }})
	root, dir := wholeTree(a), t.TempDir()
	root.SetArgs([]string{"man", dir})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	pages := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		pages++
		data, err := os.ReadFile(filepath.Join(dir, pageName(c)+".1"))
		if err != nil {
			t.Fatal(err)
		}
		page := string(data)
		has := func(text string) {
			if !strings.Contains(page, roff(text)) {
				t.Errorf("%s does not have %q", pageName(c), text)
			}
		}
		for line := range strings.Lines(c.Example) {
			has(strings.TrimRight(line, "\n"))
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				has("--" + f.Name)
			}
		})
		for _, sub := range manualCommands(c) {
			has(pageName(sub) + "(1)")
			look(sub)
		}
		checkMacros(t, page)
	}
	look(root)
	if pages < 40 {
		t.Errorf("%d pages", pages)
	}
	data, _ := os.ReadFile(filepath.Join(dir, "headroom-bisect-facts.1"))
	if begins, _, _ := strings.Cut(string(data), "\n"); begins !=
		`.TH HEADROOM\-BISECT\-FACTS 1 "2026-11-26" "headroom v1.2.3" "headroom manual"` {
		t.Error(begins)
	}
}

func checkMacros(t *testing.T, page string) {
	t.Helper()
	for line := range strings.Lines(page) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case ".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".nf", ".fi", ".nh", ".ad":
		default:
			if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
				t.Errorf("a line that begins as a macro does: %q", line)
			}
		}
	}
}

func TestManualEscapes(t *testing.T) {
	m := manual{}
	m.prose("one\n.two -x\n'three \\n\n\n  indented\n\nfour")
	want := ".PP\none\n\\&.two \\-x\n\\&'three \\en\n.PP\n.nf\n  indented\n.fi\n.PP\nfour\n"
	if m.String() != want {
		t.Errorf("got  %q\nwant %q", m.String(), want)
	}
}
