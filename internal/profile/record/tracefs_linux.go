package record

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// tracefs is the kernel's file system for tracing.
type tracefs struct {
	*os.Root
	// mount holds a private mount; nil if the machine has mounted it.
	mount *os.File
}

// openTracefs opens the machine's tracefs or, if it has mounted none, a detached mount: only this process has it, and
// it ends with the process.
func openTracefs() (*tracefs, error) {
	const usual = "/sys/kernel/tracing"
	if t, err := tracefsAt(usual); err == nil {
		return t, nil
	}
	mount, err := detachedMount("tracefs")
	if errors.Is(err, unix.ENOSYS) { // before Linux 5.2
		return tracefsAt("/sys/kernel/debug/tracing")
	}
	if err != nil {
		return nil, fmt.Errorf("can't mount tracefs: %w", err)
	}
	root, err := os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", mount.Fd()))
	if err != nil {
		return nil, errors.Join(err, mount.Close())
	}
	return &tracefs{root, mount}, nil
}

func tracefsAt(folder string) (*tracefs, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	if _, err := root.Stat("instances"); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &tracefs{Root: root}, nil
}

// detachedMount mounts a kernel file system without a place in the directory tree.
func detachedMount(kind string) (*os.File, error) {
	context, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer unix.Close(context)
	if err := unix.FsconfigCreate(context); err != nil {
		return nil, err
	}
	mount, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV|
		unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(mount), kind), nil
}

func (t *tracefs) Close() error {
	err := t.Root.Close()
	if t.mount != nil {
		err = errors.Join(err, t.mount.Close())
	}
	return err
}

// rawFile is the buffer of a CPU. It is not an os.File, because that waits for the buffer with epoll: then the kernel
// sends itself interrupts as soon as there is data in it, and they would be counted.
type rawFile int

// openRaw opens a buffer in a folder of tracefs.
func openRaw(folder *os.File) (rawFile, error) {
	fd, err := unix.Openat(int(folder.Fd()), "trace_pipe_raw", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	return rawFile(fd), err
}

// read takes a page out of the buffer; 0 bytes if there is none.
func (f rawFile) read(page []byte) (int, error) {
	for {
		n, err := unix.Read(int(f), page)
		switch err {
		case unix.EINTR:
		case unix.EAGAIN:
			return 0, nil
		default:
			return max(n, 0), err
		}
	}
}

func (f rawFile) close() error { return unix.Close(int(f)) }

// readLockdown returns the kernel's lockdown mode; empty if unknown.
func readLockdown() string {
	const file = "lockdown"
	if text, err := os.ReadFile("/sys/kernel/security/" + file); err == nil {
		return lockdownLevel(string(text))
	}
	mount, err := detachedMount("securityfs")
	if err != nil {
		return ""
	}
	defer mount.Close()
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d/%s", mount.Fd(), file))
	if err != nil {
		return ""
	}
	return lockdownLevel(string(text))
}
