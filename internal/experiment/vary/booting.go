package vary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/experiment"
	"github.com/headroom/headroom/internal/factor"
	"github.com/headroom/headroom/internal/factor/journal"
	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/bootloader"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/recovery"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
)

// realHost is a machine that an experiment reboots and that headroom did not make: others may be working on it.
type realHost struct {
	host.Booter
	name, method string
	// opened is a target that is not the one where loads run, and must be closed.
	opened  host.Target
	journal *bootloader.BootJournal
	// lock is the journal that locks the host's boots against other runs. bootID is the host's boot_id when this run
	// first read it; empty if it can't be read.
	lock   *journal.Journal
	bootID string
	limit  time.Duration
	// doing is the current step.
	doing string
	// notReachable is true after a boot that failed or was interrupted: the state of the host is unknown then.
	notReachable bool
}

// booting restarts the machine whose boot is varied, for each arm: one that headroom made, such as a guest, or a real
// host.
type booting struct {
	// under is the measurement on the machine that loads run on.
	under *experiment.Measurement
	// factor is the first factor that takes a boot; empty if none does.
	factor string
	// on is the machine that is restarted; empty for the one that loads run on. reboot is the real one that may be
	// restarted.
	on, reboot string
	method     string
	limit      time.Duration
	// report shows progress while the plan is carried out.
	report func(runner.Progress)
	// host is a real machine that is restarted; nil for one that headroom made, and if nothing takes a boot.
	host *realHost
}

// bootFactor returns the first factor that takes a boot; empty if none does.
func bootFactor(choices []factor.Choice) string {
	i := slices.IndexFunc(choices, func(c factor.Choice) bool { return c.Scheme.Class == scheme.OfBoot })
	if i < 0 {
		return ""
	}
	return choices[i].Factor()
}

// ofLoadTarget reports whether the restarted machine is the one that loads run on.
func (b *booting) ofLoadTarget() bool { return b.on == "" || b.on == b.under.Target.Name() }

// name returns the machine whose boot is varied.
func (b *booting) name() string {
	if b.on != "" {
		return b.on
	}
	return b.under.Target.Name()
}

// check refuses early if the machine can't or must not be restarted.
func (b *booting) check(ctx context.Context, choices []factor.Choice) error {
	of := b.under.App.Traits(b.under.Target.Name())
	if of.BootOnly {
		return &lab.Error{Kind: lab.Refused, What: "no load can be run on a " + of.Noun + " from here: it has no shell",
			Target: b.under.Target.Name(),
			Hints: []string{"measure from a machine that uses it, and vary the node's boot: --on ssh://CLIENT " +
				"--boot-on " + b.under.Target.Name()}}
	}
	if of.Scheduled {
		return b.checkScheduled(of, choices)
	}
	name := b.name()
	booted := b.under.App.Traits(name)
	switch {
	case b.factor == "" && (b.reboot != "" || b.on != ""):
		return app.Usage("nothing that is varied takes a boot, so --reboot and --boot-on mean nothing",
			"headroom factors lists what each factor needs")
	case b.factor == "":
		return nil
	case booted.OwnBoot && b.on == "":
		if b.reboot != "" {
			return app.Usage("a guest is headroom's own, and restarted without --reboot")
		}
		return nil
	case booted.OwnBoot || booted.Local || !b.under.App.AllKinds().Has(name) || slices.ContainsFunc(choices,
		func(c factor.Choice) bool { return c.Scheme.Name == guestFactors || c.Scheme.Name == podScheme }):
		return b.impossible()
	case b.reboot == "":
		return &lab.Error{Kind: lab.Refused,
			What: fmt.Sprintf("%s restarts %s at every visit, and that was not allowed", b.factor, name),
			Hints: []string{"--reboot " + name +
				" allows it; whatever runs there ends each time, whoever it belongs to"}}
	case b.reboot != name:
		return &lab.Error{Kind: lab.Refused,
			What: fmt.Sprintf("--reboot names %s, and what would be restarted is %s", b.reboot, name)}
	}
	return b.openHost(ctx, name)
}

// podScheme is the scheme of a pod's limits, guestFactors the scheme of a virtual machine's properties.
const (
	podScheme    = "pod"
	guestFactors = "guest"
)

