// Package host is where commands run: this machine, SSH hosts, QEMU guests and pods.
//
// It is the only package (with its children) that starts processes. A command is always an argument vector; a target
// that must use a shell quotes each argument. Operations that only some targets support (booting with kernel arguments,
// receiving a file) are optional interfaces of capabilities.go. Properties that follow from the name of a target are in
// its Traits. Code outside this folder never tests the type of a target.
package host

import (
	"context"
	"io/fs"
	"time"
)

// Target is a place where commands run.
type Target interface {
	// Name is the user's name for it: "local", "ssh://db1".
	Name() string
	// Run runs a short command and returns its output. A non-zero exit status is not an error: it is in the Output. An
	// error means that the command could not be run at all.
	Run(ctx context.Context, argv ...string) (Output, error)
	// ReadFiles reads many small files (of /proc and /sys, mostly) in one round trip. The File of one that can't be
	// read has the error; the call as a whole fails only if the target can't be reached.
	ReadFiles(ctx context.Context, paths ...string) (map[string]File, error)
	// FS is the target's file system for reading, rooted at "/".
	FS() fs.FS
	// Start starts a command that runs detached, in a new folder that holds its output. The folder is the command's
	// working directory.
	Start(ctx context.Context, spec JobSpec) (Job, error)
}

// Job is a command that was started and runs detached.
type Job interface {
	// ID identifies the job on its target, and is part of the folder's name.
	ID() string
	// Dir is the job's folder on the target.
	Dir() string
	// Poll returns the state of the job, without waiting.
	Poll(ctx context.Context) (JobState, error)
	// Done is closed when the job has ended.
	Done() <-chan struct{}
	// Fetch reads a file of the job's folder: "stdout", "stderr", or a file that the command wrote there. Of a file
	// longer than MaxFetched it returns the beginning and the end, with a *Cut as the error.
	Fetch(ctx context.Context, name string) ([]byte, error)
	// Size returns the current total size of such files; a missing file counts as empty.
	Size(ctx context.Context, names ...string) (int64, error)
	// Tail reads at most the last n bytes of such a file.
	Tail(ctx context.Context, name string, n int64) ([]byte, error)
	// Kill ends the job and everything it started: SIGTERM first, SIGKILL after the grace period.
	Kill(ctx context.Context, grace time.Duration) error
	// Remove deletes the job's folder. The job must have ended.
	Remove(ctx context.Context) error
}

// JobSpec describes a job to start.
type JobSpec struct {
	// ID must be unique on the target and valid as a file name.
	ID   string
	Argv []string
	// Env are variables added to the environment of the command, "NAME=value".
	Env []string
	// Stdin is given to the command through a file; nil for none.
	Stdin []byte
	// Files are written into the job's folder before it starts.
	Files map[string][]byte
	// Unattended makes the job run without a connection, on a target that is a FleetMember; nil for a job that begins
	// at once and is followed.
	Unattended *Unattended
}

// Unattended is a job that begins at an agreed time and is not followed: no connection is needed while it runs. Poll
// returns its state; Done is closed after Poll has found its end.
type Unattended struct {
	// Begin is when the command begins, by this machine's clock. A time in the past means at once.
	Begin time.Time
}

// JobState is the state of a job.
type JobState struct {
	Done bool
	// ExitCode of an ended job; -1 if a signal ended it, which Signal then names.
	ExitCode int
	Signal   string
	Started  time.Time
	Ended    time.Time
	// UserSeconds and SystemSeconds of CPU time that the command and its children used; MaxRSS in bytes.
	UserSeconds   float64
	SystemSeconds float64
	MaxRSS        int64
}

// Output is the result of a short command.
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

// BootIDFile is a file whose content changes with each boot. Source: random(4).
const BootIDFile = "/proc/sys/kernel/random/boot_id"
