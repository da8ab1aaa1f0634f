package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/lab"
)

// Claim holds a device open from before its inspection until Close, so that the device in use is the one that was
// inspected: while it is open, the kernel does not reuse its number.
//
// If the device was free, the claim is exclusive: no file system can be mounted from it, no RAID, LVM or device-mapper
// layer built on it, no swap turned on, and mkfs refuses it. Programs that open the device without O_EXCL, like fio,
// can still read and write. blkdiscard also opens the device exclusively: it needs --force meanwhile. (Measured with
// Linux 6.18, fio 3.33 and util-linux 2.38.) The claim also holds the lock that makes udev and systemd ignore a device,
// so that they do not search for partitions in the data of a benchmark.
type Claim struct {
	environment
	file      *os.File
	others    []*os.File // the same storage under other names, also held
	identity  Identity
	exclusive bool
}

// openClaim opens a block device. The string explains why it could not be opened exclusively.
func openClaim(s environment, path string) (*Claim, string, error) {
	busy := ""
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_EXCL, 0)
	if errors.Is(err, unix.EBUSY) {
		busy = "the kernel says it is in use: mounted, swap, or part of another device"
		file, err = os.OpenFile(path, os.O_RDONLY, 0)
	}
	if err != nil {
		return nil, busy, err
	}
	c := &Claim{environment: s, file: file, exclusive: busy == ""}
	if c.exclusive && !c.lock() {
		c.exclusive, busy = false, "another program holds its lock (flock)"
	}
	return c, busy, nil
}

// lock takes the lock described in systemd's BLOCK_DEVICE_LOCKING. udev briefly takes it too when it examines a device
// that just appeared, so lock retries for a second.
func (c *Claim) lock() bool {
	for range 20 {
		if unix.Flock(int(c.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			return true
		}
		time.Sleep(50 * time.Millisecond)
	}
	return false
}

// Identity of the claimed device.
func (c *Claim) Identity() Identity { return c.identity }

// Exclusive reports whether no other program can claim the device meanwhile.
func (c *Claim) Exclusive() bool { return c.exclusive }

// Close releases the device. A nil claim can be closed.
func (c *Claim) Close() error {
	if c == nil {
		return nil
	}
	err := c.file.Close()
	for _, f := range c.others {
		err = errors.Join(err, f.Close())
	}
	return err
}

// claimOthers claims the same storage under its other names. To the kernel these are different devices, so a claim on
// one does not protect the others. A device under a kernel layer (LVM, md) is claimed by that layer already; a loop
// device claims nothing.
func (c *Claim) claimOthers(f *family) []Use {
	var uses []Use
	for _, m := range f.members {
		overLoop := m.relation == underneath && f.loops[c.identity.Disk] != (backing{})
		if m.relation != samePathDevice && !overLoop {
			continue
		}
		file, err := os.OpenFile(m.node, os.O_RDONLY|unix.O_EXCL, 0)
		if err != nil {
			uses = append(uses, Use{m.words, "can't be opened exclusively: " + cause(err)})
			continue
		}
		c.others = append(c.others, file)
	}
	return uses
}

// StillTheSame checks that the path still leads to the inspected device, and that the device has the same medium. Call
// it before each step that writes, because fio and others open the path again. Errors are of kind Refused.
func (c *Claim) StillTheSame() error {
	changed := func(what string, err error) error {
		return &lab.Error{Kind: lab.Refused, Err: err,
			What:  fmt.Sprintf("%s is no longer the device that was inspected: %s", c.identity.Path, what),
			Hints: []string{"start again, so that what is there now is inspected"}}
	}
	for _, path := range []string{c.identity.Path, c.identity.Device} {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) && path != c.identity.Path {
			continue // a container may have the device only under another name
		}
		if err != nil {
			return changed("its path leads nowhere", err)
		}
		if n, ok := numberOf(info); !ok || n != c.identity.Number {
			return changed(path+" leads elsewhere now", nil)
		}
	}
	kernel, err := c.named(c.identity.Number)
	if err != nil {
		return changed("the kernel does not know it any more", err)
	}
	d, err := c.device(kernel)
	if err != nil {
		return changed("the kernel does not describe it any more", err)
	}
	now := c.identify(c.identity.Path, d)
	if now != c.identity {
		return changed(difference(c.identity, now), nil)
	}
	size, err := c.file.Seek(0, io.SeekEnd)
	if err != nil {
		return changed("it does not answer", err)
	}
	if size != c.identity.Size {
		return changed(fmt.Sprintf("its size was %d bytes and is %d", c.identity.Size, size), nil)
	}
	return nil
}

// StillFree returns an error of kind Refused if the device is not StillTheSame, or if another program has begun to use
// it. Call it before each step that destroys: a program can open a device without a claim at any time. headroom's own
// jobs are ignored, since no second headroom can write to a claimed device.
func (c *Claim) StillFree() error {
	if err := c.StillTheSame(); err != nil {
		return err
	}
	var now Evidence
	if err := c.checkUseAgain(&now, true); err != nil {
		return err
	}
	var why []string
	for _, u := range now.Uses {
		why = append(why, u.Who+" "+u.How)
	}
	if why = append(why, now.UseUnknown...); len(why) == 0 {
		return nil
	}
	return &lab.Error{Kind: lab.Refused,
		What: fmt.Sprintf("%s is left as it is: it was free when it was inspected, and now %s", c.identity.Path,
			shorten(why)),
		Hints: []string{"what was measured until now is saved; data of a load may be left on the device"}}
}

// difference names the first property that changed.
func difference(was, is Identity) string {
	pairs := []struct{ what, was, is string }{
		{"kernel name", was.Name, is.Name},
		{"serial number", was.Serial, is.Serial},
		{"worldwide name", was.WWID, is.WWID},
		{"model", was.Model, is.Model},
		{"size", strconv.FormatInt(was.Size, 10), strconv.FormatInt(is.Size, 10)},
		{"medium (diskseq)", strconv.FormatUint(was.Sequence, 10), strconv.FormatUint(is.Sequence, 10)},
	}
	for _, p := range pairs {
		if p.was != p.is {
			return fmt.Sprintf("its %s was %q and is %q", p.what, p.was, p.is)
		}
	}
	return "its properties in /sys changed"
}

// mayWrite checks that writing is allowed. Every function of this package that writes calls it.
func (c *Claim) mayWrite(ctx context.Context, v Verdict) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !v.MayWrite || v.Identity != c.identity || !c.exclusive {
		return &lab.Error{Kind: lab.Refused, What: c.identity.Path + " was not judged to be free to write to"}
	}
	return c.StillFree()
}
