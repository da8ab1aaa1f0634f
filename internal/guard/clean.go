package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
)

// Cleaned says in what state CleanUp left a device.
type Cleaned struct {
	// How it was done: "discarded", "zeroed" or "headers wiped".
	How string `json:"how"`
	// Blank says that the guard would take the device for empty again. After "headers wiped" it would not: the data of
	// the benchmark are still between the ends, so the next run must name the drive.
	Blank bool `json:"blank"`
}

const (
	// headerLength is wiped at each end. There lie all partition tables and their backups, the labels of LVM, md, ZFS
	// (two of 256 KiB at each end) and LUKS2 of the usual size.
	headerLength = 1 << 20
	// stepLength is discarded or zeroed by one system call. One for a whole drive could not be interrupted.
	stepLength = 16 << 30
	// wipeRounds bounds how often what still parses is looked for and wiped.
	wipeRounds = 8
)

// Discard tells the device that none of its blocks is in use. It goes through the file that was inspected, so it can't
// hit another device. An error that wraps unix.EOPNOTSUPP says that the device takes no discards.
func (c *Claim) Discard(ctx context.Context, v Verdict) error {
	if err := c.mayWrite(ctx, v); err != nil {
		return err
	}
	w, err := c.writer()
	if err != nil {
		return err
	}
	return errors.Join(c.rangewise(ctx, w, linux.BlkDiscard, "discard", extent{0, c.identity.Size}), w.Close())
}

// CleanUp leaves nothing on the device that could be taken for a file system, a partition table or a member of
// anything, and proves it: the data that a benchmark leaves can look like a partition table by chance (fio issue 1942).
//
// It discards the whole device when that is possible, which is also how a drive wants to be left. Not every drive reads
// zeros after that, so it looks. Where data remain it has the drive zero itself, if it can do so without being sent the
// zeros and has no platters, or if it is no larger than 1 GiB. Failing that it wipes the headers: the first and the
// last MiB, and whatever still has a signature.
//
// The verdict must be the one that allowed the run to write. After Ctrl-C, give it a context of its own: it does
// nothing under one that is cancelled.
func (c *Claim) CleanUp(ctx context.Context, t host.Target, v Verdict) (Cleaned, error) {
	if err := c.mayWrite(ctx, v); err != nil {
		return Cleaned{}, err
	}
	w, err := c.writer()
	if err != nil {
		return Cleaned{}, err
	}
	defer w.Close() // every write below is synchronous
	done := Cleaned{How: "headers wiped"}
	whole := extent{0, c.identity.Size}
	if c.identity.Discard {
		switch err := c.rangewise(ctx, w, linux.BlkDiscard, "discard", whole); {
		case err == nil:
			if done.Blank, err = c.inspectAgain(ctx, t); err != nil || done.Blank {
				done.How = "discarded"
				return done, err
			}
		case !errors.Is(err, unix.EOPNOTSUPP):
			return done, err
		}
	}
	if c.identity.ZeroWrites && !c.identity.Rotational || c.identity.Size <= wholeUpTo {
		if err := c.rangewise(ctx, w, linux.BlkZeroOut, "zero", whole); err != nil {
			return done, err
		}
		if done.Blank, err = c.inspectAgain(ctx, t); err != nil || done.Blank {
			done.How = "zeroed"
			return done, err
		}
	}
	return done, c.wipeHeaders(ctx, t, w)
}

// wipeHeaders zeroes both ends, and then what still parses until nothing does.
func (c *Claim) wipeHeaders(ctx context.Context, t host.Target, w *os.File) error {
	size := c.identity.Size
	ends := []extent{{0, min(headerLength, size)}, {max(0, size-headerLength), min(headerLength, size)}}
	for _, e := range ends {
		if err := c.rangewise(ctx, w, linux.BlkZeroOut, "zero", e); err != nil {
			return err
		}
	}
	var left []Signature
	for range wipeRounds {
		found, err := c.signaturesNow(ctx, t)
		if err != nil {
			return err
		}
		if left = found; len(left) == 0 {
			c.rereadPartitions()
			return nil
		}
		for _, s := range left {
			at := s.Offset / alignment * alignment
			if err := c.rangewise(ctx, w, linux.BlkZeroOut, "zero", extent{at, min(2*alignment, size-at)}); err != nil {
				return err
			}
		}
	}
	return &lab.Error{What: fmt.Sprintf("%s still holds %s after it was wiped", c.identity.Path, left[0])}
}

// inspectAgain inspects the device again, as for the next run.
func (c *Claim) inspectAgain(ctx context.Context, t host.Target) (bool, error) {
	signatures, err := c.signaturesNow(ctx, t)
	if err != nil || len(signatures) > 0 {
		return false, err
	}
	var e Evidence
	e.Identity = c.identity
	if err := c.readContent(ctx, &e); err != nil {
		return false, err
	}
	if len(e.ContentUnknown) > 0 {
		return false, fmt.Errorf("%s can't be read after it was cleaned: %s", c.identity.Path, e.ContentUnknown[0])
	}
	if e.Sample.Data {
		return false, nil
	}
	c.rereadPartitions()
	return true, nil
}

func (c *Claim) signaturesNow(ctx context.Context, t host.Target) ([]Signature, error) {
	found, err := wipefs(ctx, t, "it", descriptorPath(c.file))
	if err != nil {
		return nil, err
	}
	device, err := newDirectReader(c.file, bounceSize)
	if err != nil {
		return nil, err
	}
	defer device.release()
	marks, err := findSignatures(device, c.identity.Size)
	return append(found, marks...), err
}

// rereadPartitions has the kernel look for partitions again, in case it saw some in the data of the benchmark. Not
// every device can have partitions, and a plain user may not ask; then there is nothing to forget or nothing to be
// done.
func (c *Claim) rereadPartitions() {
	_ = unix.IoctlSetInt(int(c.file.Fd()), linux.BlkRRPart, 0)
}

// writer opens the held device for writing. Not exclusively: the claim is another open file, and would be in the way.
func (c *Claim) writer() (*os.File, error) {
	return os.OpenFile(descriptorPath(c.file), os.O_WRONLY, 0)
}

// rangewise does BLKDISCARD or BLKZEROOUT on a stretch, step by step. Both take the start and the length in bytes, as
// two numbers of 64 bits. Source: include/uapi/linux/fs.h, block/ioctl.c.
func (c *Claim) rangewise(ctx context.Context, w *os.File, request uintptr, doing string, e extent) error {
	for done := int64(0); done < e.length; {
		if err := ctx.Err(); err != nil {
			return err
		}
		step := min(stepLength, e.length-done)
		span := [2]uint64{uint64(e.at + done), uint64(step)}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, w.Fd(), request, uintptr(unsafe.Pointer(&span)))
		if errno == unix.EINTR {
			continue
		}
		if errno != 0 {
			return &lab.Error{What: fmt.Sprintf("can't %s %s at %#x", doing, c.identity.Path, e.at+done), Err: errno}
		}
		done += step
	}
	return nil
}
