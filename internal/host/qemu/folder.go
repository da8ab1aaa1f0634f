package qemu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
	"github.com/headroom/headroom/internal/safepath"
)

// The files of a guest's folder.
const (
	consoleFile   = "console"
	logFile       = "qemu"
	lockFile      = "lock"
	sshConfigFile = "ssh_config"
	knownFile     = "known_hosts"
	guestPrefix   = "guest-"
)

// newFolder creates the folder of a guest below base, and removes the folders left there by a killed headroom. A
// guest's folder is locked while its headroom lives.
func newFolder(base string) (dir string, lock *os.File, err error) {
	if err := host.PrivateFolder(base); err != nil {
		return "", nil, err
	}
	// One headroom at a time, so that a folder that is not locked yet is not mistaken for a leftover.
	all, err := locked(filepath.Join(base, "guests.lock"), true)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = safepath.Unlock(all) }()
	if err := removeLeftovers(base); err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(base, guestPrefix); err != nil {
		return "", nil, err
	}
	lock, err = locked(filepath.Join(dir, lockFile), true)
	return dir, lock, err
}

func removeLeftovers(base string) error {
	entries, err := os.ReadDir(base)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || len(e.Name()) <= len(guestPrefix) || e.Name()[:len(guestPrefix)] != guestPrefix {
			continue
		}
		dir := filepath.Join(base, e.Name())
		lock, err := locked(filepath.Join(dir, lockFile), false)
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, fs.ErrNotExist) {
			continue // in use, or removed meanwhile
		}
		if err != nil {
			return err
		}
		if err := errors.Join(host.RemoveFolder(dir), safepath.Unlock(lock)); err != nil {
			return err
		}
	}
	return nil
}

// locked opens and locks a file; the lock ends with the process. Child processes do not inherit it.
func locked(file string, wait bool) (*os.File, error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	return f, nil
}

// newKeys creates the guest's host key and the key for headroom's login, and returns them as an archive to append to
// the file system. The host key is created here because this machine has enough entropy, and so that it is known before
// the first connection.
func newKeys(ctx context.Context, dir string) ([]byte, error) {
	a := NewArchive()
	for _, key := range []string{"host_key", "user_key"} {
		argv := []string{"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "headroom", "-f", filepath.Join(dir, key)}
		if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
			return nil, &lab.Error{What: "can't make a key", Command: argv, Output: string(out), Err: err,
				Hints: []string{"apt install openssh-client"}}
		}
	}
	private, err := os.ReadFile(filepath.Join(dir, "host_key"))
	if err != nil {
		return nil, err
	}
	public, err := os.ReadFile(filepath.Join(dir, "host_key.pub"))
	if err != nil {
		return nil, err
	}
	user, err := os.ReadFile(filepath.Join(dir, "user_key.pub"))
	if err != nil {
		return nil, err
	}
	a.File("etc/ssh/host_key", 0o600, private)
	a.File("etc/ssh/authorized_keys", 0o600, user)
	return a.Bytes(), os.WriteFile(filepath.Join(dir, knownFile), []byte(hostAlias+" "+string(public)), 0o600)
}

// hostAlias is the guest's name in the ssh configuration, whatever its port.
const hostAlias = "guest"

// writeSSHConfig writes the ssh configuration of a guest into a file, so that a guest that starts at another port is
// still the same target. The user's own configuration is not read: nothing in it applies to a guest.
func (g *Guest) writeSSHConfig() error {
	user, key, check := "root", filepath.Join(g.dir, "user_key"), "yes"
	if g.file.Image != "" {
		user, key, check = g.file.User, g.file.Key, "accept-new"
	}
	text := fmt.Sprintf("Host %s\n\tHostName 127.0.0.1\n\tPort %d\n\tUser %s\n\tHostKeyAlias %s\n"+
		"\tUserKnownHostsFile %s\n\tGlobalKnownHostsFile /dev/null\n\tStrictHostKeyChecking %s\n\tUpdateHostKeys no\n"+
		"\tIdentityAgent none\n\tIdentitiesOnly yes\n\tLogLevel ERROR\n\tBatchMode yes\n",
		hostAlias, g.port, user, hostAlias, quoteSSH(filepath.Join(g.dir, knownFile)), check)
	if key != "" {
		text += "\tIdentityFile " + quoteSSH(key) + "\n"
	}
	return os.WriteFile(filepath.Join(g.dir, sshConfigFile), []byte(text), 0o600)
}

// quoteSSH quotes a path for ssh_config(5), where a percent sign begins a token.
func quoteSSH(path string) string {
	quoted := `"`
	for _, c := range path {
		switch c {
		case '%':
			quoted += "%%"
		case '"', '\\':
			quoted += `\` + string(c)
		default:
			quoted += string(c)
		}
	}
	return quoted + `"`
}

// blankDisks creates an image for each disk that needs one, in a folder or in memory. The images have no name in any
// folder, so that they vanish however headroom ends; QEMU inherits them as open file descriptors.
func blankDisks(disks []Disk, folder string) (files []*os.File, paths []string, err error) {
	for _, d := range disks {
		var f *os.File
		switch d.Backing {
		case onFile:
			paths = append(paths, d.File)
			continue
		case onNull:
			paths = append(paths, "")
			continue
		case onMemory:
			var fd int
			if fd, err = linux.MemoryFile("headroom-" + d.Name); err == nil {
				f = os.NewFile(uintptr(fd), d.Name)
			}
		default:
			f, err = os.OpenFile(folder, os.O_RDWR|linux.TmpFile, 0o600)
		}
		if err == nil {
			files = append(files, f)
			err = f.Truncate(d.Size)
		}
		if err != nil {
			closeAll(files)
			return nil, nil, fmt.Errorf("an image for disk %s: %w", d.Name, err)
		}
		paths = append(paths, fmt.Sprintf("/proc/self/fd/%d", 2+len(files)))
	}
	return files, paths, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// freePort returns a port that was free a moment ago. If it is taken before the guest starts, the caller tries another.
func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func isDevice(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&fs.ModeDevice != 0
}
