//go:build system

package cli

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/store"
)

// stopped starts an ablation, and calls stop when it has changed a setting; after its end nothing may be left that it
// has changed or made.
func stopped(t *testing.T, within []string, stop func(cmd *exec.Cmd)) {
	t.Helper()
	t.Parallel()
	ownNetwork(t)
	stoppedSysctl := netSetting("tcp_keepalive_time")
	before := contentOf(t, stoppedSysctl)
	v := newFixture(t)
	argv := slices.Concat(within, []string{"headroom", "ablate", v.suite, v.place, "--store", v.store,
		"--setting", "sysctl:net.ipv4.tcp_keepalive_time=7000", "--blocks", "200"}) // so that it does not end by itself
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does: a signal to the group is not for the test
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	printed := ""
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		printed += lines.Text() + "\n"
		if stop != nil && strings.HasPrefix(lines.Text(), "set sysctl:") {
			time.Sleep(150 * time.Millisecond) // in the midst of a load
			stop(cmd)
			stop = nil
		}
	}
	_ = cmd.Wait()
	if stop != nil && within == nil {
		t.Fatalf("it changed nothing:\n%s", printed)
	}
	if after := contentOf(t, stoppedSysctl); after != before {
		t.Errorf("%s was %q and is %q\n%s", stoppedSysctl, before, after, printed)
	}
	var out bytes.Buffer
	restore := v.command("restore")
	restore.Stdout, restore.Stderr = &out, &out
	if err := restore.Run(); err != nil || out.String() != "nothing was left behind\n" {
		t.Errorf("restore found %s%v, after\n%s", out.String(), err, printed)
	}
	if rows, err := store.Open(v.store).List(); err != nil || len(rows) > 1 ||
		len(rows) == 1 && rows[0].Status != lab.Interrupted {
		t.Errorf("%+v, %v", rows, err)
	}
}

// Two signals that come one right after the other are one wish: all is put back. They come to a process that stands
// still, so that nothing can come between them. How far apart they may be, a test with a clock of its own asks.
func TestTwoSignalsAreOneWish(t *testing.T) {
	stopped(t, nil, func(cmd *exec.Cmd) {
		for _, s := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCONT} {
			if err := cmd.Process.Signal(s); err != nil {
				t.Error(err)
			}
		}
	})
}

// Whatever signal would end the process, all is put back.
func TestEverySignalPutsAllBack(t *testing.T) {
	t.Parallel()
	for _, sig := range app.StopSignals() {
		t.Run(sig.String(), func(t *testing.T) {
			stopped(t, nil, func(cmd *exec.Cmd) {
				if err := cmd.Process.Signal(sig); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// No other signal that can be caught ends the process: the one that asks it to stop comes last. SIGTSTP, SIGTTIN and
// SIGTTOU stop it, and it goes on.
func TestNoOtherSignalEndsARun(t *testing.T) {
	stopped(t, nil, func(cmd *exec.Cmd) {
		// The C libraries keep those before it, and Go's runtime leaves them alone: after 34, as after SIGKILL, the
		// next command puts all back.
		const firstRealTime, lastRealTime = 35, 64
		for n := syscall.Signal(1); n <= lastRealTime; n++ {
			switch {
			case slices.Contains(app.StopSignals(), os.Signal(n)), n == syscall.SIGKILL, n == syscall.SIGSTOP,
				n > syscall.SIGSYS && n < firstRealTime:
				continue
			}
			if err := cmd.Process.Signal(n); err != nil {
				t.Errorf("%d: %v", n, err)
			}
			if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Errorf("%d has ended it: %v", n, err)
			}
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	})
}

// timeout(1) sends its signal to the process, and then to the process's group.
func TestTimeoutPutsAllBack(t *testing.T) {
	t.Parallel()
	for _, after := range []string{"1.5", "3"} {
		t.Run(after, func(t *testing.T) { stopped(t, []string{"timeout", after}, nil) })
	}
}

// A signal that comes clearly later cuts the clean-up short, which says so; restore does the rest.
func TestALaterSignalCutsTheCleanUpShort(t *testing.T) {
	t.Parallel()
	v := newFixture(t)
	// A process that does not end when asked holds the clean-up up. It says when it has stopped listening.
	deaf := filepath.Join(t.TempDir(), "deaf")
	suite := `version: 1
name: slow
place: directory
repetitions: 1
jobs:
  - name: holds
    exec: [sh, -c, "trap '' TERM; : > \"$0\"; while :; do sleep 0.2; done", ` + deaf + `]
    metrics: {rate: {match: 'rate ([0-9]+)', unit: 1/s, better: higher}}
`
	if err := os.WriteFile(v.suite, []byte(suite), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := v.command("run", v.suite, v.place)
	printed := filepath.Join(t.TempDir(), "stderr")
	stderr, err := os.Create(printed)
	if err != nil {
		t.Fatal(err)
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	await(t, "the command has begun", func() bool { _, err := os.Stat(deaf); return err == nil })
	_ = cmd.Process.Signal(syscall.SIGTERM)
	// The time counts from when the first has come, not from when it was sent. Meanwhile the clean-up stands still.
	await(t, "the first signal has come", func() bool {
		return strings.Contains(contentOf(t, printed), "press Ctrl-C again after")
	})
	_ = cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(app.RepeatedSignalWindow + 200*time.Millisecond)
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Process.Signal(syscall.SIGCONT)
	_ = cmd.Wait()
	rows, err := store.Open(v.store).List()
	if err != nil || len(rows) != 1 {
		t.Fatalf("%+v, %v", rows, err)
	}
	want := "the clean-up was cut short; what run " + rows[0].ID[:4] +
		" has changed or made may be left; to put it back: headroom restore"
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGTERM) ||
		!strings.Contains(contentOf(t, printed), want) {
		t.Errorf("exit code %d, it said\n%s", code, contentOf(t, printed))
	}
	v.verify("cut short", "")
}
