package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/app"
)

// argumentsOf takes a command line of the docs apart.
func argumentsOf(line string) []string {
	var args []string
	for _, m := range regexp.MustCompile(`'([^']*)'|"([^"]*)"|(\S+?)'([^']*)'|(\S+)`).FindAllStringSubmatch(line, -1) {
		args = append(args, strings.Join(m[1:], ""))
	}
	return args
}

// printedBy runs a command line as it stands in the docs, in the folder above them, and returns what it prints.
func printedBy(t *testing.T, store, line string) string {
	t.Helper()
	args := argumentsOf(line)
	var out, errs bytes.Buffer
	code := Run(context.Background(), app.Environment{Args: append(args, "--store", store),
		Stdin:  strings.NewReader(""),
		Stdout: &out, Stderr: &errs,
		Env: func(string) string { return "" }, Version: "test"})
	if code != 0 {
		t.Fatalf("%s: exit code %d\n%s", line, code, errs.String())
	}
	return regexp.MustCompile(`(imported as |headroom (?:show|stages) )[0-9A-Z]+`).ReplaceAllString(out.String(),
		"${1}8JT9")
}

// The commands of docs/howto/stages.md print what stands below them there.
func TestStagesDocs(t *testing.T) {
	t.Chdir("../..")
	store := t.TempDir()
	howto{page: "docs/howto/stages.md", exact: true, run: func(t *testing.T, line string) string {
		return printedBy(t, store, line)
	}}.follow(t)
}

// A page has the stages of its run beside each other: shares, pairs that are not alike, and what the stated links say;
// so has the page of the run, without links.
func TestStagesOnAPage(t *testing.T) {
	t.Chdir("../..")
	store, dir := t.TempDir(), t.TempDir()
	printedBy(t, store, "headroom import --stages 'ram,one path,two paths,rdma' docs/examples/nfs-over-rdma.txt")
	for name, command := range map[string]string{"stages.html": "headroom stages last --link 'two paths=2xQDR' " +
		"--link rdma=2xQDR -o ", "stages.md": "headroom stages last --link rdma=2xQDR -o ",
		"report.html": "headroom report last -o "} {
		file := filepath.Join(dir, name)
		printedBy(t, store, command+file)
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"217.7%", "unlike-pair", "writes-by-cache", "of two paths"} {
			if !strings.Contains(string(page), want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
		if linked := strings.Contains(string(page), "maxima-above-ceiling"); linked ==
			strings.HasPrefix(name, "report") {
			t.Errorf("%s: findings about links, %v", name, linked)
		}
	}
}
