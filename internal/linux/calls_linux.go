// Package linux has the system calls that only Linux has. headroom measures machines that run Linux; if it runs on
// another system itself, it measures only other machines, and Linux calls on its own machine fail.
package linux

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Constants for open(2), ioctl(2) and statfs(2).
const (
	OpenPath   = unix.O_PATH
	Direct     = unix.O_DIRECT
	TmpFile    = unix.O_TMPFILE
	BlkDiscard = unix.BLKDISCARD
	BlkZeroOut = unix.BLKZEROOUT
	BlkRRPart  = unix.BLKRRPART
	Ext4       = unix.EXT4_SUPER_MAGIC
	XFS        = unix.XFS_SUPER_MAGIC
	Btrfs      = unix.BTRFS_SUPER_MAGIC
	Tmpfs      = unix.TMPFS_MAGIC
)

// RenameNew renames a file, unless the new name is taken.
func RenameNew(from, to string) error {
	return unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
}

// SyncFS makes everything written to the file system of an open file survive a power failure.
func SyncFS(descriptor uintptr) error { return unix.Syncfs(int(descriptor)) }

// MemoryFile opens a file without a name, in memory.
func MemoryFile(name string) (descriptor int, err error) {
	return unix.MemfdCreate(name, unix.MFD_CLOEXEC)
}

// LoopStatus returns the backing of a loop device. Source: loop(4), LOOP_GET_STATUS64.
func LoopStatus(descriptor uintptr) (LoopInfo, error) {
	info, err := unix.IoctlLoopGetStatus64(int(descriptor))
	if err != nil {
		return LoopInfo{}, err
	}
	return LoopInfo{info.Device, info.Inode, info.Rdevice, info.Offset}, nil
}

// DieWithParent makes the kernel kill a process when the thread that started it ends.
func DieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// SetDevice sets the number of a device in the result of stat(2).
func SetDevice(s *syscall.Stat_t, major, minor uint32) { s.Rdev = unix.Mkdev(major, minor) }

// Device returns the number of a device.
func Device(s *syscall.Stat_t) (major, minor uint32) { return unix.Major(s.Rdev), unix.Minor(s.Rdev) }

// Signals returns the signals that only Linux has, and that end a program.
func Signals() []os.Signal { return []os.Signal{syscall.SIGSTKFLT} }

// SharesFiles reports whether two threads share their table of file descriptors. Source: kcmp(2).
func SharesFiles(a, b int) (bool, error) {
	const kcmpFiles = 2
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpFiles, 0, 0, 0)
	if errno != 0 {
		return false, errno
	}
	return order == 0, nil
}
