package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/headroom/headroom/internal/prose"
)

// instanceName matches the names of headroom's instances; no other instance is ever removed.
var instanceName = prose.Pattern(`^headroom-[A-Za-z0-9-]*$`)

// instance is a separate trace buffer with its own events and tracer: other users' tracing is not affected.
type instance struct {
	*os.Root
	tracefs *tracefs
	name    string
	guard   *guard
}

// newInstance creates an instance that traces nothing yet, and that is removed when this process ends.
func newInstance(t *tracefs, name string) (*instance, error) {
	if !instanceName().MatchString(name) {
		return nil, fmt.Errorf("%q is no name of an instance of headroom", name)
	}
	g, err := startGuard(t, name)
	if err != nil {
		return nil, err
	}
	made := path.Join("instances", name)
	if err := t.Mkdir(made, 0o750); err != nil {
		return nil, errors.Join(fmt.Errorf("can't make an instance of the tracer: %w", err), g.end())
	}
	root, err := t.OpenRoot(made)
	if err != nil {
		return nil, errors.Join(err, g.end())
	}
	i := &instance{root, t, name, g}
	if err := i.set("tracing_on", "0"); err != nil {
		return nil, errors.Join(err, i.remove())
	}
	return i, nil
}

// enable makes the instance trace events, names or whole systems ("nvme:*"), as far as the kernel has them. It returns
// their names and their formats, including the format of the function tracer.
func (i *instance) enable(events []string) (EventFormats, []string, error) {
	events = expanded(i.tracefs.FS(), events)
	formats, err := ReadEventFormats(i.tracefs.FS(), append([]string{functionEvent}, events...)...)
	if err != nil {
		return formats, nil, err
	}
	for _, e := range events {
		if err := i.set(eventFolder(e)+"/enable", "1"); err != nil {
			return formats, nil, fmt.Errorf("can't have the event %s: %w", e, err)
		}
	}
	formats, err = formats.OfInstance(i.FS())
	return formats, events, err
}

func eventFolder(event string) string { return "events/" + strings.Replace(event, ":", "/", 1) }

// expanded returns the requested events that the kernel has; "nvme:*" is all events of a system.
func expanded(tracefs fs.FS, events []string) []string {
	var all []string
	for _, e := range events {
		found, err := fs.Glob(tracefs, eventFolder(e)+"/format")
		if err != nil {
			continue
		}
		for _, file := range found {
			parts := strings.Split(file, "/")
			all = append(all, parts[1]+":"+parts[2])
		}
	}
	return all
}

// set writes a setting.
func (i *instance) set(file, value string) error {
	f, err := i.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// remove ends all tracing of the instance. Its guard does that, as it does if this process is killed.
func (i *instance) remove() error {
	errs := errors.Join(i.Close(), i.guard.end())
	if err := removeInstance(i.tracefs.Root, i.name); err != nil { // the guard failed
		return errors.Join(err, errs)
	}
	return nil
}

// removeLimit is how long the processes that use an instance can take to end.
const removeLimit = 30 * time.Second

// removeInstance removes an instance, which ends its tracer. It is no error if the instance does not exist, or if its
// recorder removes it at the same time: the kernel returns ENODEV then. Source: instance_rmdir in kernel/trace/trace.c.
func removeInstance(tracefs *os.Root, name string) error {
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := tracefs.Remove(path.Join("instances", name))
		if err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENODEV) {
			return nil
		}
		if !errors.Is(err, syscall.EBUSY) || time.Since(begun) > removeLimit {
			return err
		}
	}
}

// RemoveInstances removes instances of the tracer that an owner's recorders have left behind: those whose names begin
// with a prefix, which begins with "headroom-". If the kernel has no tracefs there are none.
func RemoveInstances(prefix string) error {
	if !instanceName().MatchString(prefix) {
		return fmt.Errorf("%q is no name of an instance of headroom", prefix)
	}
	t, err := openTracefs()
	if errors.Is(err, syscall.ENODEV) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	defer t.Close()
	entries, err := fs.ReadDir(t.FS(), "instances")
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			errs = append(errs, removeInstance(t.Root, e.Name()))
		}
	}
	return errors.Join(errs...)
}

// lost returns how many events found no space in the buffer of a CPU so far. Source: tracing_stats_read in
// kernel/trace/trace.c.
//
//	entries: 129
//	overrun: 0
//	commit overrun: 0
//	…
//	dropped events: 4711
func (i *instance) lost(cpu int) (uint64, error) {
	text, err := i.ReadFile(fmt.Sprintf("per_cpu/cpu%d/stats", cpu))
	if err != nil {
		return 0, err
	}
	return lostEvents(string(text)), nil
}

func lostEvents(stats string) uint64 {
	var sum uint64
	for line := range strings.Lines(stats) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if n, err := strconv.ParseUint(value, 10, 64); err == nil &&
			slices.Contains([]string{"overrun", "commit overrun", "dropped events"}, name) {
			sum += n
		}
	}
	return sum
}
