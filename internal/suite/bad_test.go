package suite

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/yamlfile"
)

// wanted returns the texts of a fixture's lines of the form "# KEY: text", in order.
func wanted(data, key string) []string {
	var lines []string
	for line := range strings.Lines(data) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), "# "+key+": "); ok {
			lines = append(lines, text)
		}
	}
	return lines
}

// fixtures returns the files that match, by name; the test fails if there are none.
func fixtures(t testing.TB, pattern string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures match %s (%v)", pattern, err)
	}
	files := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(path)] = string(data)
	}
	return files
}

// checkProblems compares the problems in an error with the wanted lines.
func checkProblems(t *testing.T, err error, want []string) {
	t.Helper()
	var problems yamlfile.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("got %v, want problems", err)
	}
	if lab.KindOf(err) != lab.Usage {
		t.Errorf("the error is of kind %v, want a usage error", lab.KindOf(err))
	}
	var got []string
	for _, p := range problems {
		got = append(got, p.Error())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
	if err.Error() != strings.Join(want, "\n") {
		t.Errorf("the error prints\n%s", err)
	}
}

func TestBadFiles(t *testing.T) {
	for name, data := range fixtures(t, "testdata/bad/*.yaml") {
		t.Run(name, func(t *testing.T) {
			want := wanted(data, "want")
			if len(want) == 0 {
				t.Fatal("the fixture does not say which problems it has")
			}
			s, err := Decode(name, []byte(data))
			checkProblems(t, err, want)
			if s.Name != "" || s.Jobs != nil {
				t.Errorf("a faulty file gave the suite %+v", s)
			}
		})
	}
}

func TestBadBytes(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"empty": {"", "x.yaml: the file is empty (begin it with version: 1)"},
		"huge":  {strings.Repeat("#", 1<<20+1), "x.yaml: the file is larger than 1 MiB"},
		"a zero byte": {"version: 1\x00", "x.yaml: not valid YAML: control characters are not allowed " +
			"(look at the indentation and the colons around this line)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Decode("x.yaml", []byte(c.data))
			checkProblems(t, err, []string{c.want})
		})
	}
}
