package host

import (
	"context"
	"io/fs"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

// The capabilities of targets: what only some can do. Callers ask with a type assertion to one of these interfaces; a
// new kind of target implements those that fit, and no caller changes. What has to be known before a target is opened
// is in Traits.

// Leftovers are the detached jobs that a crashed headroom has left on a target.
type Leftovers interface {
	// JobsBelow lists the IDs of the jobs whose folders are still there and begin with prefix.
	JobsBelow(ctx context.Context, prefix string) ([]string, error)
	// ClearJob ends whatever still runs under a job's ID, and deletes its folder.
	ClearJob(ctx context.Context, id string) error
}

// Booter is a target whose machine can be started again in another way.
type Booter interface {
	// Boot starts the machine again as the spec says and returns when commands can be run on it. The zero spec starts
	// it as it starts by itself. A machine that does not come back is an error with a clear end, never an endless wait.
	Boot(ctx context.Context, spec BootSpec) error
}

// BootSpec says what is different from how the machine starts by itself.
type BootSpec struct {
	// Arguments are added to the kernel's command line: "slub_debug=FZPU", "quiet".
	Arguments []string
	// Without are the names of arguments that are left out: "mitigations".
	Without []string
	// Kernel as the target names kernels: a path, an installed version; empty for its own.
	Kernel string
	// Machine are settings of a virtual machine, by name: iothreads, queues, cache, aio, cpus, iommu.
	Machine map[string]string
}

// NotStarted is the error of a machine that was started in the way that was asked for and did not come up: its kernel
// panicked, or was not heard of in time. Started in another way it may.
type NotStarted struct{ Err error }

func (e *NotStarted) Error() string { return e.Err.Error() }

func (e *NotStarted) Unwrap() error { return e.Err }

// Receiver is a target that files can be copied to.
type Receiver interface {
	// Receive writes a file with this mode, in a folder of the target's own that is gone when the target is closed; it
	// returns the path there. A name of two parts, "ID/name", says which folder: ClearJob of that ID removes it, too,
	// after a crash.
	Receive(ctx context.Context, name string, data []byte, mode fs.FileMode) (string, error)
}

// Clock is a target whose clock need not be that of this machine.
type Clock interface {
	// ClockOffset estimates how far the target's clock is ahead, give or take the uncertainty.
	ClockOffset(ctx context.Context) (offset, uncertainty time.Duration, err error)
}

// Caveats is a target that knows of itself what a user should hear before a load is started.
type Caveats interface {
	Caveats(ctx context.Context) []string
}

// HasTestPath is a target that was made with something to be measured.
type HasTestPath interface {
	// TestPath is where that is: the path of a folder or a device there; empty where there is none.
	TestPath() string
}

// FactProvider is a target of which others know what nobody can read there: a pod, of which its cluster does.
type FactProvider interface {
	Facts(ctx context.Context) []lab.Fact
}

// Labelled is a target that others can see, and who see by its label which run it belongs to.
type Labelled interface {
	Label(ctx context.Context, run string) error
}

// Addressed is a target that was given an address in the network under test.
type Addressed interface {
	Address(ctx context.Context) (string, error)
}

// Replaceable is a target that can be gone for good while it is measured, with all that went on there, and of which
// another can be had: a pod.
type Replaceable interface {
	// Lost says why it is gone for good; nil while it is there, and while nobody can tell.
	Lost(ctx context.Context) error
	// Replace makes another in its place, on the same machine and with the same volume where that is still there.
	Replace(ctx context.Context) error
	// Generation is another word for each that was had. What was found out of one of them, its address and its
	// interfaces, is not so of the next.
	Generation() string
}

// Disposable is a target with devices that were made for it and go with it.
type Disposable interface {
	// MadeBlank says whether a device, by its path there, is one of them: what is on it is headroom's own.
	MadeBlank(ctx context.Context, device string) (bool, error)
	// Unseen says whether others have made it, so that it may hold what was there before, and is to be looked at before
	// the first write.
	Unseen() bool
}

// FleetMember is a target that can be one of a thousand: its jobs can go on apart, and between two visits nothing is
// held for it.
type FleetMember interface {
	// Disconnect closes the connection, which the next use makes again.
	Disconnect() error
}

// Closer is a target that holds something (a connection, a guest) which must be given back.
type Closer interface {
	Close() error
}

// LocalFiles is a target whose files this process can open itself, by the same paths: this machine.
type LocalFiles interface {
	// LocalFiles is the folder with the folders of its jobs.
	LocalFiles() (jobs string)
}

// SharesKernel is a target inside a machine whose kernel it shares: a container. What the kernel says of itself, such
// as the ID of its boot, does not tell the target from that machine.
type SharesKernel interface {
	SharesKernel()
}

// MaybeEmulated is a target whose processor may be a program, so that its rates are those of no hardware.
type MaybeEmulated interface {
	Emulated() bool
}

// HasBootArguments is a target that was started with arguments of its own for the kernel.
type HasBootArguments interface {
	BootArguments() []string
}

// LosesDataOnBoot is a target whose files under test can be gone after a boot.
type LosesDataOnBoot interface {
	LosesDataOnBoot() bool
}

// HasNodeNetwork is a target whose network can lie over that of its node.
type HasNodeNetwork interface {
	// NodeNetwork returns the names of two targets on the node where this one runs: one like this one, and one in the
	// node's own network. Ok is false where this one is in that network itself.
	NodeNetwork() (same, inNode string, ok bool)
}

// Migratable is a machine that its cluster can move to another node.
type Migratable interface {
	// MachineName is what the cluster calls it.
	MachineName() (name, namespace string)
}
