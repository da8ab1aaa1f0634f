package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// guard is a process that removes an instance after its standard input has ended: when this process closes it, or was
// killed. It survives the killing of a job's processes by their folder, session or environment.
type guard struct {
	process *os.Process
	pipe    *os.File
}

// guardRoot is the descriptor of tracefs that a guard inherits.
const guardRoot = 3

func startGuard(t *tracefs, name string) (*guard, error) {
	root, err := t.Open(".")
	if err != nil {
		return nil, err
	}
	defer root.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	ended, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ended.Close()
	process, err := os.StartProcess("/proc/self/exe", []string{"headroom", "--config", "none", "profile", "record",
		"--guard", name}, &os.ProcAttr{Dir: "/", Env: []string{"GOMAXPROCS=1"},
		Files: []*os.File{ended, null, null, root}, Sys: &syscall.SysProcAttr{Setsid: true}})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("can't start the guard of the tracer: %w", err), pipe.Close())
	}
	return &guard{process, pipe}, nil
}

// end makes the guard remove the instance, and waits for it.
func (g *guard) end() error {
	err := g.pipe.Close()
	_, failed := g.process.Wait()
	return errors.Join(err, failed)
}

// Guard waits for the end of its input, then removes an instance of the tracer.
func Guard(recorder io.Reader, name string) error {
	if !instanceName().MatchString(name) {
		return fmt.Errorf("%q is no name of an instance of headroom", name)
	}
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT)
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", guardRoot))
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, recorder); err != nil {
		return err
	}
	return removeInstance(root, name)
}