// checkScheduled refuses factors that a pod, or a machine of a cluster, can't vary. If headroom is killed, the settings
// of a node are restored through another pod, which must run on the same node.
func (b *booting) checkScheduled(of host.Traits, choices []factor.Choice) error {
	if b.reboot != "" || b.on != "" {
		return app.Usage("a pod, or a machine of KubeVirt, is headroom's own, and is varied without --reboot and " +
			"--boot-on")
	}
	for _, c := range choices {
		switch {
		case of.LosesSettings && c.Scheme.Class == scheme.OfBoot && c.Scheme.Name != guestFactors:
			return &lab.Error{Kind: lab.Refused, What: c.Factor() +
				" can't be set when a machine of KubeVirt starts", Target: b.under.Target.Name(),
				Hints: []string{"its own settings are guest: ones, such as guest:iothreads=0,1,2,4; its image " +
					"determines its kernel and the kernel's arguments"}}
		case of.LosesSettings: // a change in a guest disappears with the guest
		case c.Scheme.Class == scheme.OfBoot && c.Scheme.Name != podScheme:
			return &lab.Error{Kind: lab.Refused, What: "a pod can't restart its node, which " + c.Factor() +
				" needs", Target: b.under.Target.Name(),
				Hints: []string{"measure the node itself: --on ssh://root@NODE --reboot ssh://root@NODE"}}
		case c.Scheme.Class == scheme.Live && of.Node == "":
			return &lab.Error{Kind: lab.Refused, What: c.Factor() + " is a setting of the node, and no node is named",
				Target: b.under.Target.Name(),
				Hints: []string{"add node=NAME, so that it can be put back there if headroom is killed; it takes " +
					"privileged, too"}}
		}
	}
	return nil
}

// impossible returns the error about a machine that can't be restarted.
func (b *booting) impossible() error {
	return &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("%s can't be restarted from here, which %s needs",
		b.name(), b.factor),
		Hints: []string{"measure a guest: --on qemu:FILE",
			"or another machine that may be rebooted: --on ssh://root@HOST --reboot ssh://root@HOST",
			"headroom factors lists what each factor needs"}}
}

// openHost finds out how a real host can be restarted. It changes nothing.
func (b *booting) openHost(ctx context.Context, name string) error {
	h := &realHost{name: name, limit: b.limit}
	t := b.under.Target
	if !b.ofLoadTarget() {
		var err error
		if t, err = b.under.App.OpenTarget(ctx, name); err != nil {
			return err
		}
		h.opened = t
	}
	b.host = h
	h.bootID = h.read(ctx, t, host.BootIDFile)
	left, err := bootloader.Pending(b.under.Store.Folder.Changes(), store.Trust)
	if err != nil {
		return err
	}
	for _, l := range left {
		if l.Record.Target == name {
			return unfinished(l)
		}
	}
	o := bootloader.Options{Method: b.method, Limit: h.limit, Before: b.record,
		After: b.removeRecord,
		Waiting: func(left time.Duration) {
			if b.report != nil {
				b.report(runner.Progress{Doing: h.doing, Left: left})
			}
		}}
	h.Booter, h.method, err = app.Bootable(ctx, t, o)
	return err
}

// machineIDFile has a number that is the same at every boot of a machine. Source: machine-id(5).
const machineIDFile = "/etc/machine-id"

// read returns the text of a file of the host; empty if it can't be read, as on Talos.
func (h *realHost) read(ctx context.Context, t host.Target, name string) string {
	files, err := t.ReadFiles(ctx, name)
	if err != nil || files[name].Err != nil {
		return ""
	}
	return strings.TrimSpace(string(files[name].Data))
}

// Open prevents other runs from rebooting the host until it has its own boot arguments again. This holds for the
// runs of all stores and users. The lock is on this machine because the host's memory does not survive a reboot.
func (b *booting) Open(ctx context.Context) error {
	h := b.host
	if h == nil || runtime.GOOS != "linux" { // others have no /run or /dev/shm
		return nil
	}
	here, err := b.under.App.OpenTarget(ctx, app.LocalTarget)
	if err != nil {
		return err
	}
	j, err := b.under.App.Journal(b.under.Store, b.under.Run.ID+recovery.BootLock, here)
	if err != nil {
		return err
	}
	of := cmp.Or(h.read(ctx, b.target(), machineIDFile), h.name)
	if err := j.Lock(ctx, scheme.Setting{Factor: "the boot of " + h.name,
		Spots: []spot.Spot{{Kind: spot.InBoot, Path: of}}}); err != nil {
		return errors.Join(err, j.Close())
	}
	h.lock = j
	now := h.read(ctx, b.target(), host.BootIDFile)
	if now != "" && h.bootID != "" && now != h.bootID {
		return &lab.Error{Kind: lab.Refused, What: "it was rebooted while this command was starting",
			Target: h.name, Hints: []string{"find out who rebooted it, then run the command again"}}
	}
	return nil
}

// unfinished returns the error about a host that an earlier experiment may have left changed.
func unfinished(l bootloader.Leftover) error {
	if l.InUse {
		return &lab.Error{Kind: lab.Refused, What: "another headroom is restarting it", Target: l.Record.Target,
			Hints: []string{"wait until that experiment has ended"}}
	}
	return &lab.Error{Kind: lab.Refused, What: "it is not back at its own boot arguments since experiment " + l.ID +
		" was cut off", Target: l.Record.Target,
		Hints: []string{"headroom restore --reboot " + l.Record.Target + " puts that right"}}
}

