package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// AnswerWithin is how long a file system or a device may take to answer. A disk that was asleep takes up to 25 s.
const AnswerWithin = 30 * time.Second

// FileSystemAnswers returns an error when the file system at a path doesn't answer within a limit: the server is gone,
// or the program that serves the files (FUSE) hangs. Whoever looks at such a path waits in the kernel, where not even
// SIGKILL may end it, so a command asks before headroom itself looks. A machine without such file systems isn't asked.
// A path that doesn't exist has answered.
func FileSystemAnswers(ctx context.Context, t host.Target, name string, within time.Duration) error {
	mounts := ReadMounts(Reader{FS: t.FS()})
	asks := func(m Mount) bool { return AsksOthers(m.Kind) && !Below(m.Point, "/proc") }
	if !slices.ContainsFunc(mounts, asks) {
		return nil
	}
	// statfs, as what the kernel remembers of a file would be answered even now.
	err := answers(ctx, t, name, within, "stat", "-f", "-c", "%S", "--", name)
	silent, ok := errors.AsType[*lab.Error](err)
	if !ok {
		return err
	}
	m, known := MountOf(mounts, name)
	if !known || !asks(m) { // a link leads there
		silent.Hints = []string{"find out whether the server, or the program that serves the files, is up"}
		return err
	}
	silent.What += fmt.Sprintf(": it is on %s, which is %s from %s", m.Point, m.Kind, m.Source)
	silent.Hints = []string{"find out whether what serves " + m.Point + " is up",
		"or give it up: " + lab.ShellQuote([]string{"umount", "--lazy", "--force", m.Point})}
	if connection, fuse := strings.CutPrefix(m.Device, "0:"); fuse && strings.HasPrefix(m.Kind, "fuse") {
		silent.Hints = append(silent.Hints, "programs that wait for it continue after: echo 1 > "+
			path.Join("/sys/fs/fuse/connections", connection, "abort"))
	}
	return err
}

// DeviceAnswers returns an error when a block device doesn't answer a read within a limit: it is suspended, all its
// paths are lost, or its server is gone. A read that fails is an answer.
func DeviceAnswers(ctx context.Context, t host.Target, device string, within time.Duration) error {
	err := answers(ctx, t, device, within, "dd", "if="+device, "of=/dev/null", "bs=4096", "count=1", "iflag=direct")
	if silent, ok := errors.AsType[*lab.Error](err); ok {
		silent.Hints = []string{"dmesg shows what the kernel is waiting for; lsblk and dmsetup info show the devices below"}
	}
	return err
}

// LoopDevicesAnswer returns an error when a loop device doesn't say within a limit which file it is laid over, because
// that file is on a file system that doesn't answer. Whoever looks for the devices under test asks all of them.
func LoopDevicesAnswer(ctx context.Context, t host.Target, within time.Duration) error {
	if used, err := fs.Glob(t.FS(), "sys/block/loop*/loop"); err != nil || len(used) == 0 {
		return ctx.Err()
	}
	err := answers(ctx, t, "a loop device", within, "losetup", "--list", "--noheadings", "--output", "NAME,BACK-INO")
	if silent, ok := errors.AsType[*lab.Error](err); ok {
		silent.Hints = []string{"cat /sys/block/loop*/loop/backing_file shows the files; find out what serves the one on " +
			"another machine or on FUSE"}
	}
	return err
}

// answers returns a *lab.Error when a command that looks at name has not ended within a limit, and the cause when ctx
// is done. How the command ends doesn't matter.
func answers(ctx context.Context, t host.Target, name string, within time.Duration, argv ...string) error {
	limited, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if _, err := t.Run(limited, argv...); err == nil || limited.Err() == nil {
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return &lab.Error{What: fmt.Sprintf("%s has not answered for %.0f s", name, within.Seconds()),
		Target: host.RemoteName(t), Command: argv}
}
