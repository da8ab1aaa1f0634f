package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	p := readPage("x.md", []byte("# `client-cpu`\n## What [this](y.md) *is*, and isn't\n## A: 10 % of 3/4\n## Größe_x\n"+
		"## Same\n## Same\n\n<a id=\"own\"></a>\n"))
	for _, want := range []string{"client-cpu", "what-this-is-and-isnt", "a-10--of-34", "größe_x", "same", "same-1", "own"} {
		if !p.anchors[want] {
			t.Errorf("no anchor %s in %v", want, p.anchors)
		}
	}
}

// repositoryOf writes files and returns the folder and its pages.
func repositoryOf(t *testing.T, files map[string]string) (root string, pages []*page) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pages, err := readPages(root)
	if err != nil {
		t.Fatal(err)
	}
	return root, pages
}

func TestBrokenLinks(t *testing.T) {
	root, pages := repositoryOf(t, map[string]string{
		"docs/index.md": "# Index\n\n[a](howto/a.md)\n",
		"docs/howto/a.md": "# A\n\n[fine](#a) [fine](../index.md#index) [fine](https://example.org/x) ![p](../p.png)\n\n" +
			"two\n[gone](b.md)\n\n[no heading](../index.md#b) [no heading](#b) [out](../../../x.md)\n",
		"docs/howto/lost.md":    "# Lost\n",
		"docs/p.png":            "",
		"main.go":               "// docs/howto/a.md#a and ../docs/howto/a.md are there, docs/howto/c.md isn't; x.org/docs/howto/d.md is no page\n",
		"testdata/docs/x/x.md":  "[gone](gone.md)",
		"changelog/releases.md": "[gone](gone.md)",
	})
	faults, err := brokenLinks(root, pages)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"docs/howto/a.md:5: the link to b.md: there is no docs/howto/b.md",
		"docs/howto/a.md:8: the link to ../index.md#b: docs/index.md has no heading #b",
		"docs/howto/a.md:8: the link to #b: docs/howto/a.md has no heading #b",
		"docs/howto/a.md:8: the link to ../../../x.md: it leads out of the repository",
		"main.go names docs/howto/c.md: there is no docs/howto/c.md",
		"docs/index.md does not lead to docs/howto/lost.md",
	}
	if got := append(faults, unlisted(pages)...); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReadability(t *testing.T) {
	_, pages := repositoryOf(t, map[string]string{
		"easy.md": "# Run it\n\nThe disk is slow. Run `headroom doctor /srv` and see why.\n\n```text\nincomprehensible\n```\n",
		"hard.md": "# Considerations\n\nOrganizational interoperability considerations necessitate comprehensive " +
			"multidisciplinary evaluations of infrastructural characteristics.\n",
	})
	table, faults := readability(pages)
	if len(faults) != 1 || !strings.HasPrefix(faults[0], "hard.md has a reading ease of -") {
		t.Errorf("%q", faults)
	}
	rows := strings.Split(table, "\n")
	if len(rows) != 5 || !strings.HasSuffix(rows[1], "  hard.md") || !strings.HasSuffix(rows[2], "  easy.md") {
		t.Errorf("%s", table)
	}
	// Headings are sentences, code is a word, blocks are left out.
	if e := easeOf(pages[0]); e.words != 11 || len(pages[0].prose) != 2 {
		t.Errorf("%+v", e)
	}
}
