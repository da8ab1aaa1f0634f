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

// Cleaned describes the state in which CleanUp left a device.
type Cleaned struct {
	// How it was cleaned: "discarded", "zeroed" or "headers wiped".
	How string `json:"how"`
	// Blank is set if the guard would again judge the device to be empty. After "headers wiped" it would not: the data
	// of the benchmark are still between the ends, so the next run must name the drive.
	Blank bool `json:"blank"`
}

const (
	// headerLength is wiped at each end. It contains all partition tables and their backups, the labels of LVM, md, ZFS
	// (two of 256 KiB at each end) and LUKS2 of the usual size.
	headerLength = 1 << 20
	// stepLength is discarded or zeroed by one system call. A single call for a whole drive could not be interrupted.
	stepLength = 16 << 30
	// wipeRounds limits how often remaining signatures are searched for and wiped.
	wipeRounds = 8
)

// Discard tells the device that none of its blocks is in use. It uses the file that was inspected, so it can't affect
// another device. An error that wraps unix.EOPNOTSUPP means that the device does not support discards.
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

// CleanUp leaves nothing on the device that could be mistaken for a file system, a partition table or a member of an
// array or pool, and verifies that: the data that a benchmark leaves can look like a partition table by chance (fio
// issue 1942).
//
// It discards the whole device if possible, which is also the best state for an SSD. Not every drive reads zeros after
// that, so CleanUp checks. If data remain, it zeroes the device, if the device can write zeros without being sent them
// and does not rotate, or if it is no larger than 1 GiB. Otherwise it wipes the headers: the first and the last MiB,
// and every remaining signature.
//
// The verdict must be the one that allowed the run to write. After Ctrl-C, pass a new context: with a cancelled one it
// does nothing.
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

// wipeHeaders zeroes both ends, and then all remaining signatures until none is found.
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

// inspectAgain inspects the device like the next run would.
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

// rereadPartitions makes the kernel search for partitions again, in case it found some in the data of the benchmark.
// Not every device can have partitions, and an unprivileged user must not ask; then there are none to remove or it
// can't be done.
func (c *Claim) rereadPartitions() {
	_ = unix.IoctlSetInt(int(c.file.Fd()), linux.BlkRRPart, 0)
}

// writer opens the claimed device for writing. It does not open it exclusively, because the claim is another open file
// and would conflict.
func (c *Claim) writer() (*os.File, error) {
	return os.OpenFile(descriptorPath(c.file), os.O_WRONLY, 0)
}

// rangewise runs BLKDISCARD or BLKZEROOUT on an extent, step by step. Both take the start and the length in bytes, as
// two 64-bit numbers. Source: include/uapi/linux/fs.h, block/ioctl.c.
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
