package experiment

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/headroom/headroom/internal/guard"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
)

// blankDevice is a device that was made for the target under test, and is removed with it. It holds no data of users,
// so it needs no inspection unless others have made it. It is checked again before each write, because a guest can give
// its disks other names at its next boot.
type blankDevice struct {
	target host.Target
	path   string
}

// notBlank is the refusal of a device that was made for the target and holds data all the same.
type notBlank struct{ err error }

func (e *notBlank) Error() string { return e.err.Error() }

func (e *notBlank) Unwrap() error { return e.err }

// look reads a device that others have made for the target, as the guard reads one of this machine: a class of
// storage can hand out a volume that was used before.
func (b *blankDevice) look(ctx context.Context, r reading, size int64) error {
	if d, ok := b.target.(host.Disposable); !ok || !d.Unseen() {
		return nil
	}
	f, err := b.target.FS().Open(b.path[1:])
	if err != nil {
		return err
	}
	defer f.Close()
	device, ok := f.(io.ReaderAt)
	if !ok {
		return &lab.Error{What: b.path + " can't be read at any place", Target: b.target.Name()}
	}
	seen, err := guard.ReadSample(ctx, device, size)
	if err == nil && !seen.Data && !seen.Whole {
		_, err = r.while(ctx, b.path, func(ctx context.Context, tell func(guard.Progress)) error {
			seen, err = b.readAll(ctx, device, size, tell)
			return err
		})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return &notBlank{&lab.Error{Kind: lab.Refused, What: "can't see whether " + b.path + " is empty",
			Target: b.target.Name(), Err: err}}
	}
	if seen.Data {
		return &notBlank{
			&lab.Error{Kind: lab.Refused, What: fmt.Sprintf("%s was made for this %s, and holds data at byte %d",
				b.path, r.app.Traits(b.target.Name()).Noun, seen.DataAt), Target: b.target.Name(),
				Hints: []string{"the provisioner hands out volumes that were used before, and does not wipe them: " +
					"find out whose data that is"}}}
	}
	return nil
}

// comparedAtOnce is how much of a device one command compares with zeros; more is said between two of them.
const comparedAtOnce = 1 << 30

// readAll has the target compare the device with zeros, so that its content does not travel; where the target has no
// cmp, it does.
func (b *blankDevice) readAll(ctx context.Context, device io.ReaderAt, size int64, tell func(guard.Progress)) (
	guard.Sample, error) {
	for at := int64(0); at < size; at += comparedAtOnce {
		length := min(comparedAtOnce, size-at)
		out, err := b.target.Run(ctx, "cmp", "-n", strconv.FormatInt(length, 10), b.path, "/dev/zero",
			strconv.FormatInt(at, 10), "0")
		if ctx.Err() != nil {
			return guard.Sample{}, ctx.Err()
		}
		if err != nil || out.ExitCode != 0 { // ReadAll returns which: data, an error, or no cmp
			return guard.ReadAll(ctx, device, at, size, tell)
		}
		tell(guard.Progress{Done: at + length, Read: at + length, Size: size})
	}
	return guard.Sample{Bytes: size, Places: 1, Whole: true}, nil
}

// writes reports whether a cell writes to a device.
func writes(c lab.Cell) bool {
	prepares := slices.ContainsFunc(c.Steps, func(s lab.Step) bool {
		return s == lab.Discard || s == lab.Fill || s == lab.Layout
	})
	return prepares || !fio.OnlyReads(c.Params)
}

func (b *blankDevice) mayWrite(ctx context.Context) error {
	if t, ok := b.target.(host.Disposable); ok {
		blank, err := t.MadeBlank(ctx, b.path)
		if blank || err != nil {
			return err
		}
	}
	return &lab.Error{Kind: lab.Refused, What: b.path + " was not made for this target", Target: b.target.Name()}
}

// MayWrite is asked before each step that writes.
func (b *blankDevice) MayWrite() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return b.mayWrite(ctx)
}

// Discard discards the whole device.
func (b *blankDevice) Discard(ctx context.Context) error {
	if err := b.mayWrite(ctx); err != nil {
		return err
	}
	argv := []string{"blkdiscard", b.path}
	out, err := b.target.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		return errors.Join(errors.ErrUnsupported, &lab.Error{What: "can't discard " + b.path, Target: b.target.Name(),
			Command: argv, Output: string(out.Stderr)})
	}
	return err
}
