package app

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/linux"
)

// StopSignals returns the signals on which the program stops and restores settings: all that can be caught and would
// end it otherwise. The signals after SIGABRT stop it only if another process sent them; as faults of the program
// itself they end it at once. The Go runtime ignores the remaining ones, such as SIGALRM, SIGXCPU and SIGPWR.
func StopSignals() []os.Signal {
	return append([]os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGABRT,
		syscall.SIGILL, syscall.SIGTRAP, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGSEGV, syscall.SIGSYS},
		linux.Signals()...)
}

// RepeatedSignalWindow is how long a second signal counts as the first one come again: timeout(1) sends its own to the
// process and to the process's group, and so do others who want to be sure.
const RepeatedSignalWindow = 2 * time.Second

// signalAction is what a signal asks for.
type signalAction int

const (
	stopCleanly signalAction = iota
	alreadyStopping
	stopNow
)

// stopSignals decides what each signal of several asks for.
type stopSignals struct {
	first    time.Time
	received int
}

// action takes a signal that came at a time. One that comes clearly later than the first one, and a third one in any
// case, asks not to wait for the clean-up.
func (s *stopSignals) action(at time.Time) signalAction {
	s.received++
	switch {
	case s.received == 1:
		s.first = at
		return stopCleanly
	case s.received == 2 && at.Sub(s.first) < RepeatedSignalWindow:
		return alreadyStopping
	}
	return stopNow
}

// lastMessageTimeout is how long the last words may take: who reads them may not be there.
const lastMessageTimeout = time.Second

// HandleSignals has signals end the context, and the process where its clean-up is cut short. The returned function
// ends that.
func (p *App) HandleSignals(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		var s stopSignals
		for {
			select {
			case <-done:
				return
			case sig := <-p.Signals:
				switch s.action(time.Now()) {
				case stopCleanly:
					cancel(stopSignal(sig.String() + " signal received"))
					go fmt.Fprintf(p.Stderr, "stopping; press Ctrl-C again after %s to cut the clean-up short\n",
						RepeatedSignalWindow)
				case alreadyStopping:
				case stopNow:
					printed := make(chan struct{})
					go func() { p.printUnfinishedCleanup(); close(printed) }()
					select {
					case <-printed:
					case <-time.After(lastMessageTimeout):
					}
					p.Exit(exitCodeOf(sig))
				}
			}
		}
	}()
	return ctx, func() { close(done); cancel(context.Canceled) }
}

// stopSignal is why a context was ended by a signal.
type stopSignal string

func (a stopSignal) Error() string { return string(a) }

// Is says that it is a cancellation like others.
func (a stopSignal) Is(target error) bool { return target == context.Canceled }

// exitCodeOf a process that a signal has ended, as shells give it.
func exitCodeOf(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return 1
}

// printUnfinishedCleanup prints what may be left when the clean-up is cut short.
func (p *App) printUnfinishedCleanup() {
	what := "what was changed or made"
	if runs := p.Started.unfinished(); runs != "" {
		what = "what " + runs + " has changed or made"
	}
	fmt.Fprintf(p.Stderr, "headroom: the clean-up was cut short; %s may be left; to put it back: headroom restore\n",
		what)
}

// DiscardOnInterrupt takes away what a command is making when it is interrupted: beside the command, which still works
// on it. The command calls what is returned when it has made it.
func (p *App) DiscardOnInterrupt(ctx context.Context, takeAway func() error) (done func()) {
	p.UnfinishedWork.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer p.UnfinishedWork.Done()
		if err := takeAway(); err != nil {
			p.PrintError(err)
		}
	})
	return func() {
		if stop() {
			p.UnfinishedWork.Done()
		}
	}
}
