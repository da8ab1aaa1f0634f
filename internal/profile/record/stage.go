package record

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/profile"
)

// StageEvents returns the tracepoints to enable. A kernel may lack some.
func StageEvents() []string {
	return slices.Sorted(maps.Keys(tracepoints()))
}

// RequiredStageEvents returns the Events without which there are no stages.
func RequiredStageEvents() []string {
	return []string{"block:block_rq_complete", "block:block_rq_issue"}
}

// StageAccumulator converts events to stages.
type StageAccumulator struct {
	formats []format // by type of event
	devices []*device
	aliases map[uint32]*alias
	last    uint64
	lost    uint64
}

// alias is an unrequested device to which a device under test passes its bios unchanged: a path of a multipath NVMe
// device. Its requests then count as requests of the device under test.
type alias struct {
	of *device // nil: bios reach it independently, as they reach a device below a dm device
	// confirmed is set if a bio of the device became a request of the alias.
	confirmed bool
}

// NewStageAccumulator returns an accumulator for the requests of block devices, by number ("259:0").
func NewStageAccumulator(formats EventFormats, devices []string) (*StageAccumulator, error) {
	a := &StageAccumulator{aliases: map[uint32]*alias{}}
	for _, name := range devices {
		number, err := kernelDevice(name)
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
	for _, event := range RequiredStageEvents() {
		if _, ok := formats.Event(event); !ok {
			return nil, fmt.Errorf("the kernel has no tracepoint %s", event)
		}
	}
	return a, nil
}

// kernelDevice returns the number in the notation of the kernel's events.
func kernelDevice(name string) (uint32, error) {
	majorText, minorText, ok := strings.Cut(name, ":")
	major, err := strconv.ParseUint(majorText, 10, 12)
	minor, err2 := strconv.ParseUint(minorText, 10, 20)
	if !ok || err != nil || err2 != nil {
		return 0, fmt.Errorf("%q is no number of a block device, as 259:0 is", name)
	}
	return uint32(major<<20 | minor), nil
}

// Add processes an event. Events must come in the order of their times; events of other devices and of other kinds are
// ignored.
func (a *StageAccumulator) Add(event TracedEvent) {
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
	if f.kind == otherStage {
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

func (a *StageAccumulator) asked(number uint32) *device {
	for _, device := range a.devices {
		if device.number == number {
			return device
		}
	}
	return nil
}

// handOn processes a bio that goes from a device to an unrequested one.
func (a *StageAccumulator) handOn(to, from uint32) {
	if device := a.asked(from); device != nil && a.aliases[to] == nil {
		a.aliases[to] = &alias{of: device}
	}
}

// addToAlias processes an event of an unrequested device.
func (a *StageAccumulator) addToAlias(alias *alias, f *format, event TracedEvent) {
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

// Result returns the stages of all added events, which took this many seconds.
func (a *StageAccumulator) Result(seconds float64) profile.Stages {
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
