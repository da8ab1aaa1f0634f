// Command headroom measures the I/O of Linux machines; see internal/cli for what it does.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/cli"
	"github.com/headroom/headroom/internal/config"
)

// These are set by the linker; releases set all of them.
var (
	version = "unknown"
	commit  string
	date    string // of the commit
)

func main() {
	signals := make(chan os.Signal, 8) // none of several that come at once is lost
	signal.Notify(signals, app.StopSignals()...)
	// A reader that goes away (| head) must not end the process in the midst of a run: the write fails instead.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(cli.Run(context.Background(), app.Environment{
		Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: os.Getenv, Version: version,
		Commit: commit, CommitDate: date,
		SystemConfig: config.SystemFile, Signals: signals, Exit: os.Exit,
		Executable: os.Executable, Footprint: new(app.Footprint),
	}))
}
