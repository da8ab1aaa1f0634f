// Package bootloader reboots real machines once with other boot arguments, by a one-time entry of GRUB or systemd-boot,
// or by kexec. A host that does not come back boots with its default arguments at the next power cycle. Changes to its
// disks are recorded beforehand and undone afterwards.
package bootloader

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Options configure how a host is booted.
type Options struct {
	// Method is one of Methods; empty for the safest one that is possible.
	Method string
	// Limit is how long a boot can take; ten minutes if zero.
	Limit time.Duration
	// Pause between two checks for whether the machine is back; two seconds if zero.
	Pause time.Duration
	// Before is called before each boot with other arguments, with the record of the changes to the host; it returns
	// when the record is safely stored. After is called when the host has returned to its default boot, and the record
	// is no longer needed.
	Before, After func(Record) error
	// Waiting is called from time to time while the machine boots, with the time that is left of the limit; it may be
	// nil.
	Waiting func(left time.Duration)
	// Resume is the record of an interrupted experiment that is being resumed.
	Resume *Record
}

// keep passes a record to Before.
func (o Options) keep(r Record) error {
	if o.Before == nil {
		return nil
	}
	return o.Before(r)
}

func (o Options) complete() Options {
	if o.Limit == 0 {
		o.Limit = 10 * time.Minute
	}
	if o.Pause == 0 {
		o.Pause = 2 * time.Second
	}
	return o
}

// Host is a target that can be booted with other arguments. For all other operations it is the target.
type Host struct {
	host.Target
	options     Options
	defaultBoot Record
	loader      loader
	// leftover is the record of the last boot with other arguments, which may have left files on the host; nil before
	// the first.
	leftover *Record
}

// Find determines how a target can be booted, and changes nothing. It returns the target as a Booter, and the name of
// the method.
func Find(ctx context.Context, t host.Target, o Options) (host.Booter, string, error) {
	if n, ok := t.(*Talos); ok {
		n, err := NewTalos(ctx, n.node, o)
		if err != nil {
			return nil, "", err
		}
		return n, "talosctl", nil
	}
	h, err := New(ctx, t, o)
	if err != nil {
		return nil, "", err
	}
	return h, h.Method(), nil
}

