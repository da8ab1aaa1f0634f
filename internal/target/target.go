// Package target is where commands run: this machine, SSH hosts, QEMU guests and pods.
//
// It is the only package (with its children) that starts processes. A command is always an argument vector;
// a target that must cross a shell quotes each argument. Powers that only some targets have (boot with these
// kernel arguments, copy a file in) are optional interfaces found by assertion.
package target

import (
	"context"
	"io/fs"
	"time"

	"headroom/internal/lab"
)

// Target is a place where commands run.
type Target interface {
	// Name is what the user calls it: "local", "ssh://db1".
	Name() string
	// Run carries out a short command and returns what it printed. A non-zero exit status is not an error:
	// it is in the Output. The error says that the command could not be carried out at all.
	Run(ctx context.Context, argv ...string) (Output, error)
	// ReadFiles reads many small files (of /proc and /sys, mostly) in one round trip. A file that can't be read
	// has its error beside it; the call as a whole fails only when the target can't be reached.
	ReadFiles(ctx context.Context, paths ...string) (map[string]File, error)
	// FS is the target's file system for reading, rooted at "/".
	FS() fs.FS
	// Start begins a command that goes on by itself, in a folder of its own that holds its output. The folder
	// is the command's working directory.
	Start(ctx context.Context, spec JobSpec) (Job, error)
}

// Job is a command that was started and goes on by itself.
type Job interface {
	// ID names the job on its target, and so the folder.
	ID() string
	// Dir is the job's folder on the target.
	Dir() string
	// Poll says how far the job is, without waiting.
	Poll(ctx context.Context) (JobState, error)
	// Done is closed when the job has ended.
	Done() <-chan struct{}
	// Fetch reads a file of the job's folder: "stdout", "stderr", or what the command itself wrote there. Of one that
	// is longer than MostFetched it returns the beginning and the end, with a *Cut as the error.
	Fetch(ctx context.Context, name string) ([]byte, error)
	// Size is how long such files are together by now; one that is not there counts as empty.
	Size(ctx context.Context, names ...string) (int64, error)
	// Tail reads at most the last n bytes of such a file.
	Tail(ctx context.Context, name string, n int64) ([]byte, error)
	// Kill ends the job and everything it started: SIGTERM first, SIGKILL when grace has passed.
	Kill(ctx context.Context, grace time.Duration) error
	// Remove deletes the job's folder. The job must have ended.
	Remove(ctx context.Context) error
}

// JobSpec is a job to be started.
type JobSpec struct {
	// ID must be unique on the target and fit for a file name.
	ID   string
	Argv []string
	// Env are variables added to the environment of the command, "NAME=value".
	Env []string
	// Stdin is given to the command through a file; nil for none.
	Stdin []byte
	// Files are written into the job's folder before it starts.
	Files map[string][]byte
	// Apart says how the job goes on apart from this machine, on a target that is a FleetMember; nil for one that
	// begins at once and is followed.
	Apart *Apart
}

// Apart is a job that begins by itself, at a time that was agreed on, and that nobody follows: nothing has to be
// connected while it goes on. Poll says how far it is; Done is closed when Poll has found its end.
type Apart struct {
	// Begin is when the command begins, by this machine's clock; it begins at once where that is over.
	Begin time.Time
}

// Leftovers are the detached jobs that a crashed headroom has left on a target.
type Leftovers interface {
	// JobsBelow lists the IDs of the jobs whose folders are still there and begin with prefix.
	JobsBelow(ctx context.Context, prefix string) ([]string, error)
	// ClearJob ends whatever still runs under a job's ID, and deletes its folder.
	ClearJob(ctx context.Context, id string) error
}

// Booter is a target whose machine can be started anew in another way.
type Booter interface {
	// Boot starts the machine anew as the spec says and returns when commands can be run on it. The zero spec starts it
	// as it starts by itself. A machine that does not come back is an error with a clear end, never an endless wait.
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

// JobState says how far a job is.
type JobState struct {
	Done bool
	// ExitCode of an ended job; -1 when a signal ended it, which Signal then names.
	ExitCode int
	Signal   string
	Started  time.Time
	Ended    time.Time
	// UserSeconds and SystemSeconds of CPU time that the command and its children used; MaxRSS in bytes.
	UserSeconds   float64
	SystemSeconds float64
	MaxRSS        int64
}

// Output is what a short command printed.
type Output struct {
	Stdout   []byte
	Stderr   []byte
	ExitCode int
}

// File is one file read from a target, or the reason why it was not.
type File struct {
	Data []byte
	Err  error
}
