package qemu

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/linux"
)

// process is a QEMU process that runs, or has run.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// startProcess starts QEMU so that it ends with headroom, even if headroom is killed: the kernel kills it when the
// thread that started it ends. A thread of the Go runtime can end before headroom does, so the goroutine that starts
// QEMU is locked to its thread for as long as QEMU runs. Source: prctl(2), PR_SET_PDEATHSIG; go.dev/issue/27505.
//
// Its working directory is the guest's folder, by which a later headroom would find a leftover process. files become
// the file descriptors from 3 on.
func startProcess(argv []string, dir string, log *os.File, files []*os.File) (*process, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = files
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	linux.DieWithParent(cmd.SysProcAttr)
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the process state has all information of the error
			close(p.done)
		}
	}()
	return p, <-started
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop ends QEMU: SIGTERM, after which it writes back the cached data of its disks, and SIGKILL after the grace period.
func (p *process) stop(grace time.Duration) {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}