// New determines how a target can be booted, and changes nothing. It refuses this machine, on which headroom would not
// survive, and a machine without a safe method.
func New(ctx context.Context, t host.Target, o Options) (*Host, error) {
	o = o.complete()
	m := machine{t}
	now, err := m.read(ctx, host.BootIDFile, cmdlinePath, releasePath)
	if err != nil {
		return nil, err
	}
	// The boot ID is unique to a kernel, so this also recognises ssh://localhost and containers.
	if here, err := os.ReadFile(host.BootIDFile); err != nil ||
		strings.TrimSpace(string(here)) == strings.TrimSpace(now[host.BootIDFile]) {
		return nil, &lab.Error{Kind: lab.Refused,
			What: "headroom runs on this machine itself, so it can't restart it", Target: t.Name(), Err: err,
			Hints: []string{"run it on another machine, with --on ssh://root@HOST"}}
	}
	if id, err := m.output(ctx, "id", "-u"); err != nil || id != "0" {
		return nil, &lab.Error{Kind: lab.Refused, What: "only root can choose an entry for the next boot",
			Target: t.Name(), Err: err,
			Hints: []string{"log in as root: ssh://root@HOST"}}
	}
	h := &Host{Target: t, options: o}
	if o.Resume != nil {
		h.defaultBoot, h.leftover = *o.Resume, o.Resume
		if _, err := Undo(ctx, t, h.defaultBoot); err != nil {
			return nil, err
		}
		h.defaultBoot = h.defaultBoot.bare()
	} else {
		h.defaultBoot = Record{Target: t.Name(), Cmdline: strings.TrimSpace(now[cmdlinePath]),
			Release: strings.TrimSpace(now[releasePath])}
		if h.defaultBoot.Entry, err = m.efiVariable(ctx, "LoaderEntrySelected"); err != nil {
			return nil, err
		}
	}
	asked := o.Method
	if asked == "" {
		asked = h.defaultBoot.Method
	}
	h.defaultBoot.Method, h.loader, err = choose(ctx, m, h.defaultBoot, asked)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// bare returns the record of a host without any changes by headroom.
func (r Record) bare() Record {
	return Record{Target: r.Target, Method: r.Method, Cmdline: r.Cmdline, Release: r.Release, Entry: r.Entry}
}

// Method is how the host is booted, one of Methods.
func (h *Host) Method() string { return h.defaultBoot.Method }

// Boot reboots the host as specified, and returns when it can run commands. The zero spec boots the default, and
// verifies that.
func (h *Host) Boot(ctx context.Context, spec host.BootSpec) error {
	m := machine{h.Target}
	if len(spec.Machine) > 0 {
		return &lab.Error{Kind: lab.Usage, What: "a real machine has no settings of a virtual one", Target: h.Name()}
	}
	if isEmpty(spec) {
		return h.bootDefault(ctx, m)
	}
	own, err := parseCmdline(h.defaultBoot.Cmdline)
	if err != nil {
		return &lab.Error{Kind: lab.Refused, What: "the host's own boot arguments can't be handed on", Target: h.Name(),
			Err: err}
	}
	wanted, err := own.own().with(spec)
	if err != nil {
		return err
	}
	record, err := h.loader.plan(ctx, m, h.defaultBoot, wanted, spec.Kernel)
	if err != nil {
		return err
	}
	if err := h.options.keep(record); err != nil {
		return err
	}
	h.leftover = &record
	if err := h.start(ctx, m, record); err != nil {
		return err
	}
	now, err := m.read(ctx, cmdlinePath, releasePath)
	if err != nil {
		return err
	}
	version := h.defaultBoot.Release
	if spec.Kernel != "" {
		version = versionOf(spec.Kernel)
	}
	return checkBooted(h.Name(), spec, version, now[cmdlinePath], strings.TrimSpace(now[releasePath]))
}

// start writes the record's files, reboots, and removes the files when the host is back.
func (h *Host) start(ctx context.Context, m machine, record Record) error {
	prepare := func() error {
		for _, f := range record.Files {
			if err := m.writeNew(ctx, f); err != nil {
				return err
			}
		}
		return h.loader.arm(ctx, m, record)
	}
	err := prepare()
	if err == nil {
		err = h.restart(ctx, m, h.loader.boot(m))
	}
	// This runs even if ctx was cancelled: the files are removed if the host can be reached at all.
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if errors.Is(err, errGone) {
		return err // the host can't be reached; the record has what is needed to undo the changes
	}
	if err == nil && record.Environment != "" {
		next, unread := m.nextEntry(clean, record.Environment)
		if err = unread; next == onceID {
			err = &lab.Error{Kind: lab.Refused, What: "GRUB did not delete the choice of the entry, so that a host " +
				"that hangs would start it again", Target: h.Name(),
				Hints: []string{"it is deleted now; choose another way than grub, one of " +
					strings.Join(Methods(), ", ")}}
		}
	}
	_, undone := Undo(clean, h.Target, record)
	return errors.Join(err, undone)
}

// restart runs a command on the host that reboots it. If the command has not returned after a minute, the connection
// may just be lost.
func (h *Host) restart(ctx context.Context, m machine, argv []string) error {
	return h.options.restart(ctx, m, argv, func(ctx context.Context) (host.Output, error) {
		asking, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		return m.Run(asking, argv...)
	})
}

// bootDefault reboots the host without any changes by headroom. After a failed boot the host may still be shutting down
// or booting, and files for that boot may still exist.
func (h *Host) bootDefault(ctx context.Context, m machine) error {
	if err := h.options.reachable(ctx, m); err != nil {
		return err
	}
	if h.leftover != nil {
		if _, err := Undo(ctx, h.Target, *h.leftover); err != nil {
			return err
		}
	}
	if err := h.restart(ctx, m, reboot(m)); err != nil {
		return err
	}
	now, err := m.read(ctx, cmdlinePath, releasePath)
	if err != nil {
		return err
	}
	err = h.options.ended(h.defaultBoot, now[cmdlinePath], now[releasePath])
	if err == nil {
		h.leftover = nil
	}
	return err
}

// ended verifies that a machine runs its default boot, and then calls After.
func (o Options) ended(natural Record, cmdline, release string) error {
	if !sameBoot(natural, cmdline, release) {
		return &lab.Error{What: "the host started by itself, but not as before", Target: natural.Target,
			Hints: []string{
				"before: Linux " + natural.Release + ": " + natural.Cmdline,
				"now:    Linux " + strings.TrimSpace(release) + ": " + strings.TrimSpace(cmdline),
				"another kernel may have been installed since its last start; begin again from here"}}
	}
	if o.After != nil {
		return o.After(natural)
	}
	return nil
}

// checkBooted verifies that a host was booted with the arguments of the spec, and with this kernel version unless the
// version is empty.
func checkBooted(name string, spec host.BootSpec, version, text, release string) error {
	now, err := parseCmdline(text)
	if err != nil {
		return &lab.Error{What: "the host came back with boot arguments that can't be read", Target: name, Err: err}
	}
	var wrong []string
	lacks, keeps := now.missing(spec)
	for _, a := range lacks {
		wrong = append(wrong, "without "+a)
	}
	for _, a := range keeps {
		wrong = append(wrong, "with "+a)
	}
	if version != "" && version != release {
		wrong = append(wrong, fmt.Sprintf("with Linux %s instead of %s", release, version))
	}
	if len(wrong) == 0 {
		return nil
	}
	return &lab.Error{What: "the host came back " + strings.Join(wrong, ", "), Target: name,
		Output: text, Hints: []string{
			"its boot loader started another entry than the one chosen, or the kernel takes the argument away; " +
				"nothing is left on its disks"}}
}

// JobsBelow, ClearJob, Receive and Close call the target, if it implements them.

// JobsBelow lists the jobs left by a crashed headroom.
func (h *Host) JobsBelow(ctx context.Context, prefix string) ([]string, error) {
	if l, ok := h.Target.(host.Leftovers); ok {
		return l.JobsBelow(ctx, prefix)
	}
	return nil, nil
}

// ClearJob ends whatever still runs under a job's ID.
func (h *Host) ClearJob(ctx context.Context, id string) error {
	if l, ok := h.Target.(host.Leftovers); ok {
		return l.ClearJob(ctx, id)
	}
	return nil
}

// Receive writes a file into a private folder on the target.
func (h *Host) Receive(ctx context.Context, name string, data []byte, mode fs.FileMode) (string, error) {
	if r, ok := h.Target.(host.Receiver); ok {
		return r.Receive(ctx, name, data, mode)
	}
	return "", &lab.Error{Kind: lab.Refused, What: "no file can be copied there", Target: h.Name()}
}

// Close releases the resources of the target.
func (h *Host) Close() error {
	if c, ok := h.Target.(host.Closer); ok {
		return c.Close()
	}
	return nil
}
