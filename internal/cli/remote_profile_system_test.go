//go:build system

package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tracers are what recorders of a run have made in the kernel.
func tracers(t *testing.T, run string) string {
	t.Helper()
	script := `mount -t tracefs tracefs "$1" && ls "$1/instances"`
	out, err := exec.Command("unshare", "-m", "sh", "-c", script, "sh", t.TempDir()).CombinedOutput()
	if err != nil {
		t.Logf("tracers can't be seen: %v, %s", err, out)
		return ""
	}
	var left []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, run) {
			left = append(left, line)
		}
	}
	return strings.Join(left, "")
}

// recorders are the processes of a run's jobs that record.
func recorders(t *testing.T, run string) (found []string) {
	t.Helper()
	for _, link := range processesOf(t, run) {
		line, err := os.ReadFile(filepath.Join(filepath.Dir(link), "cmdline"))
		if err == nil && strings.Contains(string(line), "profile\x00record") {
			found = append(found, string(line))
		}
	}
	return found
}

// headroom copies itself to the machine that records, and is gone from there at the end.
func TestLoadsElsewhereAreProfiled(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("tracing needs root")
	}
	t.Parallel()
	v, _ := newRemoteFixture(t)
	out, err := v.command("run", v.suite, v.place, "--on", "ssh://under-test", "--repeat", "1",
		"--profile=1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	n := 0
	for l, err := range v.onlyRun().Profiles() {
		if err != nil || l.Failed != "" || l.Kernel == "" || len(l.Values) == 0 {
			t.Errorf("profiled was %+v, %v", l, err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("%d loads were profiled:\n%s", n, out)
	}
	v.clean()
}

// Killed while a recorder is there: after one restore nothing of it is left, on disk or in the kernel.
func TestAProfiledRunElsewhereIsKilledAndRestored(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("tracing needs root")
	}
	t.Parallel()
	for i, part := range []string{"time", "calls"} {
		v, server := newRemoteFixture(t)
		loads := holdCalls(t, server.Programs, "fio", loadsOfFio, 2+i)
		cmd := v.measuring("profiling .*, "+part, "--profile=1")
		id := v.onlyRun().Run.ID
		await(t, "a recorder and its load", func() bool {
			return loads.waiting(id) > 0 && len(recorders(t, id)) > 0
		})
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if out, err := v.command("restore").CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		v.clean()
		if left := tracers(t, id); left != "" {
			t.Errorf("tracers are left: %s", left)
		}
	}
}
