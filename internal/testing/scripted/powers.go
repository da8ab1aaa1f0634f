package scripted

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// Host is a machine that can be rebooted with other arguments.
type Host struct{ *Target }

var _ host.Booter = Host{}

// bootTakes is how long a machine takes to boot.
const bootTakes = 30 * time.Second

// Boot reboots the machine. State in the kernel's memory is reset to server.txtar, and /proc/cmdline has the arguments.
func (h Host) Boot(ctx context.Context, spec host.BootSpec) error {
	if err := h.waitForConnection(ctx); err != nil {
		return err
	}
	m := h.machine
	var kept []string
	for _, a := range strings.Fields(m.own) {
		name, _, _ := strings.Cut(a, "=")
		drop := false
		for _, w := range spec.Without {
			drop = drop || w == name
		}
		if !drop {
			kept = append(kept, a)
		}
	}
	line := strings.Join(append(kept, spec.Arguments...), " ")
	m.boot()
	if err := pause(ctx, bootTakes); err != nil {
		return err
	}
	if m.OnBoot != nil {
		if err := m.OnBoot(line); err != nil {
			return &host.NotStarted{Err: err}
		}
	}
	m.Set("/proc/cmdline", line)
	return nil
}

// Pod is a machine that can be lost for good and replaced.
type Pod struct{ *Target }

var _ host.Replaceable = Pod{}

// Destroy removes the machine for good, with everything that runs there.
func (m *Machine) Destroy(why string) {
	m.mu.Lock()
	m.destroyed = &lab.Error{What: why, Target: m.Name}
	var open []*job
	for _, p := range m.processes {
		if p.timer != nil {
			p.timer.Stop()
		}
		open = append(open, p.handles...)
	}
	m.mu.Unlock()
	for _, j := range open {
		j.close()
	}
}

// Lost returns why it is gone.
func (p Pod) Lost(context.Context) error {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	return p.machine.destroyed
}

// Replace makes another one.
func (p Pod) Replace(ctx context.Context) error {
	if err := pause(ctx, 5*time.Second); err != nil {
		return err
	}
	p.machine.boot()
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	p.machine.destroyed = nil
	p.machine.generation++
	return nil
}

// Generation counts the replacements.
func (p Pod) Generation() string {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	return fmt.Sprint(p.machine.generation)
}

// Place is a target that was created together with something to measure.
type Place struct {
	*Target
	Path string
}

var _ host.HasTestPath = Place{}

// TestPath returns the path to measure.
func (p Place) TestPath() string { return p.Path }
