package main

import (
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every link of the site leads to a file that is there, and to an anchor of it.
func TestLinksOfTheSite(t *testing.T) {
	out := t.TempDir()
	if err := writeSite("../..", out); err != nil {
		t.Fatal(err)
	}
	pages, links := 0, 0
	for name, text := range htmlFiles(t, out) {
		pages++
		for _, m := range regexp.MustCompile(`(?:href|src|action|data-root)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			to := html.UnescapeString(m[1])
			if strings.Contains(to, ":") || to == "" {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(to, "#")
			place := name
			if file != "" {
				place = filepath.Join(filepath.Dir(name), file)
			}
			data, err := os.ReadFile(filepath.Join(out, place))
			if info, _ := os.Stat(filepath.Join(out, place)); err != nil && (info == nil || !info.IsDir()) {
				t.Errorf("%s links to %s: %v", name, to, err)
			}
			if anchor != "" && !strings.Contains(string(data), `id="`+anchor+`"`) {
				t.Errorf("%s links to %s, and there is no such anchor", name, to)
			}
		}
	}
	if pages < 40 || links < 1000 {
		t.Errorf("%d pages with %d links", pages, links)
	}
}

func htmlFiles(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(file string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".html" {
			return err
		}
		data, err := os.ReadFile(file)
		name, _ := filepath.Rel(root, file)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestPageOfTheSite(t *testing.T) {
	root, _ := repositoryOf(t, map[string]string{
		"docs/index.md": "# Index\n\n## By need\n\n[a](howto/a.md)\n\n## How to\n\n[find *a* fault](howto/a.md) · [code](../main.go)\n\n## Others\n\n[b](../B.md)\n",
		"docs/howto/a.md": "# A & B\n\n<!-- a comment -->\nSee [b](../../B.md#two \"b\").\n\n## One\n\n| k | v |\n| - | - |\n| `x` | <y> |\n\n" +
			"## Two\n\n```sh\nheadroom run\n```\n\n## Three\n",
		"B.md":    "# B\n\n## Two\n",
		"main.go": "package main\n",
	})
	out := t.TempDir()
	if err := writeSite(root, out); err != nil {
		t.Fatal(err)
	}
	files := htmlFiles(t, out)
	for _, want := range []string{
		"<title>A &amp; B · headroom</title>", `<a href="../howto/a.html" aria-current="page">Find a fault</a>`,
		`<a href="../B.html#two" title="b">b</a>`, `<h2 id="one">One<a href="#one" class="self"`,
		`<li><a href="#three">Three</a></li>`, "<details open>\n<summary>How to</summary>",
	} {
		if !strings.Contains(files["howto/a.html"], want) {
			t.Errorf("no %s in\n%s", want, files["howto/a.html"])
		}
	}
	if strings.Contains(files["howto/a.html"], "By need") {
		t.Errorf("a page is in the menu twice:\n%s", files["howto/a.html"])
	}
	index, err := os.ReadFile(filepath.Join(out, "search-index.js"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"place":"howto/a.html#one","page":"A \u0026 B","heading":"One","text":"k v x"}`,
		`{"place":"howto/a.html#two","page":"A \u0026 B","heading":"Two","text":"headroom run"}`,
	} {
		if !strings.Contains(string(index), want) {
			t.Errorf("no %s in %s", want, index)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "main.go")); err != nil {
		t.Error(err)
	}
}
