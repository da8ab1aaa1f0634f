package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/linux"
)

// holes describes the holes of the regular file under a loop device: nothing was ever written there, so they read as
// zeros and need no reading.
type holes struct {
	file *os.File
	name string
	// offset is where the device begins in the file.
	offset int64
	// allocated is how many bytes of the file are not holes, or slightly more.
	allocated int64
}

// reportsHoles reports whether SEEK_DATA of a file system is reliable: it never reports a hole where there are data
// that are not on the disk yet. Network file systems can't know about writes of other machines, FUSE returns what its
// program chooses, and ZFS reported holes where there were data (openzfs/zfs issue 15526). Numbers:
// include/uapi/linux/magic.h.
func reportsHoles(kind int64) bool {
	return slices.Contains([]int64{linux.Ext4, linux.XFS, linux.Btrfs, linux.Tmpfs}, kind)
}

// holesBelow returns the holes of the file under the device. It returns nil if there is no file, or if the file can't
// be opened or can't be verified to be the right one: then all of the device must be read. Dirty data of the device is
// first written to the file, because it would appear as a hole otherwise.
func (c *Claim) holesBelow(ctx context.Context) (*holes, error) {
	name := c.optional(classDir(c.identity.Name) + "/loop/backing_file")
	if name == "" || c.identity.Name != c.identity.Disk {
		return nil, nil // no loop device, or a partition of one
	}
	status, err := linux.LoopStatus(c.file.Fd())
	if err != nil || status.Rdevice != 0 {
		return nil, nil // backed by another device
	}
	file, err := openBacking(name, status)
	if err != nil {
		return nil, nil // in another mount namespace, deleted, replaced
	}
	if err := ctx.Err(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := unix.Fsync(int(c.file.Fd())); err != nil {
		return nil, errors.Join(fmt.Errorf("what was written to %s can't be flushed: %w", c.identity.Path, err),
			file.Close())
	}
	var info unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &info); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &holes{file: file, name: name, offset: int64(status.Offset), allocated: info.Blocks * 512}, nil
}

// openBacking opens the file that the kernel names for a loop device, if its file system and inode match. The path is
// from the process that set the device up: it may lead elsewhere here, so nothing is opened before it is verified.
func openBacking(name string, status linux.LoopInfo) (*os.File, error) {
	place, err := os.OpenFile(name, linux.OpenPath|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	defer place.Close()
	info, err := place.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || uint64(st.Dev) != status.Device || st.Ino != status.Inode {
		return nil, fmt.Errorf("%s is not what the device lies over", name)
	}
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(place.Fd()), &system); err != nil {
		return nil, err
	}
	if !reportsHoles(int64(system.Type)) {
		return nil, fmt.Errorf("the file system of %s is not known to tell its holes", name)
	}
	return os.Open(descriptorPath(place))
}

// next returns the first extent from a position on that is not a hole, in whole blocks; one of length 0 at the end.
func (h *holes) next(at, size int64) (extent, error) {
	if at >= size {
		return extent{size, 0}, nil
	}
	fault := func(err error) (extent, error) {
		return extent{}, fmt.Errorf("can't find the holes of %s: %w", h.name, err)
	}
	data, err := unix.Seek(int(h.file.Fd()), h.offset+at, unix.SEEK_DATA)
	if errors.Is(err, unix.ENXIO) {
		return h.beyond(at, size)
	}
	if err != nil {
		return fault(err)
	}
	hole, err := unix.Seek(int(h.file.Fd()), data, unix.SEEK_HOLE)
	if err != nil {
		return fault(err)
	}
	from := max(at, (data-h.offset)/alignment*alignment)
	end := (hole - h.offset + alignment - 1) / alignment * alignment
	return extent{min(from, size), min(max(end-from, shortestChunk), chunkSize, max(0, size-from))}, nil
}

// beyond returns an extent of the device after the end of a file that is too short. The device can't be read there, and
// reading shows that.
func (h *holes) beyond(at, size int64) (extent, error) {
	info, err := h.file.Stat()
	if err != nil {
		return extent{}, err
	}
	from := min(size, max(at, (info.Size()-h.offset)/alignment*alignment))
	return extent{from, min(chunkSize, size-from)}, nil
}
