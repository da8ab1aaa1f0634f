//go:build !linux

package linux

import (
	"errors"
	"os"
	"syscall"
)

// Nothing that takes or gives them gets as far as that.
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

// SyncFS flushes the open file alone.
func SyncFS(descriptor uintptr) error { return syscall.Fsync(int(descriptor)) }

// MemoryFile fails.
func MemoryFile(string) (descriptor int, err error) { return -1, errors.ErrUnsupported }

// LoopStatus fails.
func LoopStatus(uintptr) (LoopInfo, error) { return LoopInfo{}, errors.ErrUnsupported }

// DieWithParent does nothing.
func DieWithParent(*syscall.SysProcAttr) {}

// minorBits are those of the numbers of Linux' devices, which have 12 for the major one. They fit where they are kept
// here, in the field of a device of this system.
const minorBits = 20

// SetDevice puts the number of a device into what stat(2) gives.
func SetDevice(s *syscall.Stat_t, major, minor uint32) { s.Rdev = int32(major<<minorBits | minor) }

// Device is the number of a device.
func Device(s *syscall.Stat_t) (major, minor uint32) {
	return uint32(s.Rdev) >> minorBits, uint32(s.Rdev) & (1<<minorBits - 1)
}

// Signals are none.
func Signals() []os.Signal { return nil }

// SharesFiles can't be told here.
func SharesFiles(int, int) (bool, error) { return false, errors.ErrUnsupported }
