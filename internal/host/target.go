// Package host is where commands run: this machine, SSH hosts, QEMU guests and pods.
//
// It is the only package (with its children) that starts processes. A command is always an argument vector;
// a target that must cross a shell quotes each argument. What only some targets can do (boot with these kernel
// arguments, receive a file) is an optional interface of capabilities.go, and what the name of a target says of it is
// in its Traits: nobody outside this folder asks for the type of a target.
package host

import (
	"context"
	"io/fs"
	"time"
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
	// is longer than MaxFetched it returns the beginning and the end, with a *Cut as the error.
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
	// Unattended says how the job goes on apart from this machine, on a target that is a FleetMember; nil for one that
	// begins at once and is followed.
	Unattended *Unattended
}

// Unattended is a job that begins by itself, at a time that was agreed on, and that nobody follows: nothing has to be
// connected while it goes on. Poll says how far it is; Done is closed when Poll has found its end.
type Unattended struct {
	// Begin is when the command begins, by this machine's clock; it begins at once where that is over.
	Begin time.Time
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

// BootIDFile is the file of a machine that changes whenever it is booted. Source: random(4).
const BootIDFile = "/proc/sys/kernel/random/boot_id"
