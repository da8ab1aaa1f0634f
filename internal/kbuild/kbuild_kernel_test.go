//go:build kernel

package kbuild

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/kconfig"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/figure"
)

// source returns the source of a kernel, as packaged by the distribution.
func source(t *testing.T) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("../../scripts/kernel-source")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Skipf("no kernel source: %v %s", err, stderr.String())
	}
	for _, tool := range []string{"flex", "bison", "bc", "gcc", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	return strings.TrimSpace(string(out))
}

func terms(t *testing.T, dir string) Terms {
	t.Helper()
	return Terms{Target: host.NewLocal(filepath.Join(t.TempDir(), "jobs")), Dir: dir,
		Out: filepath.Join(t.TempDir(), "kernels"), Run: "7KQ4M2X9TD",
		Mark: fmt.Sprintf("HEADROOM_RUN=TEST%d", os.Getpid()),
		End:  func(_ context.Context, folder string) error { return host.KillBelow(folder) }}
}

func open(t *testing.T, terms Terms) *Tree {
	t.Helper()
	tree, err := Open(t.Context(), terms)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// options returns a tree that has a kernel's tools, and only these options.
func options(t *testing.T, kconfig string) *Tree {
	t.Helper()
	from, dir := source(t), t.TempDir()
	entries, err := os.ReadDir(from)
	if err != nil || len(entries) == 0 {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "Kconfig" {
			if err := os.Symlink(filepath.Join(from, e.Name()), filepath.Join(dir, e.Name())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "Kconfig"), []byte(kconfig), 0o644); err != nil {
		t.Fatal(err)
	}
	return open(t, terms(t, dir))
}

func testdata(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// differences returns the differences except options determined by the compiler.
func differences(a, b kconfig.Config) (changes []kconfig.Change) {
	for _, c := range kconfig.Compare(a, b) {
		if !found(c.Option) {
			changes = append(changes, c)
		}
	}
	return changes
}

// possible checks that every mixture of few groups is built as requested, or reported.
func possible(t *testing.T, b *Between, switches [][]bool) {
	t.Helper()
	for _, switched := range switches {
		m, err := b.Mix(t.Context(), switched)
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Refused) > 0 {
			t.Errorf("%v of %q refuses %q", switched, b.Groups, m.Refused)
		}
		again, err := b.Mix(t.Context(), switched)
		if err != nil || !maps.Equal(m.Config, again.Config) {
			t.Errorf("%v is another configuration the second time: %v, %v", switched,
				kconfig.Compare(m.Config, again.Config), err)
		}
	}
}

// Each kind of tie between options, in a tree with no other options.
func TestTies(t *testing.T) {
	for name, c := range map[string]struct {
		kconfig, good, bad string
		known              [][]string
		want               [][]string
		follows            []string
	}{
		"none": {kconfig: "config A\n\tbool \"a\"\nconfig B\n\tint \"b\"\n\tdefault 5\nconfig C\n\tstring \"c\"\n" +
			"\tdefault \"7\"\n", good: "CONFIG_A=y\n", bad: "CONFIG_B=6\nCONFIG_C=\"n\"\n",
			want: [][]string{{"A"}, {"B"}, {"C"}}},
		// B can be off with A on, but not on without it.
		"depends": {kconfig: "config A\n\tbool \"a\"\nconfig B\n\tbool \"b\"\n\tdepends on A\nconfig C\n\tbool \"c\"\n",
			good: "CONFIG_C=n\n", bad: "CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=y\n",
			want: [][]string{{"A", "B"}, {"C"}}},
		"follows": {kconfig: "config Z\n\tbool \"z\"\nconfig A\n\tdef_bool Z\nconfig B\n\tint\n\tdefault 4 if Z\n" +
			"\tdefault 3\n", good: "CONFIG_Z=n\n", bad: "CONFIG_Z=y\n", want: [][]string{{"Z"}},
			follows: []string{"A", "B"}},
		"follows behind what is tied": {kconfig: "config B\n\tbool \"b\"\nconfig C\n\tbool \"c\"\n\tdepends on B\n" +
			"config Y\n\tbool \"y\"\nconfig Z\n\tdef_bool Y\n", good: "CONFIG_B=n\n",
			bad: "CONFIG_B=y\nCONFIG_C=y\nCONFIG_Y=y\n", want: [][]string{{"B", "C"}, {"Y"}}, follows: []string{"Z"}},
		"selects": {kconfig: "config A\n\tbool \"a\"\n\tselect C\nconfig B\n\tbool \"b\"\n" +
			"\tselect C\nconfig C\n\tbool\n", good: "CONFIG_A=n\n", bad: "CONFIG_A=y\nCONFIG_B=y\n",
			want: [][]string{{"A"}, {"B"}}, follows: []string{"C"}},
		"selects what can be chosen": {kconfig: "config A\n\tbool \"a\"\n\tselect C\nconfig C\n\tbool \"c\"\n",
			good: "CONFIG_A=n\n", bad: "CONFIG_A=y\n", want: [][]string{{"A", "C"}}},
		"both": {kconfig: "config A\n\tbool \"a\"\nconfig B\n\tbool \"b\"\nconfig C\n\tdef_bool A && B\n",
			good: "CONFIG_A=n\n", bad: "CONFIG_A=y\nCONFIG_B=y\n", want: [][]string{{"A"}, {"B"}},
			follows: []string{"C"}},
		"choice": {kconfig: "choice\n\tprompt \"x\"\nconfig A\n\tbool \"a\"\nconfig B\n\tbool \"b\"\nconfig C\n" +
			"\tbool \"c\"\nendchoice\nconfig HZ\n\tint\n\tdefault 1 if A\n\tdefault 2 if B\n\tdefault 3\n",
			good: "CONFIG_A=y\n", bad: "CONFIG_C=y\n", want: [][]string{{"C", "A"}}, follows: []string{"HZ"}},
		// C needs A or B, so neither changes it, and it can't be on without either.
		"one of two": {kconfig: "config A\n\tbool \"a\"\nconfig B\n\tbool \"b\"\nconfig C\n\tbool \"c\"\n\tdepends " +
			"on A || B\nconfig D\n\tbool \"d\"\n", good: "CONFIG_A=n\n",
			bad: "CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=y\nCONFIG_D=y\n", want: [][]string{{"A", "C"}, {"B"}, {"D"}}},
		// An option with the tree's default, which only one end mentions.
		"mentioned": {kconfig: "config A\n\tbool \"a\"\nconfig B\n\tbool \"b\"\n\tdepends on A\n\tdefault y\n",
			good: "CONFIG_A=n\n", bad: "CONFIG_A=y\n# CONFIG_B is not set\n", want: [][]string{{"A"}}},
		"known": {kconfig: "config A\n\tbool \"a\"\nconfig B\n\tbool \"b\"\nconfig C\n\tbool \"c\"\nconfig D\n\tbool " +
			"\"d\"\n\tdepends on C\n", good: "CONFIG_A=n\n", bad: "CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=y\nCONFIG_D=y\n",
			known: [][]string{{"OTHER"}, {"D"}, {"B", "OTHER", "A"}}, want: [][]string{{"D", "C"}, {"B", "A"}}},
	} {
		t.Run(name, func(t *testing.T) {
			tree := options(t, c.kconfig)
			done, of := 0, 0
			b, err := tree.Between(t.Context(), []byte(c.good), []byte(c.bad), c.known, func(d, o int) {
				done, of = d, o
			})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(b.Groups, c.want) || !slices.Equal(b.Follows, c.follows) {
				t.Errorf("%q and %q follow, want %q and %q", b.Groups, b.Follows, c.want, c.follows)
			}
			if done != of || of < 2*len(b.Groups) {
				t.Errorf("%d of %d questions", done, of)
			}
			for _, bad := range []bool{false, true} {
				possible(t, b, [][]bool{b.mixOf(bad)})
				for i := range b.Groups {
					possible(t, b, [][]bool{b.mixOf(bad, i)})
				}
			}
			again, err := tree.Regroup(t.Context(), []byte(c.good), []byte(c.bad), b.Groups, b.Follows)
			if err != nil || !reflect.DeepEqual(again.Groups, b.Groups) {
				t.Errorf("%v, %v", again, err)
			}
		})
	}
}

// Options that can be switched alone may not be combined: what the tree refuses is reported.
func TestRefused(t *testing.T) {
	tree := options(t, "config A\n\tbool \"a\"\nconfig B\n\tbool \"b\"\nconfig C\n\tbool \"c\"\n\tdepends on A || B\n")
	// As if C had been possible alone: it is not joined with any.
	b, err := tree.Regroup(t.Context(), []byte("CONFIG_A=n\n"), []byte("CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=y\n"),
		[][]string{{"A"}, {"B"}, {"C"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := b.Mix(t.Context(), []bool{false, false, true})
	if err != nil || !slices.Equal(m.Refused, []string{"C"}) {
		t.Errorf("%+v, %v", m, err)
	}
	if m, err = b.Mix(t.Context(), []bool{false, true, true}); err != nil || len(m.Refused) > 0 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := b.Mix(t.Context(), []bool{true}); err == nil {
		t.Error("one switch for three groups was taken")
	}
}

// fastAndSlow returns the two configurations of a small kernel.
func fastAndSlow(t *testing.T, tree *Tree) *Between {
	t.Helper()
	b, err := tree.Between(t.Context(), testdata(t, "fast.config"), testdata(t, "slow.config"),
		[][]string{{"PREEMPT", "PREEMPTION", "PREEMPT_COUNT"}}, func(_, _ int) {})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d options in %d groups", len(differences(b.Good, b.Bad)), len(b.Groups))
	for _, g := range b.Groups {
		t.Log(g)
	}
	t.Logf("%q follow", b.Follows)
	return b
}

// The groups of a real kernel: each can be switched alone in either end, and both ends are reproduced exactly.
func TestKernelGroups(t *testing.T) {
	tree := open(t, terms(t, source(t)))
	if !strings.HasPrefix(tree.Release, "6.") {
		t.Errorf("release %q", tree.Release)
	}
	started := time.Now()
	b := fastAndSlow(t, tree)
	figure.Record(t, figure.Figure{Name: "kbuild/groups", Unit: "s", Center: time.Since(started).Seconds(),
		N: len(differences(b.Good, b.Bad)), Better: figure.Lower, Text: "options are put into groups"})
	in := map[string]int{}
	for i, g := range b.Groups {
		for _, option := range g {
			if _, twice := in[option]; twice {
				t.Errorf("%s is in two groups", option)
			}
			in[option] = i
		}
	}
	for _, c := range differences(b.Good, b.Bad) {
		if _, ok := in[c.Option]; ok == slices.Contains(b.Follows, c.Option) {
			t.Errorf("%s is in no group, or follows from others and is in one", c.Option)
		}
	}
	for _, lead := range []string{"PREEMPT", "HZ_1000", "DEBUG_PAGEALLOC", "INIT_ON_ALLOC_DEFAULT_ON",
		"PAGE_TABLE_ISOLATION"} {
		if i, ok := in[lead]; !ok || b.Groups[i][0] != lead {
			t.Errorf("%s leads no group", lead)
		}
	}
	for _, bad := range []bool{false, true} {
		m, err := b.Mix(t.Context(), b.mixOf(bad))
		if err != nil || len(differences(m.Config, b.end(bad))) > 0 {
			t.Errorf("the end comes out with %v, %v", differences(m.Config, b.end(bad)), err)
		}
		for i := range b.Groups {
			m, err := b.Mix(t.Context(), b.mixOf(bad, i))
			if err != nil || len(m.Refused) > 0 {
				t.Errorf("%q alone: %q is refused, %v", b.Groups[i], m.Refused, err)
			}
		}
	}
	if left, err := os.ReadDir(tree.Out); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
}

// before a step, the test dies in its place.
type died struct{ step string }

// A kernel is built once, has its release, and shares objects with the next; an interrupted build continues, and one
// that fails leaves the others unchanged.
func TestBuild(t *testing.T) {
	dir := source(t)
	before := listing(t, dir)
	of := terms(t, dir)
	tree := open(t, of)
	good, err := tree.settled(t, testdata(t, "fast.config"))
	if err != nil {
		t.Fatal(err)
	}
	if tree.Has(good) {
		t.Error("it is there before it is built")
	}

	// A user stops it: that is not a result, and no process keeps running.
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		for objects(tree) < 50 && t.Context().Err() == nil {
			time.Sleep(100 * time.Millisecond)
		}
		stop()
	}()
	var unbuilt *Unbuilt
	if _, err := tree.Build(ctx, good); lab.KindOf(err) != lab.Cancelled || errors.As(err, &unbuilt) ||
		tree.Has(good) || !exists(tree.unclean()) {
		t.Errorf("%v; unclean: %v", err, exists(tree.unclean()))
	}
	if running(t, tree) > 0 {
		t.Error("a compiler still runs")
	}

	started := time.Now()
	kernel, err := tree.Build(t.Context(), good)
	if err != nil {
		t.Fatal(err)
	}
	figure.Record(t, figure.Figure{Name: "kbuild/first", Unit: "s", Center: time.Since(started).Seconds(),
		Better: figure.Lower, Text: "the first kernel is built"})
	hash := tree.Hash(good)
	if want := tree.Release + "-headroom-" + hash[:8]; kernel.Release != want ||
		kernel.Image != filepath.Join(of.Out, hash, "bzImage") {
		t.Errorf("%+v, want release %s", kernel, want)
	}
	image, err := os.ReadFile(kernel.Image)
	if err != nil || !bytes.Contains(image, []byte(kernel.Release+" ")) {
		t.Errorf("the image does not say %s: %v", kernel.Release, err)
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(kernel.Image), configFile))
	if err != nil {
		t.Fatal(err)
	}
	if c, err := kconfig.Parse(bytes.NewReader(text)); err != nil || len(kconfig.Compare(c, good)) > 0 {
		t.Errorf("beside it is another configuration: %v, %v", kconfig.Compare(c, good), err)
	}

	// Again, by another process: found without running make, so that it is also found without a compiler.
	again := open(t, of)
	again.Target = nil
	if k, err := again.Build(t.Context(), good); err != nil || k != kernel || !again.Has(good) {
		t.Errorf("%+v, %v", k, err)
	}

	// One option more: all objects that do not depend on it stay, except the few that are built for each kernel's name
	// and image.
	other := maps.Clone(good)
	other["INIT_ON_ALLOC_DEFAULT_ON"] = "y"
	newest := stamps(tree)
	started = time.Now()
	second, err := tree.Build(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	figure.Record(t, figure.Figure{Name: "kbuild/next", Unit: "s", Center: time.Since(started).Seconds(),
		Better: figure.Lower, Text: "the next kernel is built, with one option more"})
	made, asked, besides := 0, 0, []string{}
	for path, at := range stamps(tree) {
		depends := dependsOn(path, "INIT_ON_ALLOC_DEFAULT_ON")
		if depends {
			asked++
		}
		if newest[path] != at {
			made++
			if !depends {
				besides = append(besides, path)
			}
		}
	}
	figure.Record(t, figure.Figure{Name: "kbuild/next/objects", Center: float64(made), N: len(newest),
		Better: figure.Lower, Text: fmt.Sprintf("objects that are made for it; %d depend on the option", asked)})
	if made < asked || asked == 0 || len(besides) > 30 || second.Release == kernel.Release {
		t.Errorf("%d objects were made for %+v, %d depend on the option; besides: %q", made, second, asked, besides)
	}

	// A configuration that does not fit this tree is not built as something else.
	other["NO_SUCH_OPTION"] = "y"
	if _, err := tree.Build(t.Context(), other); err == nil || errors.As(err, &unbuilt) ||
		!strings.Contains(err.Error(), "NO_SUCH_OPTION as n and not as y") {
		t.Error(err)
	}
	delete(other, "NO_SUCH_OPTION")

	// Processes that end at each step, or whose make is killed with them.
	other["INIT_ON_FREE_DEFAULT_ON"] = "y"
	for _, step := range []string{"build ", "keep ", "name "} {
		func() {
			dying := of
			dying.AtStep = func(at string) {
				if strings.HasPrefix(at, step) {
					panic(died{at})
				}
			}
			defer func() {
				if d, ok := recover().(died); !ok || tree.Has(other) {
					t.Errorf("it did not end before %q: %v", step, d)
				}
			}()
			_, _ = open(t, dying).Build(t.Context(), other)
		}()
	}
	third, err := tree.Build(t.Context(), other)
	if err != nil || !tree.Has(other) {
		t.Errorf("%+v, %v", third, err)
	}
	if len(kernels(t, tree)) != 3 {
		t.Errorf("%q", kernels(t, tree))
	}
	if after := listing(t, dir); after != before {
		t.Error("the source tree has changed")
	}
}

// A make that was ended may leave a partly written file that looks complete, so its objects are removed.
func TestAKilledBuild(t *testing.T) {
	of := terms(t, source(t))
	tree := open(t, of)
	good, err := tree.settled(t, testdata(t, "fast.config"))
	if err != nil {
		t.Fatal(err)
	}
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		done := make(chan error, 1)
		go func() {
			_, err := tree.Build(context.WithoutCancel(t.Context()), good)
			done <- err
		}()
		for objects(tree) < 30 {
			select {
			case err := <-done:
				t.Fatalf("%s: it ended: %v", signal, err)
			case <-time.After(50 * time.Millisecond):
			}
		}
		signalMake(t, tree, signal)
		var unbuilt *Unbuilt
		if err := <-done; err == nil || errors.As(err, &unbuilt) ||
			!strings.Contains(err.Error(), "was ended by another") {
			t.Errorf("%s: %v", signal, err)
		}
		if !exists(tree.unclean()) {
			t.Errorf("%s: its objects are trusted", signal)
		}
		if err := tree.locked(t.Context(), func() error { return nil }); err != nil {
			t.Error(err)
		}
		if objects(tree) > 0 || running(t, tree) > 0 || exists(tree.unclean()) {
			t.Errorf("%s: %d objects are left, and %d compilers run", signal, objects(tree), running(t, tree))
		}
	}
}

// A failing compiler is a fault of the configuration; a full disk is not, and neither is a make that was ended from
// outside.
func TestUnbuilt(t *testing.T) {
	of := terms(t, source(t))
	compiler := filepath.Join(t.TempDir(), "compiler")
	of.Make = []string{"CC=" + compiler}
	failing := func(text string) {
		t.Helper()
		script := "#!/bin/sh\ncase \"$*\" in *init/main.o*) echo '" + text + "' >&2; exit 1 ;; esac\nexec gcc \"$@\"\n"
		if err := os.WriteFile(compiler+".new", []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(compiler+".new", compiler); err != nil {
			t.Fatal(err)
		}
	}
	failing("main.c:7: error: no such thing")
	tree := open(t, of)
	good, err := tree.settled(t, testdata(t, "fast.config"))
	if err != nil {
		t.Fatal(err)
	}
	var unbuilt *Unbuilt
	_, err = tree.Build(t.Context(), good)
	if !errors.As(err, &unbuilt) || unbuilt.Config != tree.Hash(good) || !strings.Contains(unbuilt.Reason,
		"main.c:7: error: no such thing") || exists(tree.unclean()) || tree.Has(good) {
		t.Errorf("%v", err)
	}
	failing("main.c:8: fatal error: error writing to /tmp/x.s: No space left on device")
	if _, err = tree.Build(t.Context(), good); err == nil || errors.As(err, &unbuilt) ||
		!strings.Contains(err.Error(), "No space left on device") || !exists(tree.unclean()) {
		t.Errorf("%v", err)
	}
}

// Two processes do not interfere: the second waits, reports that, and can be stopped.
func TestTwoProcesses(t *testing.T) {
	of := terms(t, source(t))
	var waited atomic.Int32
	of.Waiting = func(string) { waited.Add(1) }
	one, two := open(t, of), open(t, of)
	unlock, err := one.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	if _, err := two.lock(ctx); lab.KindOf(err) != lab.Cancelled || waited.Load() != 1 {
		t.Errorf("%v, said %d times", err, waited.Load())
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if unlock, err = two.lock(t.Context()); err != nil || unlock() != nil {
		t.Error(err)
	}
}

// settled returns a configuration as the tree completes it.
func (t *Tree) settled(test *testing.T, text []byte) (kconfig.Config, error) {
	test.Helper()
	var s completedConfig
	err := t.locked(test.Context(), func() (err error) {
		s, err = t.complete(test.Context(), text)
		return err
	})
	return s.config, err
}

// stamps returns the times of all object files.
func stamps(t *Tree) map[string]time.Time {
	all := map[string]time.Time{}
	_ = filepath.WalkDir(t.objects(), func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".o") {
			if info, err := d.Info(); err == nil {
				all[path] = info.ModTime()
			}
		}
		return nil
	})
	return all
}

// dependsOn reports whether an object is rebuilt when an option changes, according to the dependencies recorded by the
// tree's own make (fixdep):
//
//	  $(wildcard include/config/PREEMPT) \
//	  $(wildcard include/config/FAULT_INJECTION_DEBUG_FS) \
//	/usr/src/linux/include/linux/psi_types.h \
func dependsOn(object, option string) bool {
	dir, name := filepath.Split(object)
	text, err := os.ReadFile(dir + "." + name + ".cmd")
	return err == nil && bytes.Contains(text, []byte("include/config/"+option+")"))
}

func objects(t *Tree) int { return len(stamps(t)) }

// kernels returns the kernels that were built.
func kernels(t *testing.T, tree *Tree) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(tree.Out)
	if err != nil || len(entries) == 0 {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "tree-") {
			names = append(names, e.Name())
		}
	}
	return names
}

// working returns the processes in a tree's folder of objects.
func working(t *testing.T, tree *Tree) (pids []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	if err != nil || len(links) == 0 {
		t.Fatal(err)
	}
	for _, l := range links {
		if dir, err := os.Readlink(l); err == nil && strings.HasPrefix(dir, tree.objects()) {
			pids = append(pids, filepath.Base(filepath.Dir(l)))
		}
	}
	return pids
}

func running(t *testing.T, tree *Tree) int { return len(working(t, tree)) }

// signalMake sends a signal to the job that headroom has started: the shell, make, and all its children.
func signalMake(t *testing.T, tree *Tree, signal syscall.Signal) {
	t.Helper()
	jobs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(jobs) == 0 {
		t.Fatal(err)
	}
	for _, j := range jobs {
		text, err := os.ReadFile(j)
		if err != nil || !bytes.HasPrefix(text, []byte("make\x00")) ||
			!bytes.Contains(text, []byte("O="+tree.objects())) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(j)))
		if err != nil {
			t.Fatal(err)
		}
		group, err := syscall.Getpgid(pid)
		if err != nil || group == syscall.Getpgrp() {
			t.Fatalf("make is in the test's own group, or gone: %v", err)
		}
		if err := syscall.Kill(-group, signal); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("there is no make to send a signal to")
}

// listing returns the files of a source tree, and when they were written.
func listing(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("find", dir, "-printf", "%p %s %T@ %y\n").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
