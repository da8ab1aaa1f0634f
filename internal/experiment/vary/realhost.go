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
	"github.com/headroom/headroom/internal/facts/undertest"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/host/bootloader"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/recovery"
	"github.com/headroom/headroom/internal/runner"
	"github.com/headroom/headroom/internal/store"
	"github.com/headroom/headroom/internal/unit"
)

// realHost is a machine that an experiment starts again and that is not headroom's own: others may be at work on it.
type realHost struct {
	host.Booter
	name, method string
	// opened is set for a target that is not the one where loads run, which must be closed.
	opened  host.Target
	journal *bootloader.BootJournal
	// lock is the journal that locks the host's boots against other runs. bootID is the host's boot_id when this run
	// first looked at it; empty where it can't be read.
	lock   *journal.Journal
	bootID string
	limit  time.Duration
	// doing is the step that goes on.
	doing string
	// notReachable is set while nobody knows how the host runs: a boot failed or was interrupted.
	notReachable bool
}

// bootsLoadTarget says whether what is varied at a boot is varied where loads run.
func (x *Experiment) bootsLoadTarget() bool {
	return x.options.BootOn == "" || x.options.BootOn == x.Target.Name()
}

// bootedName is the machine whose boot is varied.
func (x *Experiment) bootedName() string {
	if x.options.BootOn != "" {
		return x.options.BootOn
	}
	return x.Target.Name()
}

// checkBoots refuses at once what could not be started again, or may not be.
func (x *Experiment) checkBoots(ctx context.Context) error {
	of := x.Traits(x.Target.Name())
	if of.BootOnly {
		return &lab.Error{Kind: lab.Refused, What: "no load can be run on a " + of.Noun + " from here: it has no shell",
			Target: x.Target.Name(),
			Hints: []string{"measure from a machine that uses it, and vary the node's boot: --on ssh://CLIENT " +
				"--boot-on " + x.Target.Name()}}
	}
	if of.Scheduled {
		return x.checkScheduled(of)
	}
	name := x.bootedName()
	booted := x.Traits(name)
	switch {
	case !x.boots() && (x.options.Reboot != "" || x.options.BootOn != ""):
		return app.Usage("nothing that is varied takes a boot, so --reboot and --boot-on mean nothing",
			"headroom factors says what each factor needs")
	case !x.boots():
		return nil
	case booted.OwnBoot && x.options.BootOn == "":
		if x.options.Reboot != "" {
			return app.Usage("a guest is headroom's own, and restarted without --reboot")
		}
		return nil
	case booted.OwnBoot || booted.Local || !x.AllKinds().Has(name) || slices.ContainsFunc(x.choices,
		func(c factor.Choice) bool { return c.Scheme.Name == guestFactors || c.Scheme.Name == podScheme }):
		return x.bootError()
	case x.options.Reboot == "":
		return &lab.Error{Kind: lab.Refused,
			What: fmt.Sprintf("%s restarts %s at every visit, and nobody has allowed that", x.bootFactor(), name),
			Hints: []string{"--reboot " + name +
				" allows it; whatever runs there ends each time, whoever it belongs to"}}
	case x.options.Reboot != name:
		return &lab.Error{Kind: lab.Refused,
			What: fmt.Sprintf("--reboot names %s, and what would be restarted is %s", x.options.Reboot, name)}
	}
	return x.openHost(ctx, name)
}

// podScheme is that of the limits of a pod, guestFactors of what a virtual machine is like.
const (
	podScheme    = "pod"
	guestFactors = "guest"
)

