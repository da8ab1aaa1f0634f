//go:build system

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/headroom/headroom/internal/store"
)

// An experiment that is killed while a setting is changed leaves it so; restore puts it back. Each step of the way is
// killed elsewhere (internal/factor, and TestKilledOverAndOver).
func TestAKilledAblationIsPutBack(t *testing.T) {
	t.Parallel()
	ownNetwork(t)
	v := newFixture(t)
	names := []string{"tcp_keepalive_time", "tcp_keepalive_intvl", "tcp_fin_timeout"}
	files := ""
	for _, name := range names {
		files += " " + netSetting(name)
	}
	state := func() string {
		var all string
		for _, name := range names {
			all += contentOf(t, netSetting(name))
		}
		return all
	}
	before := state()
	found, waits := filepath.Join(t.TempDir(), "found"), filepath.Join(t.TempDir(), "waits")
	if err := os.WriteFile(found, []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	// The load ends at once if no setting is changed. Otherwise it runs until it is killed.
	suite := v.suiteOf("version: 1\njobs:\n  - name: work\n    exec: [sh, -c, 'cat" + files + " | cmp -s - " + found +
		" || { touch " + waits + "; sleep 1000; }; echo took 1']\n" + printedTimes)
	for seed := range 3 {
		cmd := v.command("ablate", suite, "--setting", "sysctl:net.ipv4.tcp_keepalive_time=7000", "--setting",
			"sysctl:net.ipv4.tcp_keepalive_intvl=70",
			"--setting", "sysctl:net.ipv4.tcp_fin_timeout=50", "--seed", fmt.Sprint(seed+1))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "a load begins while a setting is changed", func() bool {
			_, err := os.Stat(waits)
			return err == nil
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		if state() == before {
			t.Error("nothing is changed, so that there is nothing to put back")
		}
		if err := os.Remove(waits); err != nil {
			t.Fatal(err)
		}
		if out, err := v.command("restore").CombinedOutput(); err != nil {
			t.Errorf("restore: %v\n%s", err, out)
		}
		if after := state(); after != before {
			t.Fatalf("before\n%s\nafter\n%s", before, after)
		}
		rows, err := store.Open(v.store).List()
		if err != nil || len(rows) == 0 {
			t.Fatalf("%d runs, %v", len(rows), err)
		}
		for _, r := range rows {
			if left := processesOf(t, r.ID); len(left) != 0 {
				t.Errorf("still running: %v", left)
			}
		}
	}
	v.checkNothingLeft("after all kills")
}

// A killed sweep leaves no files on its reference, whether the reference or the place was measured. Each block has
// three loads, and one of them measures the reference.
func TestAKilledSweepLeavesNothingOnItsReference(t *testing.T) {
	t.Parallel()
	reference := t.TempDir()
	text := "version: 1\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, ioengine: psync, size: 4m, " +
		"io_size: 100k}}\n"
	on := func(dir string) bool {
		files, err := os.ReadDir(dir)
		return err == nil && len(files) > 0
	}
	both := 0
	for n := 1; n <= 3; n++ {
		v := newFixture(t)
		if err := os.WriteFile(v.suite, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		loads := v.holdLoadsFrom(n)
		cmd := v.command("sweep", v.suite, v.place, "--factor", "job:iodepth=1,2", "--reference", reference, "--size",
			"4m")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		loads.await(n)
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		if on(reference) && on(v.place) {
			both++
		}
		if out, err := v.command("restore").CombinedOutput(); err != nil {
			t.Errorf("restore: %v\n%s", err, out)
		}
		if left, err := os.ReadDir(reference); err != nil || len(left) != 0 {
			t.Fatalf("left on the reference: %v, %v", left, err)
		}
		v.checkNothingLeft("after a kill")
	}
	if both == 0 {
		t.Error("never were there files in both places")
	}
}