// record saves on disk what is about to change on the host.
func (b *booting) record(r bootloader.Record) error {
	if b.host.journal == nil {
		b.host.journal = bootloader.NewBootJournal(b.under.Store.Folder.Changes(), b.under.Run.ID)
		if b.under.App.AtStep != nil {
			b.host.journal.AtStep(b.under.App.AtStep)
		}
	}
	return b.host.journal.Before(r)
}

func (b *booting) removeRecord(r bootloader.Record) error {
	if b.host.journal == nil {
		return nil
	}
	return b.host.journal.After(r)
}

// boot restarts the machine for an arm.
func (b *booting) boot(ctx context.Context, spec host.BootSpec) error {
	if b.host == nil {
		own, ok := b.under.Target.(host.Booter)
		if !ok {
			return b.impossible()
		}
		return own.Boot(ctx, spec)
	}
	b.host.doing = bootText(spec)
	err := b.host.Boot(ctx, spec)
	// these kinds mean that no boot was begun
	b.host.notReachable = err != nil && lab.KindOf(err) != lab.Refused && lab.KindOf(err) != lab.Usage
	if err != nil || !b.ofLoadTarget() {
		return err
	}
	return b.samePlace(ctx)
}

// target returns the machine whose boot is varied.
func (b *booting) target() host.Target {
	if b.host != nil && b.host.opened != nil {
		return b.host.opened
	}
	return b.under.Target
}

// samePlace compares the place with its state before the boot: a file system may not have been mounted again, and a
// device may have another name.
func (b *booting) samePlace(ctx context.Context) error {
	was := b.under.Place()
	if was.Kind == lab.NoPlace {
		return nil
	}
	resolve := storage.ResolvePlace
	if was.Members != nil {
		resolve = experiment.ResolveDevices
	}
	now, err := resolve(ctx, b.under.Target, was.Path)
	if err != nil {
		return err
	}
	if now.Kind == was.Kind && now.Filesystem == was.Filesystem && slices.Equal(now.Disks, was.Disks) &&
		(was.Kind == lab.Directory || now.Size == was.Size) {
		return nil
	}
	return &lab.Error{Kind: lab.Refused, What: was.Path + " differs from its state before the boot",
		Target: host.RemoteName(b.under.Target), Hints: []string{
			"before: " + placeWords(was), "now: " + placeWords(now), "what is measured must be mounted when the " +
				"machine starts, and keep its name: /etc/fstab, /dev/disk/by-id"}}
}

func placeWords(p lab.Place) string {
	text := string(p.Kind)
	if p.Filesystem != "" {
		text += " on " + p.Filesystem
	}
	if p.Kind == lab.Device {
		text += " of " + unit.Bytes(float64(p.Size))
	}
	return text + ", disks " + strings.Join(p.Disks, ", ")
}

// Reach boots a real host with its own arguments, also after an error or an interruption.
func (b *booting) Reach(ctx context.Context) error {
	if b.host == nil || !b.host.notReachable && (b.host.journal == nil || !b.host.journal.Held()) {
		return nil
	}
	b.host.doing = b.host.restoreText()
	b.report(runner.Progress{Doing: b.host.doing, Begins: true})
	if err := b.host.Boot(context.WithoutCancel(ctx), host.BootSpec{}); err != nil {
		return errors.Join(&lab.Error{What: "it is not back at its own boot arguments", Target: b.host.name,
			Hints: []string{"what it takes to put that right is kept: headroom restore --reboot " + b.host.name}}, err)
	}
	return nil
}

// Close does nothing: the host already has its own arguments, or the record to restore them is kept. The host stays
// locked until the plan is closed.
func (b *booting) Close(context.Context, error) error { return nil }

func (h *realHost) restoreText() string {
	return "boot " + h.name + " with its own arguments, and verify them"
}

// text describes how the host is restarted, for the summary.
func (h *realHost) text() string {
	return fmt.Sprintf("%s is restarted by %s at every visit; each boot may take %s", h.name, h.method,
		unit.Duration(h.limit))
}

// release closes what was opened for a host. A record that remains is for headroom restore.
func (b *booting) release() {
	if b.host == nil {
		return
	}
	held := b.host.journal != nil && b.host.journal.Held()
	if b.host.journal != nil {
		if err := b.host.journal.Close(); err != nil {
			b.under.App.PrintError(err)
		}
	}
	if b.host.lock != nil {
		release := b.host.lock.Close
		if held {
			release = b.host.lock.Leave
		}
		if err := release(); err != nil {
			b.under.App.PrintError(err)
		}
	}
	if b.host.opened != nil {
		b.under.App.CloseTarget(b.host.opened)
	}
}
