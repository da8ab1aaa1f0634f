//go:build system

package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

const (
	talosSecret  = "secret.of-the-cluster"
	talosOwn     = "talos.platform=metal console=tty0 init_on_alloc=1"
	talosMachine = "version: v1alpha1\nmachine:\n    token: " + talosSecret +
		"\n    install:\n        image: ghcr.io/siderolabs/installer:v1.9.0\n"
)

// talosNodeStandIn puts a stand-in for talosctl on the path, with a node behind it, by the environment that it returns.
// No real Talos has been seen.
func talosNodeStandIn(t *testing.T) (dir string, env []string) {
	t.Helper()
	scripts, err := filepath.Abs("../host/bootloader/testdata/stand-in")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, text := range map[string]string{"config": talosMachine, "patch": "", "client": "v1.10.3\n",
		"server": "v1.10.3\n", "uki": "false\n", "boot_id": "1\n",
		"own": talosOwn + "\n", "cmdline": talosOwn + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"PATH=" + scripts + ":" + os.Getenv("PATH"), "TALOS_STAND_IN=" + dir}
}

// ownTalos proves that the node is as it was, and that nothing is kept.
func (v fixture) ownTalos(dir, when string) {
	v.t.Helper()
	for name, want := range map[string]string{"cmdline": talosOwn + "\n", "patch": "", "config": talosMachine} {
		if got := string(read(v.t, filepath.Join(dir, name))); got != want {
			v.t.Errorf("%s: the node's %s is %q, want %q", when, name, got, want)
		}
	}
	if left, err := filepath.Glob(filepath.Join(v.store, "changes", "*")); err != nil || len(left) != 0 {
		v.t.Errorf("%s: kept: %v, %v", when, left, err)
	}
	if with := v.holding(talosSecret); len(with) != 0 {
		v.t.Errorf("%s: secrets in %v", when, with)
	}
}

// holding lists the files of the store that hold a text.
func (v fixture) holding(text string) (names []string) {
	v.t.Helper()
	err := filepath.WalkDir(v.store, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && bytes.Contains(read(v.t, p), []byte(text)) {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		v.t.Fatal(err)
	}
	return names
}

// talosFixture returns an ablation of a node that has a name of its own: the boots of one node are locked.
func talosFixture(t *testing.T) (v fixture, node, dir string, args []string) {
	t.Helper()
	node = fmt.Sprintf("talos://node-%x", rand.Uint64())
	v = newFixture(t)
	dir, v.env = talosNodeStandIn(t)
	text := "version: 1\njobs:\n  - {name: idle, fio: {rw: randread, bs: 4k, ioengine: \"null\", size: 1g, runtime: " +
		"100ms, time_based: 1}}\n"
	if err := os.WriteFile(v.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return v, node, dir, []string{"ablate", v.suite, "--boot-on", node, "--setting", "cmdline:mitigations=off",
		"--setting", "cmdline:init_on_alloc=absent",
		"--alone", "--blocks", "1", "--seed", "1"}
}

func TestAnAblationBootsATalosNode(t *testing.T) {
	t.Parallel()
	v, node, dir, args := talosFixture(t)
	out, err := v.command(args...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--reboot "+node) {
		t.Fatalf("not allowed: %v\n%s", err, out)
	}
	out, err = v.command("ablate", v.suite, "--on", node, "--reboot", node, "--setting",
		"cmdline:mitigations=off").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--boot-on "+node) {
		t.Fatalf("loads on the node: %v\n%s", err, out)
	}
	args = append(args, "--reboot", node)
	if out, err = v.command(append(args, "--dry-run")...).CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "boot "+node+" with its own arguments") {
		t.Fatalf("dry run: %v\n%s", err, out)
	}
	if log := string(read(t, filepath.Join(dir, "log"))); strings.Contains(log, "upgrade") ||
		strings.Contains(log, "apply-config") || strings.Contains(log, "reboot") {
		t.Errorf("the node was changed before anything was to be:\n%s", log)
	}
	if out, err = v.command(args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var did []string
	for r, err := range v.onlyRun().Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		did = append(did, r.Did[0])
	}
	slices.Sort(did)
	if want := []string{"boot", "boot", "boot with arguments mitigations=off",
		"boot without init_on_alloc"}; !slices.Equal(did, want) {
		t.Errorf("did %q\n%s", did, out)
	}
	if e := v.onlyRun().Run.Experiment; e.BootOn != node || v.onlyRun().Run.Status != lab.Complete {
		t.Errorf("%+v, %s", e, v.onlyRun().Run.Status)
	}
	v.ownTalos(dir, "at the end")
	if strings.Contains(string(out), talosSecret) {
		t.Error("a secret was printed")
	}
}

// A node is put back whatever moment its experiment was killed at: restore knows from the record what the node was told
// to install.
func TestAKilledAblationOfATalosNodeIsPutBack(t *testing.T) {
	t.Parallel()
	v, node, dir, args := talosFixture(t)
	args = append(args, "--reboot", node)
	changed, kept := 0, 0
	for step := 1; ; step += 6 {
		out, err := with(v.command(args...), exitBefore+"="+strconv.Itoa(step)).CombinedOutput()
		if err == nil {
			break // it has no such step
		}
		if !strings.Contains(string(out), "died before") {
			t.Fatalf("step %d: %v\n%s", step, err, out)
		}
		if string(read(t, filepath.Join(dir, "cmdline"))) != talosOwn+"\n" {
			changed++
		}
		records := v.holding(talosSecret)
		kept += len(records)
		for _, name := range records {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 ||
				filepath.Base(filepath.Dir(name)) != "changes" {
				t.Errorf("step %d: secrets in %s: %v, %v", step, name, info, err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, "down"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := v.command("restore").CombinedOutput(); len(records) > 0 &&
			(err == nil || !strings.Contains(string(out), "when it can be reached: headroom restore")) {
			t.Errorf("step %d: restore without the node: %v\n%s", step, err, out)
		}
		if err := os.Remove(filepath.Join(dir, "down")); err != nil {
			t.Fatal(err)
		}
		if out, err := v.command("restore", "--reboot", node).CombinedOutput(); err != nil {
			t.Fatalf("step %d: restore: %v\n%s", step, err, out)
		}
		v.ownTalos(dir, "step "+strconv.Itoa(step))
		if t.Failed() {
			t.Fatalf("after step %d it had said\n%s", step, out)
		}
	}
	t.Logf("killed at every sixth step; %d times with other arguments, %d times with a record", changed, kept)
	if changed == 0 || kept == 0 {
		t.Error("no kill came while the node was changed")
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
