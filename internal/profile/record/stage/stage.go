package stage

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/record/ringbuffer"
)

// Events are the tracepoints to enable. A kernel may lack some.
func Events() []string {
	return slices.Sorted(maps.Keys(tracepoints()))
}

// Required are those of Events without which there are no stages.
func Required() []string {
	return []string{"block:block_rq_complete", "block:block_rq_issue"}
}

// Accumulator takes events and makes stages of them.
type Accumulator struct {
	formats []format // by type of event
	devices []*device
	aliases map[uint32]*alias
	last    uint64
	lost    uint64
}

// alias is a device that nobody asked for, to which one under test hands its bios on as they are: a path of an NVMe
// device that has several. Its requests are then those of the device under test.
type alias struct {
	of *device // nil: bios come to it on its own account, as to one below a device of dm
	// confirmed says that a bio of the device became a request of the alias.
	confirmed bool
}

// New makes an accumulator for the requests of block devices, by number ("259:0").
func New(formats ringbuffer.Formats, devices []string) (*Accumulator, error) {
	a := &Accumulator{aliases: map[uint32]*alias{}}
	for _, name := range devices {
		number, err := deviceNumber(name)
		if err != nil {
			return nil, err
		}
		a.devices = append(a.devices, newDevice(name, number))
	}
	for event, kind := range tracepoints() {
		if f, ok := formats.Event(event); ok {
			if err := a.learn(f, kind); err != nil {
				return nil, err
			}
		}
	}
	for _, event := range Required() {
		if _, ok := formats.Event(event); !ok {
			return nil, fmt.Errorf("the kernel has no tracepoint %s", event)
		}
	}
	return a, nil
}

// deviceNumber is the number as the kernel has it in events.
func deviceNumber(name string) (uint32, error) {
	majorText, minorText, ok := strings.Cut(name, ":")
	major, err := strconv.ParseUint(majorText, 10, 12)
	minor, err2 := strconv.ParseUint(minorText, 10, 20)
	if !ok || err != nil || err2 != nil {
		return 0, fmt.Errorf("%q is no number of a block device, as 259:0 is", name)
	}
	return uint32(major<<20 | minor), nil
}

// Add takes an event. Events are to come in the order of their times; those of other devices and of other kinds are
// passed over.
func (a *Accumulator) Add(event ringbuffer.Event) {
	if event.Gap {
		for _, device := range a.devices {
			device.forget(a.last)
		}
	}
	a.last = max(a.last, event.Time)
	a.lost += event.Lost
	if int(event.Type) >= len(a.formats) {
		return
	}
	f := &a.formats[event.Type]
	if f.kind == other {
		return
	}
	number := uint32(f.device.Uint(event.Data))
	device := a.asked(number)
	switch {
	case f.kind == remap && device != nil:
		device.remapped(f, event)
	case f.kind == remap:
		a.handOn(number, uint32(f.oldDevice.Uint(event.Data)))
	case device != nil:
		device.add(f, event)
	default:
		a.addToAlias(a.aliases[number], f, event)
	}
}

func (a *Accumulator) asked(number uint32) *device {
	for _, device := range a.devices {
		if device.number == number {
			return device
		}
	}
	return nil
}

// handOn is a bio that goes from a device to one that nobody asked for.
func (a *Accumulator) handOn(to, from uint32) {
	if device := a.asked(from); device != nil && a.aliases[to] == nil {
		a.aliases[to] = &alias{of: device}
	}
}

// addToAlias takes an event of a device that nobody asked for.
func (a *Accumulator) addToAlias(alias *alias, f *format, event ringbuffer.Event) {
	if alias == nil || alias.of == nil {
		return
	}
	if !alias.confirmed {
		if f.kind == bioQueue { // a new bio
			alias.of = nil
			return
		}
		if f.kind != insert && f.kind != issue || !alias.of.waits(f, event) {
			return
		}
		alias.confirmed = true
	}
	alias.of.add(f, event)
}

// Result are the stages of what was added, which took so many seconds.
func (a *Accumulator) Result(seconds float64) profile.Stages {
	stages := profile.Stages{Seconds: seconds, Lost: a.lost, Depth: map[string][]float64{},
		Merged: map[string]uint64{}, Split: map[string]uint64{}, Requeued: map[string]uint64{}}
	for _, device := range a.devices {
		stages.Groups = append(stages.Groups, device.result()...)
		if depth := device.depth(a.last); len(depth) > 0 {
			stages.Depth[device.name] = depth
		}
		count(stages.Merged, device.name, device.merged)
		count(stages.Split, device.name, device.split)
		count(stages.Requeued, device.name, device.requeued)
	}
	return stages
}

func count(counts map[string]uint64, name string, n uint64) {
	if n > 0 {
		counts[name] = n
	}
}
