package bootloader

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// errGone is a machine that went down and did not come back.
var errGone = errors.New("it went down and did not come back")

// restart reboots a machine by calling ask, and waits until a new boot answers. The result of the command is often lost
// with the connection, so success is determined by the boot ID.
func (o Options) restart(ctx context.Context, m machine, argv []string,
	ask func(ctx context.Context) (host.Output, error)) error {
	before, err := m.read(ctx, host.BootIDFile)
	if err != nil {
		return err
	}
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	out, err := ask(waiting)
	// ssh returns 255 if the connection ends before the command does.
	if err == nil && out.ExitCode != 0 && out.ExitCode != 255 {
		return &lab.Error{What: "can't restart the machine", Target: m.Name(), Command: argv,
			Output: string(out.Stdout) + string(out.Stderr)}
	}
	for {
		now, err := o.readBootID(ctx, m)
		if err == nil && now != before[host.BootIDFile] {
			return o.waitForSystemd(waiting, m)
		}
		if waiting.Err() == nil {
			o.waiting(waiting)
			select {
			case <-waiting.Done():
			case <-time.After(o.Pause):
			}
			continue
		}
		if ctx.Err() != nil && err != nil {
			return errors.Join(ctx.Err(), errGone)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return o.timeoutError(m, argv, out, time.Since(began).Round(time.Second), err == nil)
	}
}

// waiting reports how much of the limit is left.
func (o Options) waiting(ctx context.Context) {
	if end, ok := ctx.Deadline(); ok && o.Waiting != nil {
		o.Waiting(time.Until(end))
	}
}

// reachable waits until a machine answers, which may be shutting down or booting.
func (o Options) reachable(ctx context.Context, m machine) error {
	began := time.Now()
	waiting, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	for {
		_, err := o.readBootID(ctx, m)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		if waiting.Err() != nil {
			return errors.Join(o.timeoutError(m, nil, host.Output{}, time.Since(began).Round(time.Second), false),
				err)
		}
		o.waiting(waiting)
		select {
		case <-waiting.Done():
		case <-time.After(o.Pause):
		}
	}
}

// readBootID reads the boot ID. It gets its full time even if ctx has expired: this last check decides whether changes
// to the machine can be undone.
func (o Options) readBootID(ctx context.Context, m machine) (string, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer stop()
	now, err := m.read(ctx, host.BootIDFile)
	return now[host.BootIDFile], err
}

// timeoutError returns the error of a wait that exceeded the limit.
func (o Options) timeoutError(m machine, argv []string, out host.Output, took time.Duration, seen bool) error {
	if seen {
		return &lab.Error{What: fmt.Sprintf("the machine did not go down in %s", took), Target: m.Name(), Command: argv,
			Output: string(out.Stdout) + string(out.Stderr)}
	}
	return &lab.Error{What: fmt.Sprintf("the machine did not come back in %s", took), Target: m.Name(),
		Err: errGone, Hints: []string{
			"a power cycle starts it with its own boot arguments",
			"then headroom restore removes what is left on its disks",
			"if it only needs longer, allow more time"}}
}

// waitForSystemd waits until systemd has started its services, so that a load does not compete with them. It does not
// wait for a service that hangs: two minutes at most, or the rest of the limit.
func (o Options) waitForSystemd(ctx context.Context, m machine) error {
	if !m.systemd() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		out, err := m.Run(ctx, "systemctl", "is-system-running")
		if state := strings.TrimSpace(string(out.Stdout)); err == nil && state != "initializing" &&
			state != "starting" {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(o.Pause):
		}
	}
	return nil
}