// checkScheduled refuses what a pod, or a machine of a cluster, can't vary. Settings of a node are put back through
// another pod if headroom is killed, which must come to the same node.
func (x *Experiment) checkScheduled(of host.Traits) error {
	if x.options.Reboot != "" || x.options.BootOn != "" {
		return app.Usage("a pod, or a machine of KubeVirt, is headroom's own, and is varied without --reboot and " +
			"--boot-on")
	}
	for _, c := range x.choices {
		switch {
		case of.LosesSettings && c.Scheme.Class == scheme.OfBoot && c.Scheme.Name != guestFactors:
			return &lab.Error{Kind: lab.Refused, What: c.Factor() +
				" is nothing that a machine of KubeVirt can be started with", Target: x.Target.Name(),
				Hints: []string{"its own settings are guest: ones, such as guest:iothreads=0,1,2,4; its kernel and " +
					"the arguments of that are those of its image"}}
		case of.LosesSettings: // whatever is changed in a guest goes with it
		case c.Scheme.Class == scheme.OfBoot && c.Scheme.Name != podScheme:
			return &lab.Error{Kind: lab.Refused, What: "a pod can't restart its node, which " + c.Factor() +
				" needs", Target: x.Target.Name(),
				Hints: []string{"measure the node itself: --on ssh://root@NODE --reboot ssh://root@NODE"}}
		case c.Scheme.Class == scheme.Live && of.Node == "":
			return &lab.Error{Kind: lab.Refused, What: c.Factor() + " is a setting of the node, and no node is named",
				Target: x.Target.Name(),
				Hints: []string{"add node=NAME, so that it can be put back there if headroom is killed; it takes " +
					"privileged, too"}}
		}
	}
	return nil
}

func (x *Experiment) bootError() error {
	return &lab.Error{Kind: lab.Refused, What: fmt.Sprintf("%s can't be restarted from here, which %s needs",
		x.bootedName(), x.bootFactor()),
		Hints: []string{"measure a guest: --on qemu:FILE",
			"or another machine that may be rebooted: --on ssh://root@HOST --reboot ssh://root@HOST",
			"headroom factors says what each factor needs"}}
}

// openHost finds out how a real host can be started again, and changes nothing.
func (x *Experiment) openHost(ctx context.Context, name string) error {
	h := &realHost{name: name, limit: x.options.BootLimit}
	t := x.Target
	if !x.bootsLoadTarget() {
		var err error
		if t, err = x.OpenTarget(ctx, name); err != nil {
			return err
		}
		h.opened = t
	}
	x.host = h
	h.bootID = h.read(ctx, t, host.BootIDFile)
	left, err := bootloader.Pending(x.Store.Changes(), store.Trust)
	if err != nil {
		return err
	}
	for _, l := range left {
		if l.Record.Target == name {
			return unfinished(l)
		}
	}
	o := bootloader.Options{Method: x.options.BootMethod, Limit: h.limit, Before: x.recordBoot,
		After: x.removeBootRecord,
		Waiting: func(left time.Duration) {
			if x.report != nil {
				x.report(runner.Progress{Doing: h.doing, Left: left})
			}
		}}
	h.Booter, h.method, err = app.Bootable(ctx, t, o)
	return err
}

// machineIDFile has a number that a machine keeps from boot to boot. Source: machine-id(5).
const machineIDFile = "/etc/machine-id"

// read returns the text of a file of the host; empty where it can't be read, as on Talos.
func (h *realHost) read(ctx context.Context, t host.Target, name string) string {
	files, err := t.ReadFiles(ctx, name)
	if err != nil || files[name].Err != nil {
		return ""
	}
	return strings.TrimSpace(string(files[name].Data))
}

// lockBoots prevents other runs from rebooting the host until it has its own boot arguments again. This holds for the
// runs of all stores and users. The lock is on this machine because the host's memory does not survive a reboot.
func (x *Experiment) lockBoots(ctx context.Context) error {
	h := x.host
	if h == nil || runtime.GOOS != "linux" { // others have no /run or /dev/shm
		return nil
	}
	here, err := x.OpenTarget(ctx, app.LocalTarget)
	if err != nil {
		return err
	}
	j, err := x.App.Journal(x.Store, x.Run.ID+recovery.BootLock, here)
	if err != nil {
		return err
	}
	of := cmp.Or(h.read(ctx, x.bootedTarget(), machineIDFile), h.name)
	if err := j.Lock(ctx, scheme.Setting{Factor: "the boot of " + h.name,
		Spots: []spot.Spot{{Kind: spot.InBoot, Path: of}}}); err != nil {
		return errors.Join(err, j.Close())
	}
	h.lock = j
	now := h.read(ctx, x.bootedTarget(), host.BootIDFile)
	if now != "" && h.bootID != "" && now != h.bootID {
		return &lab.Error{Kind: lab.Refused, What: "it was rebooted while this command was starting",
			Target: h.name, Hints: []string{"find out who rebooted it, then run the command again"}}
	}
	return nil
}

