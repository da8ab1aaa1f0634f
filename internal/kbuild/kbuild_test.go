package kbuild

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/safepath"
)

func TestInitial(t *testing.T) {
	left := map[string]bool{"A": true, "B": true, "C": true, "D": true, "CC_HAS_X": false}
	groups, leaders := initial(left, [][]string{{"SAME", "CC_HAS_X"}, {"C", "SAME", "A"}, {"A"}})
	if want := [][]string{{"C"}, {"A"}, {"B"}, {"D"}}; !reflect.DeepEqual(groups, want) ||
		!reflect.DeepEqual(leaders, []int{0, 0, -1, -1}) {
		t.Errorf("%v, led by %v, want %v", groups, leaders, want)
	}
}

// Options that can be chosen are not determined by the compiler, whatever their prefix.
func TestFound(t *testing.T) {
	for option, want := range map[string]bool{"CC_HAS_INT128": true, "AS_AVX512": true, "CC_VERSION_TEXT": true,
		"GCC_VERSION": true, "CC_OPTIMIZE_FOR_SIZE": false,
		"LD_DEAD_CODE_DATA_ELIMINATION": false, "GCC_PLUGIN_STACKLEAK": false, "PREEMPT": false} {
		if found(option) != want {
			t.Errorf("%s: %v", option, !want)
		}
	}
}

// Groups that ties connect are joined, led by the known leader, then by the one that takes the most along.
func TestJoin(t *testing.T) {
	members := []member{{options: []string{"K", "k"}, known: 1}, {options: []string{"A"}},
		{options: []string{"B"}, moves: 2}, {options: []string{"C"}, moves: 3, groupResult: groupResult{refused: true}},
		{options: []string{"D"}}, {options: []string{"E"}, moves: 5}}
	joined, open := join(members, [][]int{nil, {2}, nil, {1}, {0}, nil})
	var got [][]string
	for _, m := range joined {
		got = append(got, m.options)
	}
	if want := [][]string{{"K", "k", "D"}, {"B", "A", "C"}, {"E"}}; !reflect.DeepEqual(got, want) ||
		!reflect.DeepEqual(open, []int{0, 1}) {
		t.Errorf("%v, put together %v, want %v", got, open, want)
	}
}

// The compiler's messages are quoted from make's output, not those of one make after the other.
func TestLastLines(t *testing.T) {
	text := "mm/slub.c: In function 'x':\nmm/slub.c:7: error: no such thing\n\nmake[3]: *** " +
		"[scripts/Makefile.build:250: mm/slub.o] Error 1\nmake[2]: *** [Makefile:2028: .] Error 2\nmake: *** " +
		"[Makefile:219: __sub-make] Error 2\n"
	if got, want := lastLines(text), "mm/slub.c: In function 'x': / mm/slub.c:7: error: no such thing"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := lastLines(strings.Repeat("é", 600)); got != "…"+strings.Repeat("é", 500) {
		t.Errorf("%q", got)
	}
}

// A tree of objects and kernels that others can change is not used: their kernel would be booted, and their Makefiles
// would be run.
func TestOpenAsksWhetherBuiltKernelsCanBeTrusted(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	for name, text := range map[string]string{"Kconfig": "", "Makefile": "kernelversion:\n\t@echo 6.1.192\n",
		"scripts/kconfig/Makefile": ""} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	terms := Terms{Dir: dir, Out: out, Target: host.NewLocal(filepath.Join(t.TempDir(), "jobs")),
		Trust: func(name string) error { return safepath.Check(safepath.Local{}, name, os.Geteuid()) }}
	tree, err := Open(t.Context(), terms)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(tree.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{tree.folder, out} {
		if err := os.Chmod(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		_, err := Open(t.Context(), terms)
		if unsafe, is := errors.AsType[*safepath.Unsafe](err); !is || unsafe.Name != folder {
			t.Errorf("%s can be written to by everybody: got %v", folder, err)
		}
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// A source that is not a clean kernel tree is refused before anything is created.
func TestOpenRefuses(t *testing.T) {
	file := func(path string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	source := func(name string, more ...string) string {
		dir := filepath.Join(t.TempDir(), name)
		for _, f := range append(more, "Kconfig", "Makefile", "scripts/kconfig/Makefile") {
			file(filepath.Join(dir, f))
		}
		return dir
	}
	for name, c := range map[string]struct {
		terms Terms
		kind  lab.Kind
		want  string
	}{
		"no tree":    {Terms{Dir: t.TempDir()}, lab.Usage, "is no tree of the kernel's source"},
		"configured": {Terms{Dir: source("a", ".config")}, lab.Refused, "was built in (.config)"},
		"built in": {Terms{Dir: source("a", "arch/x86/include/generated/asm/x.h")}, lab.Refused,
			"was built in (arch/x86/include/generated)"},
		"space":        {Terms{Dir: source("my linux")}, lab.Usage, "has a space or a colon"},
		"a target":     {Terms{Dir: source("a"), Make: []string{"modules"}}, lab.Usage, `"modules" can't be given`},
		"an option":    {Terms{Dir: source("a"), Make: []string{"--directory=/"}}, lab.Usage, "can't be given"},
		"where":        {Terms{Dir: source("a"), Make: []string{"O=/tmp"}}, lab.Usage, "can't be given"},
		"not a kernel": {Terms{Dir: source("a")}, lab.Failure, "does not say its version"},
	} {
		c.terms.Target, c.terms.Out = host.NewLocal(filepath.Join(t.TempDir(), "jobs")),
			filepath.Join(t.TempDir(), "out")
		_, err := Open(t.Context(), c.terms)
		if err == nil || !strings.Contains(err.Error(), c.want) || lab.KindOf(err) != c.kind {
			t.Errorf("%s: %v", name, err)
		}
		if exists(c.terms.Out) {
			t.Errorf("%s: something was made", name)
		}
	}
}
