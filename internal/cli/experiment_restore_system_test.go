//go:build system

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// An experiment that is killed while a setting is changed leaves it so; restore puts it back. Each step of the way is
// killed elsewhere (internal/factor, and TestKilledOverAndOver).
func TestAKilledAblationIsPutBack(t *testing.T) {
	t.Parallel()
	ownNetwork(t)
	v := newFixture(t)
	suite := v.suiteOf(nullLoad)
	names := []string{"tcp_keepalive_time", "tcp_keepalive_intvl", "tcp_fin_timeout"}
	state := func() string {
		var all string
		for _, name := range names {
			all += name + "=" + contentOf(t, netSetting(name))
		}
		return all
	}
	before, changed := state(), 0
	for changed < 3 {
		cmd := v.command("ablate", suite, "--setting", "sysctl:net.ipv4.tcp_keepalive_time=7000", "--setting",
			"sysctl:net.ipv4.tcp_keepalive_intvl=70",
			"--setting", "sysctl:net.ipv4.tcp_fin_timeout=50", "--seed", fmt.Sprint(changed))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "a setting is changed", func() bool { return state() != before })
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		if state() != before {
			changed++
		}
		if out, err := v.command("restore").CombinedOutput(); err != nil {
			t.Errorf("restore: %v\n%s", err, out)
		}
		if after := state(); after != before {
			t.Fatalf("before\n%s\nafter\n%s", before, after)
		}
	}
	v.checkNothingLeft("after all kills")
}

// A sweep that is killed leaves nothing on its reference, whichever of the two was measured.
func TestAKilledSweepLeavesNothingOnItsReference(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	reference := t.TempDir()
	text := "version: 1\njobs:\n  - {name: read, fio: {rw: randread, bs: 4k, ioengine: psync, size: 4m, runtime: " +
		"200ms, time_based: 1}}\n"
	if err := os.WriteFile(v.suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	on := func(dir string) bool {
		files, err := os.ReadDir(dir)
		return err == nil && len(files) > 0
	}
	for found := 0; found < 3; {
		cmd := v.command("sweep", v.suite, v.place, "--factor", "job:iodepth=1,2", "--reference", reference, "--size",
			"4m")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		await(t, "the reference has a file", func() bool { return on(reference) })
		if found == 1 {
			await(t, "the place has one, too", func() bool { return on(v.place) })
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // it was killed
		if on(reference) {
			found++
		}
		if out, err := v.command("restore").CombinedOutput(); err != nil {
			t.Errorf("restore: %v\n%s", err, out)
		}
		if left, err := os.ReadDir(reference); err != nil || len(left) != 0 {
			t.Fatalf("left on the reference: %v, %v", left, err)
		}
		v.checkNothingLeft("after a kill")
	}
}

// A budget ends an experiment before the next block; the first is always finished.
func TestAnExperimentEndsOnItsBudget(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	suite := filepath.Join(filepath.Dir(v.suite), "idle.yaml")
	text := "version: 1\njobs:\n  - {name: idle, fio: {rw: randread, bs: 4k, ioengine: \"null\", size: 1g, runtime: " +
		"200ms, time_based: 1}}\n"
	if err := os.WriteFile(suite, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := v.command("sweep", suite, "--factor", "job:iodepth=1,2", "--blocks", "5", "--budget",
		"1ms").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	blocks := map[int]int{}
	for r, err := range v.onlyRun().Repetitions() {
		if err != nil {
			t.Fatal(err)
		}
		blocks[r.Block]++
	}
	if len(blocks) != 1 || blocks[1] != 2 {
		t.Errorf("repetitions by block: %v", blocks)
	}
}