// unfinished is the error about a host that an earlier experiment may have left changed.
func unfinished(l bootloader.Leftover) error {
	if l.InUse {
		return &lab.Error{Kind: lab.Refused, What: "another headroom is restarting it", Target: l.Record.Target,
			Hints: []string{"wait until that experiment has ended"}}
	}
	return &lab.Error{Kind: lab.Refused, What: "it is not back at its own boot arguments since experiment " + l.ID +
		" was cut off", Target: l.Record.Target,
		Hints: []string{"headroom restore --reboot " + l.Record.Target + " puts that right"}}
}

// recordBoot has on disk what is about to be put on the host.
func (x *Experiment) recordBoot(r bootloader.Record) error {
	if x.host.journal == nil {
		x.host.journal = bootloader.NewBootJournal(x.Store.Changes(), x.Run.ID)
		if x.AtStep != nil {
			x.host.journal.AtStep(x.AtStep)
		}
	}
	return x.host.journal.Before(r)
}

func (x *Experiment) removeBootRecord(r bootloader.Record) error {
	if x.host.journal == nil {
		return nil
	}
	return x.host.journal.After(r)
}

// boot starts the machine again for an arm.
func (x *Experiment) boot(ctx context.Context, spec host.BootSpec) error {
	if x.host == nil {
		b, ok := x.Target.(host.Booter)
		if !ok {
			return x.bootError()
		}
		return b.Boot(ctx, spec)
	}
	x.host.doing = bootText(spec)
	err := x.host.Boot(ctx, spec)
	// which say that nothing was begun
	x.host.notReachable = err != nil && lab.KindOf(err) != lab.Refused && lab.KindOf(err) != lab.Usage
	if err != nil || !x.bootsLoadTarget() {
		return err
	}
	return x.samePlace(ctx)
}

// bootedTarget is the machine whose boot is varied.
func (x *Experiment) bootedTarget() host.Target {
	if x.host != nil && x.host.opened != nil {
		return x.host.opened
	}
	return x.Target
}

// samePlace holds the place against what it was before the boot: a file system may not have been mounted again, and a
// device may have another name.
func (x *Experiment) samePlace(ctx context.Context) error {
	was := x.Place()
	if was.Kind == lab.NoPlace {
		return nil
	}
	resolve := undertest.Resolve
	if was.Members != nil {
		resolve = experiment.ResolveDevices
	}
	now, err := resolve(ctx, x.Target, was.Path)
	if err != nil {
		return err
	}
	if now.Kind == was.Kind && now.Filesystem == was.Filesystem && slices.Equal(now.Disks, was.Disks) &&
		(was.Kind == lab.Directory || now.Size == was.Size) {
		return nil
	}
	return &lab.Error{Kind: lab.Refused, What: was.Path + " is not what it was before the boot",
		Target: host.RemoteName(x.Target), Hints: []string{
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

// bootDefault boots a real host with its own arguments, also after an error or an interruption.
func (x *Experiment) bootDefault(ctx context.Context) error {
	if x.host == nil || !x.host.notReachable && (x.host.journal == nil || !x.host.journal.Held()) {
		return nil
	}
	x.host.doing = x.host.restoreText()
	x.report(runner.Progress{Doing: x.host.doing, Begins: true})
	if err := x.host.Boot(context.WithoutCancel(ctx), host.BootSpec{}); err != nil {
		return errors.Join(&lab.Error{What: "it is not back at its own boot arguments", Target: x.host.name,
			Hints: []string{"what it takes to put that right is kept: headroom restore --reboot " + x.host.name}}, err)
	}
	return nil
}

func (h *realHost) restoreText() string {
	return "boot " + h.name + " with its own arguments, and verify them"
}

// text says how the host is started again, for the summary.
func (h *realHost) text() string {
	return fmt.Sprintf("%s is restarted by %s at every visit; each boot may take %s", h.name, h.method,
		unit.Duration(h.limit))
}

// releaseHost lets go of a host; what is still kept of it is for headroom restore.
func (x *Experiment) releaseHost() {
	if x.host == nil {
		return
	}
	held := x.host.journal != nil && x.host.journal.Held()
	if x.host.journal != nil {
		if err := x.host.journal.Close(); err != nil {
			x.PrintError(err)
		}
	}
	if x.host.lock != nil {
		release := x.host.lock.Close
		if held {
			release = x.host.lock.Leave
		}
		if err := release(); err != nil {
			x.PrintError(err)
		}
	}
	if x.host.opened != nil {
		x.CloseTarget(x.host.opened)
	}
}
