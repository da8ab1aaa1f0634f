package bootloader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// onceID names the one-time entry, wherever there is one.
const onceID = "headroom-once"

// Record is all that it takes to put a host back: what is about to be written to its disks, and how it was running
// before. It is the same from the first boot with other arguments to the one that ends them, but for what is written.
type Record struct {
	// Target as the user calls it, and the way in which it is booted: "grub", "systemd-boot", "kexec", "talos".
	Target string `json:"target"`
	Method string `json:"way"`
	// Cmdline and Release are those of the kernel that the host starts by itself (/proc/cmdline, uname -r).
	Cmdline string `json:"cmdline"`
	Release string `json:"release"`
	// Entry is the loader's own entry for that kernel, where it says so.
	Entry string `json:"entry,omitempty"`
	// Files that were not there before.
	Files []NewFile `json:"files,omitempty"`
	// Environment is the block of GRUB's in which next_entry, unset before, is set to headroom's entry.
	Environment string `json:"environment,omitempty"`
	// OneShot is the entry in the EFI variable LoaderEntryOneShot, which was not there before.
	OneShot string `json:"one_shot,omitempty"`
	// Kernel and Arguments are loaded into memory, to be started by kexec.
	Kernel    string `json:"kernel,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Config is the whole machine configuration of a Talos node, with its secrets, and Installer the image that it runs
	// from.
	Config    string `json:"config,omitempty"`
	Installer string `json:"installer,omitempty"`
	// Image is what the node installs: from then on it starts so, until Installer is installed again.
	Image string `json:"image,omitempty"`
}

// NewFile is a file that headroom makes; nothing is ever replaced.
type NewFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Undo takes from a host's disks what a record says was put there, whatever of it is there, in the opposite order:
// first the choice of the entry, then the entry. It goes on after an error and reports all of them.
//
// The host goes on running as it is. Running says whether it still has boot arguments or a kernel that are not its own;
// then starting it again ends that, by Host.Boot with the zero spec or by hand. A Talos node that was told to install
// something always needs that Boot: how it runs now does not say how it starts next.
func Undo(ctx context.Context, t host.Target, r Record) (running bool, err error) {
	m := machine{t}
	var errs []error
	if l, ok := t.(host.Leftovers); ok { // one that still writes, of a headroom that was killed
		errs = append(errs, l.ClearJob(ctx, onceID))
	}
	if n, ok := t.(*Talos); ok && r.Config != "" {
		errs = append(errs, n.apply(ctx, r.Config, ""))
	}
	if r.Environment != "" {
		errs = append(errs, m.unsetNextEntry(ctx, r.Environment))
	}
	if r.OneShot != "" {
		errs = append(errs, m.unsetOneShot(ctx, r.OneShot))
	}
	if r.Method == kexecName {
		errs = append(errs, m.unloadKernel(ctx))
	}
	for _, f := range r.Files {
		errs = append(errs, m.removeNew(ctx, f))
	}
	now, err := m.read(ctx, cmdlinePath, releasePath)
	if err != nil {
		return true, errors.Join(append(errs, err)...)
	}
	return r.Image != "" || !sameBoot(r, now[cmdlinePath], now[releasePath]), errors.Join(errs...)
}

// sameBoot says whether a machine runs as the record says that it starts by itself. What loaders add is left out:
// kexec adds nothing, and GRUB's name of a disk may change.
func sameBoot(r Record, text, release string) bool {
	was, err := parseCmdline(r.Cmdline)
	now, err2 := parseCmdline(text)
	return err == nil && err2 == nil && was.own().String() == now.own().String() && strings.TrimSpace(r.Release) ==
		strings.TrimSpace(release)
}

// removeNew deletes a file of a record. One that holds anything else than what was recorded, or a beginning of it, is
// somebody else's.
func (m machine) removeNew(ctx context.Context, f NewFile) error {
	files, err := m.ReadFiles(ctx, f.Path)
	if err != nil {
		return err
	}
	data, err := files[f.Path].Data, files[f.Path].Err
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !strings.HasPrefix(f.Text, string(data)) {
		return &lab.Error{Kind: lab.Refused, What: f.Path +
			" has been changed since headroom wrote it, and is left alone", Target: m.Name(),
			Hints: []string{"take out what is headroom's (" + onceID + ") by hand"}}
	}
	if err := m.run(ctx, "rm", "-f", "--", f.Path); err != nil {
		return err
	}
	return m.run(ctx, "sync")
}

// canWriteNew refuses the dd of BusyBox, which would replace a file.
func (m machine) canWriteNew(ctx context.Context) error {
	out, err := m.Run(ctx, "dd", "--help")
	if err == nil && strings.Contains(string(out.Stdout)+string(out.Stderr), "BusyBox") {
		err = errors.New("the dd of BusyBox can't refuse to replace a file; install coreutils")
	}
	return err
}

// writeNew makes a file of a record, on the disk before it returns. dd is what can refuse to replace a file and wait
// for the disk, and takes its text from standard input, so that no shell is needed.
func (m machine) writeNew(ctx context.Context, f NewFile) error {
	argv := []string{"dd", "of=" + f.Path, "conv=excl,fsync", "status=none"}
	if l, ok := m.Target.(host.Leftovers); ok {
		if err := l.ClearJob(ctx, onceID); err != nil { // of a headroom that crashed just here
			return err
		}
	}
	spec := host.JobSpec{ID: onceID, Argv: argv, Stdin: []byte(f.Text)}
	stop := func(after context.Context, job host.Job) error { return errors.Join(ctx.Err(), job.Kill(after, 0)) }
	state, printed, err := host.RunJob(ctx, m, spec, "stderr", stop)
	if err != nil {
		return err
	}
	if state.ExitCode != 0 {
		return &lab.Error{What: "can't write " + f.Path, Target: m.Name(), Command: argv, Output: string(printed)}
	}
	now, err := m.read(ctx, f.Path)
	if err == nil && now[f.Path] != f.Text {
		err = fmt.Errorf("%s holds something else than was written to it", f.Path)
	}
	if err != nil {
		return err
	}
	return m.run(ctx, "sync") // the name in its folder, too
}
