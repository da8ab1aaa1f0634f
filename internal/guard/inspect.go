package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/linux"
)

// localEnvironment is this machine. Jobs is the folder that holds the folders of its jobs.
func localEnvironment(t host.Target, jobs string) environment {
	return environment{
		files: t.FS(),
		stat: func(name string) (object, bool) {
			info, err := os.Stat(name)
			if err != nil {
				return object{}, false
			}
			return objectOf(info)
		},
		sharesFiles: linux.SharesFiles,
		loopTarget:  loopTarget,
		self:        os.Getpid(),
		jobs:        jobs,
	}
}

// loopTarget queries the kernel for the backing of a loop device; the path in /sys can belong to another mount
// namespace, or to a file that was deleted. Source: loop(4), LOOP_GET_STATUS64.
func loopTarget(node string) (backing, error) {
	f, err := os.Open(node)
	if err != nil {
		return backing{}, err
	}
	defer f.Close()
	info, err := linux.LoopStatus(f.Fd())
	if err != nil {
		return backing{}, err
	}
	if info.Rdevice != 0 {
		return backing{device: Number{unix.Major(info.Rdevice), unix.Minor(info.Rdevice)}}, nil
	}
	return backing{isFile: true, file: fileID{device: info.Device, inode: info.Inode}}, nil
}

// Inspect determines how a path is used, which signatures are on it and what a sample of its content holds, and claims
// the device for this run. It writes nothing. It reads for two seconds, or as long as it takes to read a device of up
// to 1 GiB whole. That is enough to refuse most devices with data; ReadAll proves that one is empty.
//
// The claim is nil if the path is no block device or can't be opened; the evidence states why, and Judge refuses it.
// The claim must be closed when the run has ended. An error means that the inspection itself was interrupted or could
// not begin.
func Inspect(ctx context.Context, t host.Target, path string) (Evidence, *Claim, error) {
	e := Evidence{Path: path}
	jobs, err := requireLocal(t)
	if err != nil {
		return e, nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		e.NotADevice = cause(err)
		return e, nil, nil // a path that can't be examined is evidence
	}
	if _, ok := numberOf(info); !ok {
		e.NotADevice = kindOf(info)
		return e, nil, nil
	}
	if err := collect.LoopDevicesAnswer(ctx, t, collect.AnswerWithin); err != nil {
		return e, nil, err
	}
	if err := collect.DeviceAnswers(ctx, t, path, collect.AnswerWithin); err != nil {
		return e, nil, err
	}
	claim, busy, err := openClaim(localEnvironment(t, jobs), path)
	if err != nil {
		e.NotADevice = "a block device that can't be opened: " + cause(err)
		return e, nil, nil // like above
	}
	e.Busy = busy
	if err := claim.inspect(ctx, t, &e); err != nil {
		if ctx.Err() == nil {
			err = &lab.Error{Kind: lab.Refused, What: path + " can't be inspected", Err: err}
		}
		return e, nil, errors.Join(err, claim.Close())
	}
	return e, claim, nil
}

