package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// EventScope is where an event takes place.
type EventScope struct {
	Target host.Target
	// Place under test, on the machine that is measured; without a kind if the event is on another machine, or if a
	// network is measured.
	Place lab.Place
	// Machine is the KubeVirt machine that is measured, and Namespace its namespace; empty if it is none.
	Machine, Namespace string
}

// EventPlan is how an event is carried out on a machine in its current state.
type EventPlan struct {
	// Command causes the event. Undo restores the state at the time of planning, and can be repeated safely; it is
	// empty if the event ends without it.
	Command, Undo []string
	// ExpectedShare is the expected remaining share of the rate; 0 if unknown.
	ExpectedShare float64
}

// EventKind is an event with a name.
type EventKind struct {
	Name string
	// Arguments in the notation of a help text, and the number of words.
	Arguments string
	Words     int
	// Does describes the event, Refused the cases in which it is refused.
	Does, Refused string
	// Undone is set if it has a built-in way back.
	Undone bool
	plan   func(ctx context.Context, w EventScope, words []string) (EventPlan, error)
	// ready checks conditions that do not depend on what is measured, if the plan does depend on that; nil if the event
	// can be planned at any time.
	ready func(ctx context.Context, w EventScope) error
}

// LoseTrunk is the name of the event that removes an address from an NFS mount.
const LoseTrunk = "lose-trunk"

// EventKinds returns all kinds, in the order in which they are shown.
func EventKinds() []EventKind {
	return []EventKind{
		{Name: "lose-port", Arguments: "PORT", Words: 1, Undone: true, plan: losePort,
			Does: "ip link set dev PORT down, and up again with the routes and IPv6 addresses that went with it, " +
				"in all tables, also those of a VLAN or bridge over it",
			Refused: "a port that is down, or has no link; the one by which headroom, or whoever is logged in, " +
				"reaches the machine"},
		{Name: LoseTrunk, Arguments: "ADDRESS", Words: 1, Undone: true, plan: loseTrunk,
			ready:   func(ctx context.Context, w EventScope) error { return hasIP(ctx, w.Target) },
			Does:    "the same with the port by which the NFS mount under test reaches that address of its server",
			Refused: "an address that the mount does not use; a port by which it reaches its other addresses, too"},
		{Name: "lose-path", Arguments: "DISK", Words: 1, Undone: true, plan: losePath,
			Does: "a SCSI disk that is one path of a multipath: offline in /sys/block/DISK/device/state, and " +
				"running again",
			Refused: "a disk that is no path of a multipath, is not running, or is the only one that is"},
		{Name: "restart", Arguments: "SERVICE", Words: 1, plan: restart,
			Does:    "systemctl restart SERVICE, for example nfs-server; ends by itself",
			Refused: "a service that is not active"},
		{Name: "qm-migrate", Arguments: "VMID NODE", Words: 2, plan: qmMigrate,
			Does:    "qm migrate VMID NODE --online, on the Proxmox VE node where the guest is; ends by itself",
			Refused: "a guest that does not run there"},
		{Name: "virsh-migrate", Arguments: "DOMAIN URI", Words: 2, plan: virshMigrate,
			Does:    "virsh migrate --live DOMAIN URI; ends by itself",
			Refused: "a guest that does not run there"},
		{Name: "vm-migrate", Arguments: "NAMESPACE/NAME", Words: 1, plan: vmMigrate,
			Does: "a VirtualMachineInstanceMigration of KubeVirt, made by the kubectl of the machine, usually " +
				"--event-on local; under-test stands for the machine that headroom has made; ends by itself",
			Refused: "a machine that does not run; one that KubeVirt says it can't move"},
	}
}

// FindEvent returns the kind with a name.
func FindEvent(name string) (EventKind, bool) {
	for _, k := range EventKinds() {
		if k.Name == name {
			return k, true
		}
	}
	return EventKind{}, false
}

// Check returns what is wrong with the words of an event, its name first.
func (k EventKind) Check(words []string) error {
	for _, w := range words[1:] {
		if strings.HasPrefix(w, "-") {
			return fmt.Errorf("%s can't be %q", k.Arguments, w)
		}
	}
	if len(words) != k.Words+1 {
		return fmt.Errorf("%s takes %s", k.Name, k.Arguments)
	}
	return nil
}

// Plan examines the machine and determines how the event is carried out there. words are the event's words, its
// name first.
func (k EventKind) Plan(ctx context.Context, w EventScope, words []string) (EventPlan, error) {
	if err := k.Check(words); err != nil {
		return EventPlan{}, err
	}
	p, err := k.plan(ctx, w, words[1:])
	return p, onTarget(err, w)
}

// Ready returns why an event can't be carried out on a machine, as far as that is known before the measured objects
// exist: a mount is created stages later than the first load.
func (k EventKind) Ready(ctx context.Context, w EventScope, words []string) error {
	if k.ready == nil {
		_, err := k.Plan(ctx, w, words)
		return err
	}
	if err := k.Check(words); err != nil {
		return err
	}
	return onTarget(k.ready(ctx, w), w)
}

// onTarget adds the target to an error about it.
func onTarget(err error, w EventScope) error {
	var e *lab.Error
	if errors.As(err, &e) && e.Target == "" {
		e.Target = host.RemoteName(w.Target)
	}
	return err
}

// refused returns the error of an event that is refused on a machine.
func refused(hint, format string, args ...any) error {
	return &lab.Error{Kind: lab.Refused, What: fmt.Sprintf(format, args...), Hints: []string{hint}}
}

// output runs a command and returns its output, and whether it succeeded. The folders of system tools are added to
// PATH, which a plain user's PATH lacks.
func output(ctx context.Context, t host.Target, argv ...string) (string, bool, error) {
	out, err := t.Run(ctx, append([]string{"sh", "-c", `PATH="$PATH:/usr/sbin:/sbin"; exec "$@"`, "sh"}, argv...)...)
	return string(out.Stdout), out.ExitCode == 0, err
}

func restart(ctx context.Context, w EventScope, words []string) (EventPlan, error) {
	state, ok, err := output(ctx, w.Target, "systemctl", "is-active", words[0])
	if err == nil && (!ok || state == "") { // in a chroot systemctl ignores all commands, and succeeds
		err = refused("systemctl status "+words[0], "the service %s is not active, so that it can't be restarted",
			words[0])
	}
	return EventPlan{Command: []string{"systemctl", "restart", words[0]}}, err
}

func qmMigrate(ctx context.Context, w EventScope, words []string) (EventPlan, error) {
	text, ok, err := output(ctx, w.Target, "qm", "status", words[0])
	if err == nil && (!ok || !strings.Contains(text, "running")) {
		err = refused("--event-on ssh://root@NODE names the node where it is; qm list shows its guests",
			"no guest %s runs there that could be moved", words[0])
	}
	return EventPlan{Command: []string{"qm", "migrate", words[0], words[1], "--online"}}, err
}

func virshMigrate(ctx context.Context, w EventScope, words []string) (EventPlan, error) {
	text, ok, err := output(ctx, w.Target, "virsh", "domstate", words[0])
	if err == nil && (!ok || !strings.Contains(text, "running")) {
		err = refused("--event-on ssh://root@HOST names the host where it is; virsh list shows its guests",
			"no guest %s runs there that could be moved", words[0])
	}
	return EventPlan{Command: []string{"virsh", "migrate", "--live", words[0], words[1]}}, err
}
