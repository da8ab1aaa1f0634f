package host

import (
	"context"
	"io/fs"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// The capabilities of targets: operations that only some targets support. Callers use a type assertion to one of these
// interfaces; a new kind of target implements those that fit, and no caller changes. Properties that are needed before
// a target is opened are in Traits.

// Leftovers is a target that finds and removes detached jobs left by a crashed headroom.
type Leftovers interface {
	// JobsBelow lists the IDs, beginning with prefix, of jobs whose folders still exist.
	JobsBelow(ctx context.Context, prefix string) ([]string, error)
	// ClearJob ends whatever still runs under a job's ID, and deletes the job's folder.
	ClearJob(ctx context.Context, id string) error
}

// Booter is a target whose machine can be rebooted with other boot settings.
type Booter interface {
	// Boot reboots the machine with the settings of the spec and returns when it can run commands. The zero spec boots
	// the machine's defaults. A machine that does not come back is an error after a bounded time, never an endless
	// wait.
	Boot(ctx context.Context, spec BootSpec) error
}

// BootSpec describes how a boot differs from the machine's default boot.
type BootSpec struct {
	// Arguments are added to the kernel's command line: "slub_debug=FZPU", "quiet".
	Arguments []string
	// Without are the names of arguments to remove: "mitigations".
	Without []string
	// Kernel as the target names kernels: a path, an installed version; empty for the default kernel.
	Kernel string
	// Machine are settings of a virtual machine, by name: iothreads, queues, cache, aio, cpus, iommu.
	Machine map[string]string
}

// NotStarted is the error of a machine that was booted with the requested settings and did not come up: its kernel
// panicked, or did not report in time. With other settings it may boot.
type NotStarted struct{ Err error }

func (e *NotStarted) Error() string { return e.Err.Error() }

func (e *NotStarted) Unwrap() error { return e.Err }

// Receiver is a target that files can be copied to.
type Receiver interface {
	// Receive writes a file with this mode into a private folder on the target, and returns the file's path there. The
	// folder is removed when the target is closed. A name of two parts, "ID/name", selects the folder by ID, so that
	// ClearJob of that ID also removes it after a crash.
	Receive(ctx context.Context, name string, data []byte, mode fs.FileMode) (string, error)
}

// Clock is a target whose clock can differ from the clock of this machine.
type Clock interface {
	// ClockOffset estimates how far the target's clock is ahead of ours, and the uncertainty (±) of that estimate.
	ClockOffset(ctx context.Context) (offset, uncertainty time.Duration, err error)
}

// Caveats is a target with warnings for the user before a load is started.
type Caveats interface {
	Caveats(ctx context.Context) []string
}

// HasTestPath is a target that was created with a folder or device to measure.
type HasTestPath interface {
	// TestPath is the path of that folder or device on the target; empty if there is none.
	TestPath() string
}

// FactProvider is a target with facts that can't be read on the target: the cluster knows facts of a pod.
type FactProvider interface {
	Facts(ctx context.Context) []lab.Fact
}

// Labelled is a target that other users can see. Its label names the run that it belongs to.
type Labelled interface {
	Label(ctx context.Context, run string) error
}

// Addressed is a target with an address in the network under test.
type Addressed interface {
	Address(ctx context.Context) (string, error)
}

// Replaceable is a target, such as a pod, that can be lost for good while it is measured, with all its processes, and
// that can then be replaced by another.
type Replaceable interface {
	// Lost returns why the target is gone for good; nil while it exists, and while its state is unknown.
	Lost(ctx context.Context) error
	// Replace creates another target in its place, on the same machine and with the same volume if that still exists.
	Replace(ctx context.Context) error
	// Generation changes with each replacement. The address and interfaces of one generation do not hold for the next.
	Generation() string
}

// Disposable is a target with devices that were created for it and are removed with it.
type Disposable interface {
	// MadeBlank reports whether a device, given by its path on the target, is one of them: its content is headroom's.
	MadeBlank(ctx context.Context, device string) (bool, error)
	// Unseen reports whether the target was created by others. It can then hold older data, so it must be checked
	// before the first write.
	Unseen() bool
}

// FleetMember is a target that can be one of a thousand: its jobs run unattended, and no connection is held between two
// visits.
type FleetMember interface {
	// Disconnect closes the connection. The next use reconnects.
	Disconnect() error
}

// Closer is a target that holds a resource (a connection, a guest) which must be released.
type Closer interface {
	Close() error
}

// LocalFiles is a target whose files this process can open itself, by the same paths: this machine.
type LocalFiles interface {
	// LocalFiles returns the folder that holds the folders of its jobs.
	LocalFiles() (jobs string)
}

// SharesKernel is a target that shares the kernel of the machine around it: a container. Facts of the kernel, such as
// the boot ID, do not distinguish the target from that machine.
type SharesKernel interface {
	SharesKernel()
}

// MaybeEmulated is a target whose processor may be emulated, so that its rates describe no hardware.
type MaybeEmulated interface {
	Emulated() bool
}

// HasBootArguments is a target that was booted with additional kernel arguments.
type HasBootArguments interface {
	BootArguments() []string
}

// LosesDataOnBoot is a target whose files under test may be lost by a boot.
type LosesDataOnBoot interface {
	LosesDataOnBoot() bool
}

// HasNodeNetwork is a target whose network can be an overlay on the network of its node.
type HasNodeNetwork interface {
	// NodeNetwork returns the names of two targets on the same node: one of this kind, and one in the node's network.
	// Ok is false if this target is in the node's network already.
	NodeNetwork() (same, inNode string, ok bool)
}

// Migratable is a virtual machine that its cluster can move to another node.
type Migratable interface {
	// MachineName is the machine's name in the cluster.
	MachineName() (name, namespace string)
}
