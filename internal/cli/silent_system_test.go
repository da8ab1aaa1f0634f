//go:build system

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/config"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/runner/workspace"
	"github.com/headroom/headroom/internal/testing/sshtest"
	"github.com/headroom/headroom/internal/testing/targettest"
)

// TestPlacesThatDoNotAnswer names what does not answer, and ends, where whoever looks waits in the kernel and can't be
// ended by any signal: FUSE whose program hangs stands for a server that is gone as well.
func TestPlacesThatDoNotAnswer(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it takes root to mount")
	}
	allBut := func(answered ...uint32) func(uint32) bool {
		return func(request uint32) bool { return !slices.Contains(answered, request) }
	}
	all := allBut()
	onlyReads := func(request uint32) bool { return request == targettest.FUSERead }
	device := func(string) []string { return []string{"/dev/loop", "has not answered for 30 s", "dmesg"} }
	files := func(point string) []string {
		return []string{"has not answered for 30 s", "it is on " + point + ", which is fuse.silent",
			"umount --lazy --force " + point, "/abort"}
	}
	for name, c := range map[string]struct {
		silent  func(uint32) bool
		command func(t *testing.T, v fixture, point string) *exec.Cmd
		says    func(point string) []string
	}{
		"the place": {all, func(_ *testing.T, v fixture, point string) *exec.Cmd {
			return v.command("run", v.suite, point)
		}, files},
		"the place, of which names are remembered": {
			allBut(targettest.FUSELookup, targettest.FUSEGetattr, targettest.FUSEAccess),
			func(_ *testing.T, v fixture, point string) *exec.Cmd { return v.command("run", v.suite, point) },
			files,
		},
		"a dry run": {all, func(_ *testing.T, v fixture, point string) *exec.Cmd {
			return v.command("ladder", point+"/below", "--dry-run")
		}, files},
		"a link to the place": {all, func(t *testing.T, v fixture, point string) *exec.Cmd {
			link := filepath.Join(v.place, "link")
			if err := os.Symlink(point, link); err != nil {
				t.Fatal(err)
			}
			return v.command("run", v.suite, link)
		}, func(string) []string {
			return []string{"link has not answered for 30 s", "the program that serves the files"}
		}},
		"the store": {all, func(_ *testing.T, v fixture, point string) *exec.Cmd {
			v.store = point + "/store"
			return v.command("list")
		}, files},
		"the place on another machine": {all, func(t *testing.T, v fixture, point string) *exec.Cmd {
			ssh := config.Variable(config.SSHConfig) + "=" + sshtest.Start(t).Config
			return with(v.command("run", v.suite, point, "--on", "ssh://under-test"), ssh)
		}, files},
		"a device that is written to": {onlyReads, func(t *testing.T, v fixture, point string) *exec.Cmd {
			return v.command("run", "nvme", loopOver(t, point+"/image"))
		}, device},
		"a device that is read": {onlyReads, func(t *testing.T, v fixture, point string) *exec.Cmd {
			return v.command("ladder", loopOver(t, point+"/image"))
		}, device},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newFixture(t)
			point := targettest.SilentMount(t, nil, c.silent)
			cmd := c.command(t, v, point)
			var said bytes.Buffer
			cmd.Stdout, cmd.Stderr = &said, &said
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if err := endedWithout(t, cmd, point); err == nil {
				t.Error("it ended without an error")
			}
			out := strings.Join(strings.Fields(said.String()), " ")
			for _, part := range c.says(point) {
				if !strings.Contains(out, part) {
					t.Errorf("it says nothing of %q:\n%s", part, out)
				}
			}
		})
	}
}

// endedWithout waits until a command has ended without an answer of what is mounted on point.
func endedWithout(t *testing.T, cmd *exec.Cmd, point string) error {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(10 * time.Minute):
		t.Error("it waits where it can't be ended")
		if err := unix.Unmount(point, unix.MNT_FORCE|unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
		return <-ended
	}
}

// TestPlaceThatDoesNotAnswerIsLeftBySignal sends a signal while the place is waited for.
func TestPlaceThatDoesNotAnswerIsLeftBySignal(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it takes root to mount")
	}
	t.Parallel()
	v := newFixture(t)
	asked := make(chan uint32, 1)
	point := targettest.SilentMount(t, asked, func(uint32) bool { return true })
	cmd := v.command("run", v.suite, point)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := endedWithout(t, cmd, point); err == nil || strings.Contains(said.String(), "has not answered") ||
		!strings.Contains(said.String(), "terminated") {
		t.Errorf("%v\n%s", err, &said)
	}
}

// TestScratchFileThatDoesNotAnswerIsLeft removes a scratch file whose file system has stopped answering.
func TestScratchFileThatDoesNotAnswerIsLeft(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("it takes root to mount")
	}
	t.Parallel()
	point := targettest.SilentMount(t, nil, func(uint32) bool { return true })
	// This process must not look itself: it could not be ended, and what it serves would stay.
	there := host.NewSSH(sshtest.Start(t).Options(""))
	defer func() { _ = there.Close() }()
	removed, err := workspace.RemoveScratch(t.Context(), there, workspace.ScratchFile(point, "RUN1"))
	e, ok := errors.AsType[*lab.Error](err)
	if removed || !ok || !strings.Contains(e.What, "has not answered for 30 s") ||
		!strings.Contains(strings.Join(e.Hints, ""), "headroom restore removes it") {
		t.Errorf("%v, %v", removed, err)
	}
}
