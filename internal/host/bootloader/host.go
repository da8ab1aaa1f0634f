// Package bootloader starts real machines again with other boot arguments, once: a one-time entry of GRUB or
// systemd-boot, or kexec. A host that does not come back starts with its own arguments at the next power cycle, and
// what is put on its disks meanwhile is recorded before and taken away after.
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

// Options say how a host is booted.
type Options struct {
	// Method is one of Methods; empty for the safest that is possible.
	Method string
	// Limit is how long a boot may take; ten minutes if zero.
	Limit time.Duration
	// Pause between two looks at whether the machine is back; two seconds if zero.
	Pause time.Duration
	// Before is called with what is about to be put on the host, before each boot with other arguments; it returns when
	// that is safely kept. After is called when the host runs as it starts by itself again, and the record is no longer
	// needed.
	Before, After func(Record) error
	// Waiting is called every now and then while a machine is waited for, with what is left of the limit; nil for
	// nobody.
	Waiting func(left time.Duration)
	// Resume is the record of an experiment that was cut off, when it is gone on with.
	Resume *Record
}

// keep hands a record to who keeps it.
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

// Host is a target that can be booted with other arguments. It is the target itself for everything else.
type Host struct {
	host.Target
	options     Options
	defaultBoot Record
	loader      loader
	// leftover is what the last boot with other arguments may have left on the host; nil before the first.
	leftover *Record
}

// Find finds out how a target can be booted, and changes nothing. It returns the target with the power to boot, and the
// name of the way.
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

// New finds out how a target can be booted, and changes nothing. Refused is this machine, on which headroom itself
// would not survive, and a machine for which no way is safe.
func New(ctx context.Context, t host.Target, o Options) (*Host, error) {
	o = o.complete()
	m := machine{t}
	now, err := m.read(ctx, host.BootIDFile, cmdlinePath, releasePath)
	if err != nil {
		return nil, err
	}
	// The boot's ID is one a kernel, so this sees through ssh://localhost and containers, too.
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

// bare is the record of a host with nothing of headroom's on it.
func (r Record) bare() Record {
	return Record{Target: r.Target, Method: r.Method, Cmdline: r.Cmdline, Release: r.Release, Entry: r.Entry}
}

// Method is how the host is booted, one of Methods.
func (h *Host) Method() string { return h.defaultBoot.Method }

// Boot starts the host again as the spec says, and returns when commands can be run on it. The zero spec starts it as
// it starts by itself, and proves that it did.
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

// start puts the record's files in place, boots, and clears away when the host is back.
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
	// Also when the user has had enough: what was put there is taken away if the host can be reached at all.
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if errors.Is(err, errGone) {
		return err // there is nobody to clear up with; the record is what it takes
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

// restart runs a command on the host that starts it again. That it is still there after a minute says nothing: it may
// have been cut off.
func (h *Host) restart(ctx context.Context, m machine, argv []string) error {
	return h.options.restart(ctx, m, argv, func(ctx context.Context) (host.Output, error) {
		asking, stop := context.WithTimeout(ctx, time.Minute)
		defer stop()
		return m.Run(asking, argv...)
	})
}

// bootDefault starts the host without anything of headroom's on it. After a boot that was given up it may still be on
// its way, and what was put there for that boot in its place.
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

// ended proves that a machine runs as it starts by itself, and says so to who keeps the record.
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

// checkBooted proves that a host runs as it was asked to, with the version that was asked for unless nobody can know
// it.
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

// JobsBelow, ClearJob, Receive and Close are the target's, where it has them.

// JobsBelow lists the jobs that a crashed headroom has left.
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

// Receive writes a file for a name below a folder of the target's own.
func (h *Host) Receive(ctx context.Context, name string, data []byte, mode fs.FileMode) (string, error) {
	if r, ok := h.Target.(host.Receiver); ok {
		return r.Receive(ctx, name, data, mode)
	}
	return "", &lab.Error{Kind: lab.Refused, What: "no file can be copied there", Target: h.Name()}
}

// Close gives back what the target holds.
func (h *Host) Close() error {
	if c, ok := h.Target.(host.Closer); ok {
		return c.Close()
	}
	return nil
}
