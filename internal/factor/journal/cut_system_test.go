//go:build system

package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/testing/sshtest"
)

// cutConnections ends the ssh clients that this process has started, as a network that is gone does.
func cutConnections(t *testing.T) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(links) == 0 {
		t.Fatal("no process is to be seen", err)
	}
	for _, name := range links {
		data, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		_, after, _ := strings.Cut(string(data), "(ssh) ")
		f := strings.Fields(after)
		if len(f) < 2 || f[1] != strconv.Itoa(os.Getpid()) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// The connection to the machine is cut before every second step, for the sake of time, while the process that changes
// settings lives on. It says that it could not put them back and keeps its journal; the next restore does it.
func TestConnectionCut(t *testing.T) {
	usualSysctls(t)
	server := sshtest.Start(t)
	options := server.Options("")
	options.Patience = 300 * time.Millisecond
	disk := loopDisk(t)
	watched := []string{"/proc/sys/vm/dirty_expire_centisecs", "/sys/block/" + disk + "/queue"}
	before := contents(t, watched...)
	dir := filepath.Join(t.TempDir(), "changes")
	kept := 0
	for n := 1; ; n += 2 {
		host := host.NewSSH(options)
		j, err := Create(dir, own("RUN1"), host)
		if err != nil {
			t.Fatal(err)
		}
		steps := 0
		j.AtStep(func(string) {
			if steps++; steps == n {
				server.Stop()
				cutConnections(t)
			}
		})
		w := scheme.Scope{Target: host, Place: on(t, "/dev/"+disk).Place}
		var failed error
		for _, c := range [][2]string{{"sysctl:vm.dirty_expire_centisecs", "2900"}, {"queue:read_ahead_kb", "64"}} {
			s, err := factor.Bind(t.Context(), w, c[0])
			if err == nil {
				err = j.Change(t.Context(), s, c[1])
			}
			failed = errors.Join(failed, err)
		}
		failed = errors.Join(failed, j.Undo(t.Context()))
		left := len(j.Open())
		reached := steps
		err = j.Close()
		// What is locked there stays so until restore reaches it: the journal is kept for that, too.
		if unlocking := steps > reached && steps >= n; err != nil && !unlocking {
			t.Errorf("step %d: %v", n, err)
		}
		if _, gone := os.Stat(j.record.path); err != nil && gone != nil {
			t.Errorf("step %d: locks stay, and the journal does not: %v, %v", n, err, gone)
		}
		_ = host.Close() // what it held is gone
		if steps < n {
			if failed != nil {
				t.Errorf("without a cut: %v", failed)
			}
			if n < 20 || kept < 5 {
				t.Errorf("only %d steps, %d cuts with a journal kept", steps, kept)
			}
			t.Logf("%d cuts, %d of them with a journal kept", n/2, kept)
			return
		}
		if left > 0 {
			kept++
			if !errors.Is(failed, errLost) {
				t.Errorf("step %d: changes are left and this is said: %v", n, failed)
			}
		}
		server.Restart(t)
		restoreOver(t, dir, options)
		if d := differ(before, contents(t, watched...)); d != "" {
			t.Fatalf("step %d: %s", n, d)
		}
	}
}

// restoreOver undoes what is pending on a host.
func restoreOver(t *testing.T, dir string, options host.SSHOptions) {
	t.Helper()
	pending, err := Pending(dir, anyFile)
	if err != nil {
		t.Fatal(err)
	}
	host := host.NewSSH(options)
	for _, p := range pending {
		j, err := Load(p.Path, host)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(j.Undo(t.Context()), j.Close()); err != nil {
			t.Error(err)
		}
	}
	if err := host.Close(); err != nil {
		t.Error(err)
	}
}