// cause removes the path and the system call from an error, because the sentence around it names them.
func cause(err error) string {
	if errors.Is(err, fs.ErrNotExist) {
		return "not there"
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

func kindOf(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return "a regular file"
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeCharDevice != 0:
		return "a character device"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "no block device"
}

// inspect gathers the evidence on the claimed device.
func (c *Claim) inspect(ctx context.Context, t host.Target, e *Evidence) error {
	info, err := c.file.Stat()
	if err != nil {
		return err
	}
	number, ok := numberOf(info)
	if !ok {
		return fmt.Errorf("%s became %s while it was opened", e.Path, kindOf(info))
	}
	kernel, err := c.named(number)
	if err != nil {
		return fmt.Errorf("the kernel does not describe device %s: %w", number, err)
	}
	d, err := c.device(kernel)
	if err != nil {
		return fmt.Errorf("the kernel does not describe device %s: %w", number, err)
	}
	c.identity = c.identify(e.Path, d)
	e.Identity = c.identity
	e.Checks = append(e.Checks, Exclusive)
	family := c.familyOf(d)
	family.describeUse(e)
	e.Uses = append(e.Uses, c.claimOthers(family)...)
	if d.size == 0 {
		return nil // no medium, or a loop device without a file
	}
	if err := c.readSignatures(ctx, t, family, e); err != nil {
		return err
	}
	return c.readContent(ctx, e)
}

// describeUse fills in how the device is used. It reads only /proc and /sys.
func (f *family) describeUse(e *Evidence) {
	ro, err := f.text(classDir(e.Identity.Name) + "/ro")
	if err != nil {
		f.fault("can't tell whether it is read-only", err)
	}
	e.ReadOnly = ro != "0"
	for _, m := range f.members {
		switch m.relation {
		case partition:
			e.Partitions = append(e.Partitions, m.name)
		case underneath:
			e.BuiltOn = append(e.BuiltOn, m.words)
		}
	}
	e.Uses = slices.Concat(f.mounted(), f.swapping(), f.held(), f.pooled(), f.exported(), f.layered(),
		f.written())
	e.ProgramsHidden = f.programsHidden()
	e.UseUnknown, e.ProgramsUnread, e.FilesUnseen = f.faults, f.programsUnread, f.filesUnseen
	e.Checks = append(e.Checks, Mounts, Swap, Layers, OtherPaths, Writers)
}

// readSignatures runs libblkid on the device and its partitions, and searches for headroom's own list of signatures.
func (c *Claim) readSignatures(ctx context.Context, t host.Target, f *family, e *Evidence) error {
	for _, m := range f.members {
		node := m.node
		switch m.relation {
		case itself:
			node = descriptorPath(c.file) // the claimed device, whatever its name leads to
		case partition:
		default:
			continue
		}
		found, err := wipefs(ctx, t, m.words, node)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			e.ContentUnknown = append(e.ContentUnknown,
				fmt.Sprintf("the signatures of %s can't be read: %v", m.name, err))
		}
		e.Signatures = append(e.Signatures, found...)
	}
	device, err := newDirectReader(c.file, bounceSize)
	if err != nil {
		return err
	}
	defer device.release()
	marks, err := findSignatures(device, e.Identity.Size)
	if err != nil {
		e.ContentUnknown = append(e.ContentUnknown, err.Error())
	}
	for _, m := range marks {
		if !known(e.Signatures, m) {
			e.Signatures = append(e.Signatures, m)
		}
	}
	e.Checks = append(e.Checks, Signatures, EndSignatures)
	return nil
}

// known reports whether libblkid found the same signature. It can report another offset, as the magic of a format may
// be anywhere within it.
func known(found []Signature, m Signature) bool {
	return slices.ContainsFunc(found, func(s Signature) bool {
		near := s.Offset/4096 == m.Offset/4096
		return s.Who == m.Who && (s.What == m.What || near)
	})
}

// readContent reads the device whole if that is quick, and samples it otherwise.
func (c *Claim) readContent(ctx context.Context, e *Evidence) error {
	r, err := c.toRead(ctx)
	if err != nil {
		return err
	}
	defer r.release()
	if r.isSmall() {
		err = c.readAll(ctx, r, e, func(Progress) {})
	} else {
		err = c.sample(ctx, e)
	}
	e.Checks = append(e.Checks, ContentRead)
	return err
}

// sample reads the places where data are most likely.
func (c *Claim) sample(ctx context.Context, e *Evidence) error {
	device, err := newDirectReader(c.file, bounceSize)
	if err != nil {
		return err
	}
	defer device.release()
	e.Sample, err = sample(ctx, device, e.Identity.Size, c.erasedReadsOnes(),
		rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		e.ContentUnknown = append(e.ContentUnknown, err.Error())
	}
	return nil
}

// Evidence is everything that was found out about a path. It can be saved and judged again.
type Evidence struct {
	Path string `json:"path"` // as the user gave it
	// NotADevice describes the path if it is no block device: "a directory", "not there". All other fields are then
	// unset.
	NotADevice string   `json:"not_a_device,omitempty"`
	Identity   Identity `json:"identity,omitzero"`
	ReadOnly   bool     `json:"read_only,omitempty"`
	// Busy is why the device can't be opened exclusively; blank if it is held.
	Busy string `json:"busy,omitempty"`
	// Uses of the device and of related devices: mounts, swap, holders, programs.
	Uses []Use `json:"uses,omitempty"`
	// BuiltOn names the devices under a stacked device (LVM, md, dm-crypt, multipath).
	BuiltOn []string `json:"built_on,omitempty"`
	// Partitions that the kernel knows on the device.
	Partitions []string    `json:"partitions,omitempty"`
	Signatures []Signature `json:"signatures,omitempty"`
	Sample     Sample      `json:"sample,omitzero"`
	// ProgramsHidden is set if only the programs of this container are visible: another program of the machine may have
	// the device open. (Uses by the kernel still show in Busy.)
	ProgramsHidden bool `json:"programs_hidden,omitempty"`
	// ProgramsUnread is how many programs have open files that can't be examined, because they are other users'.
	// FilesUnseen is how many open files were not examined, because they are on network file systems, which might not
	// answer.
	ProgramsUnread int `json:"programs_unread,omitempty"`
	FilesUnseen    int `json:"files_unseen,omitempty"`
	// UseUnknown are questions about the use of the device that could not be answered, ContentUnknown about its
	// content.
	UseUnknown     []string `json:"use_unknown,omitempty"`
	ContentUnknown []string `json:"content_unknown,omitempty"`
	// Checks that were completed. Judge never finds a device empty unless all of Checks() are here.
	Checks []Check `json:"checks,omitempty"`
}

// Check is one kind of inspection.
type Check string

// The checks.
const (
	Exclusive     Check = "exclusive use"
	Mounts        Check = "mounts in all namespaces"
	Swap          Check = "swap"
	Layers        Check = "layers above and below"
	OtherPaths    Check = "other paths to the drive"
	Writers       Check = "programs that write to it"
	Signatures    Check = "signatures that libblkid knows"
	EndSignatures Check = "signatures at both ends"
	ContentRead   Check = "its content"
)

// Checks are all checks, in the order in which they are made.
func Checks() []Check {
	return []Check{Exclusive, Mounts, Swap, Layers, OtherPaths, Writers, Signatures, EndSignatures, ContentRead}
}
