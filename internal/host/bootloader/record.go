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

// onceID is the name of the one-time entry in every boot loader.
const onceID = "headroom-once"

// Record has everything that is needed to restore a host: the changes to its disks, recorded before they are made, and
// how it was booted before. From the first boot with other arguments to the one that ends them, only the changes
// differ.
type Record struct {
	// Target as the user names it, and the boot method: "grub", "systemd-boot", "kexec", "talos".
	Target string `json:"target"`
	Method string `json:"way"`
	// Cmdline and Release are from the default kernel (/proc/cmdline, uname -r).
	Cmdline string `json:"cmdline"`
	Release string `json:"release"`
	// Entry is the loader's name for the entry of that kernel, if known.
	Entry string `json:"entry,omitempty"`
	// Files that did not exist before.
	Files []NewFile `json:"files,omitempty"`
	// Environment is GRUB's environment block in which next_entry, unset before, is set to headroom's entry.
	Environment string `json:"environment,omitempty"`
	// OneShot is the entry in the EFI variable LoaderEntryOneShot, which did not exist before.
	OneShot string `json:"one_shot,omitempty"`
	// Kernel and Arguments are loaded into memory, for kexec to start.
	Kernel    string `json:"kernel,omitempty"`
	Arguments string `json:"arguments,omitempty"`
	// Config is the whole machine configuration of a Talos node, with its secrets, and Installer the image that it was
	// installed from.
	Config    string `json:"config,omitempty"`
	Installer string `json:"installer,omitempty"`
	// Image is installed on the node: from then on the node boots it, until Installer is installed again.
	Image string `json:"image,omitempty"`
}

// NewFile is a file that headroom creates; no file is ever replaced.
type NewFile struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Undo removes from a host's disks those changes of a record that were made, in reverse order: first the choice of the
// entry, then the entry. It continues after an error and returns all errors.
//
// The host is not rebooted. Running reports whether it still runs with boot arguments or a kernel other than its
// default. Then a reboot ends that, by Host.Boot with the zero spec or by hand. A Talos node on which an image was
// installed always needs that Boot: how it runs now does not show how it will boot next.
func Undo(ctx context.Context, t host.Target, r Record) (running bool, err error) {
	m := machine{t}
	var errs []error
	if l, ok := t.(host.Leftovers); ok { // a job of a killed headroom may still be writing
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

// sameBoot reports whether a machine runs its default boot, according to the record. Arguments added by loaders are
// ignored: kexec adds none, and GRUB's name of a disk can change.
func sameBoot(r Record, text, release string) bool {
	was, err := parseCmdline(r.Cmdline)
	now, err2 := parseCmdline(text)
	return err == nil && err2 == nil && was.own().String() == now.own().String() && strings.TrimSpace(r.Release) ==
		strings.TrimSpace(release)
}

// removeNew deletes a file of a record. A file whose content is neither the recorded content nor a prefix of it belongs
// to another program.
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

// canWriteNew refuses the dd of BusyBox, which would replace an existing file.
func (m machine) canWriteNew(ctx context.Context) error {
	out, err := m.Run(ctx, "dd", "--help")
	if err == nil && strings.Contains(string(out.Stdout)+string(out.Stderr), "BusyBox") {
		err = errors.New("the dd of BusyBox can't refuse to replace a file; install coreutils")
	}
	return err
}

// writeNew writes a file of a record, and flushes it to disk before it returns. dd can refuse to replace a file and can
// flush, and reads from standard input, so that no shell is needed.
func (m machine) writeNew(ctx context.Context, f NewFile) error {
	argv := []string{"dd", "of=" + f.Path, "conv=excl,fsync", "status=none"}
	if l, ok := m.Target.(host.Leftovers); ok {
		if err := l.ClearJob(ctx, onceID); err != nil { // from a headroom that crashed at this point
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
	return m.run(ctx, "sync") // flushes the folder's entry, too
}
