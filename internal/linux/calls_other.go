//go:build !linux

package linux

import (
	"errors"
	"os"
	"syscall"
)

// No call that uses these is reached on other systems.
const (
	OpenPath   = 0
	Direct     = 0
	TmpFile    = 0
	BlkDiscard = 0
	BlkZeroOut = 0
	BlkRRPart  = 0
	Ext4       = -1
	XFS        = -1
	Btrfs      = -1
	Tmpfs      = -1
)

// RenameNew renames a file, unless the new name is taken.
func RenameNew(from, to string) error {
	if err := syscall.Link(from, to); err != nil {
		return err
	}
	return syscall.Unlink(from)
}

// SyncFS flushes only the open file.
func SyncFS(descriptor uintptr) error { return syscall.Fsync(int(descriptor)) }

// MemoryFile fails.
func MemoryFile(string) (descriptor int, err error) { return -1, errors.ErrUnsupported }

// LoopStatus fails.
func LoopStatus(uintptr) (LoopInfo, error) { return LoopInfo{}, errors.ErrUnsupported }

// DieWithParent does nothing.
func DieWithParent(*syscall.SysProcAttr) {}

// minorBits is the number of bits of the minor number of Linux devices; the major number has 12. Both fit into the
// field of a device on this system.
const minorBits = 20

// SetDevice sets the number of a device in the result of stat(2).
func SetDevice(s *syscall.Stat_t, major, minor uint32) { s.Rdev = int32(major<<minorBits | minor) }

// Device returns the number of a device.
func Device(s *syscall.Stat_t) (major, minor uint32) {
	return uint32(s.Rdev) >> minorBits, uint32(s.Rdev) & (1<<minorBits - 1)
}

// Signals returns nothing.
func Signals() []os.Signal { return nil }

// SharesFiles fails.
func SharesFiles(int, int) (bool, error) { return false, errors.ErrUnsupported }
