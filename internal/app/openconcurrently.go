package app

import (
	"context"
	"sync"

	"github.com/headroom/headroom/internal/host"
)

// OpenConcurrently opens several targets, in the order of their names. Pods and machines of a cluster start at the same
// time: starting one is mostly waiting, for minutes where an operating system boots. What is started on this machine
// takes its processors from what starts beside it, and is opened by itself. When one is not available, all are closed.
func (p *App) OpenConcurrently(ctx context.Context, names []string) ([]host.Target, error) {
	within, stop := context.WithCancel(ctx)
	defer stop()
	opened, errs := make([]host.Target, len(names)), make([]error, len(names))
	var once sync.Once
	var first error
	open := func(i int) {
		if opened[i], errs[i] = p.OpenTarget(within, names[i]); errs[i] != nil {
			once.Do(func() { first = errs[i]; stop() }) // that others were stopped says nothing
		}
	}
	var wait sync.WaitGroup
	for i, name := range names {
		if p.Traits(name).Scheduled {
			wait.Go(func() { open(i) })
		} else if within.Err() == nil {
			open(i)
		}
	}
	wait.Wait()
	if first == nil {
		return opened, nil
	}
	p.CloseConcurrently(opened)
	return nil, first
}

// CloseConcurrently gives targets back at the same time: of those of a cluster each takes its time to be gone.
func (p *App) CloseConcurrently(targets []host.Target) {
	errs := make([]error, len(targets))
	var wait sync.WaitGroup
	for i, t := range targets {
		if c, ok := t.(host.Closer); ok {
			wait.Go(func() { errs[i] = c.Close() })
		}
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			p.PrintError(err)
		}
	}
}
