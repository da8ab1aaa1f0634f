package collect

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Printed is what a command printed, or why it could not be carried out.
type Printed struct {
	Stdout string
	// Failed is empty when the command ended with exit status 0.
	Failed string
}

// CommandLimit is the time that commands have which no snapshot waits for.
const CommandLimit = 2 * time.Second

// inTime gives commands outside of a snapshot as long as they have in one by default.
func inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, set := ctx.Deadline(); set {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, CommandLimit)
}

// RunCommands carries out some commands, a few at a time: one that hangs keeps no other waiting. All together get the
// time of one, so that where many are slow the collector still hears what the others said.
func RunCommands(ctx context.Context, t host.Target, commands [][]string) map[string]Printed {
	ctx, cancel := inTime(ctx)
	defer cancel()
	printed := make(map[string]Printed, len(commands))
	var lock sync.Mutex
	var done sync.WaitGroup
	room := make(chan struct{}, 8)
	for _, argv := range commands {
		room <- struct{}{}
		done.Go(func() {
			p := RunCommand(ctx, t, argv)
			lock.Lock()
			printed[lab.ShellQuote(argv)] = p
			lock.Unlock()
			<-room
		})
	}
	done.Wait()
	return printed
}

// RunCommand carries out a read-only command and keeps why it failed as one line.
func RunCommand(ctx context.Context, t host.Target, argv []string) Printed {
	ctx, cancel := inTime(ctx)
	defer cancel()
	type answer struct {
		out host.Output
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		out, err := t.Run(ctx, argv...)
		answers <- answer{out, err}
	}()
	var out host.Output
	var err error
	select {
	case a := <-answers:
		out, err = a.out, a.err
	case <-ctx.Done():
		// A process that waits for a device that does not answer can't be killed, and nothing is to wait for it, too.
	}
	p := Printed{Stdout: strings.TrimSpace(string(out.Stdout))}
	switch {
	case ctx.Err() != nil:
		p.Failed = argv[0] + " did not end in time"
	case err != nil:
		p.Failed = err.Error()
	case out.ExitCode != 0:
		first, _, _ := strings.Cut(strings.TrimSpace(string(out.Stderr)), "\n")
		p.Failed = fmt.Sprintf("%s ended with exit status %d: %s", argv[0], out.ExitCode, first)
	}
	return p
}

// Scope is the context of a collector in addition to the files.
type Scope struct {
	Place lab.Place
	// Files are the machine's files, for commands that depend on what there is.
	Files fs.FS
	// Printed is the output of the collectors' commands, by the command as lab.ShellQuote renders it.
	Printed map[string]Printed
	// read has values that several collectors of a snapshot need, by type; nil makes each collector read its own.
	read *sync.Map
}

// NewScope returns the scope of all collectors of a snapshot, without the output of their commands.
func NewScope(place lab.Place, files fs.FS) Scope {
	return Scope{Place: place, Files: files, read: new(sync.Map)}
}

// ReadOnce returns a value that several collectors need and only the first of them reads.
func ReadOnce[T any](in Scope, read func() T) T {
	if in.read == nil {
		return read()
	}
	var key *T
	once, _ := in.read.LoadOrStore(key, sync.OnceValue(read))
	return once.(func() T)()
}

// Lookup is the output of a command as a collector sees it.
func (in Scope) Lookup(argv []string) Printed {
	p, ok := in.Printed[lab.ShellQuote(argv)]
	if !ok {
		return Printed{Failed: "the command was not carried out: " + lab.ShellQuote(argv)}
	}
	return p
}
