package storage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/lab"
)

// diskInterrupts says for each disk how many CPUs its interrupts may go to. All disks of one controller share the
// answer.
func diskInterrupts(s Stack, disks []blockDevice, names map[int]string) map[string]lab.Fact {
	const key = "disk.irq.cpus"
	online, _ := machine.ReadCPUSet(s.Reader, machine.OnlineCPUsPath)
	virtio := virtioInterrupts(names)
	left := machine.MaxInterrupts
	answers := make(map[string]lab.Fact, len(disks))
	ofController := map[string]lab.Fact{}
	for _, d := range disks {
		c := controllerOf(s, d)
		f, done := ofController[c]
		switch {
		case done:
		case c == "":
			f = collect.Unknown(key, machine.InterruptsPath,
				"the disk's own interrupts are unknown: it is not on a PCI function")
		default:
			numbers := controllerInterrupts(s.Reader, c, names, virtio)
			if left -= len(numbers); left < 0 {
				f = collect.Unknown(key, machine.InterruptsPath,
					fmt.Sprintf("the disks have more than %d interrupts together, which are too many "+
						"to look at each", machine.MaxInterrupts))
				break
			}
			f = controllerCPUs(s.Reader, numbers, online)
		}
		ofController[c], answers[d.Name] = f, f
	}
	return answers
}

// controllerOf names what raises a disk's interrupts: its PCI function, or the virtio device that lies on no PCI bus.
func controllerOf(s Stack, d blockDevice) string {
	if address, ok := s.disk("disk", d.Name).pciAddress(); ok {
		return address
	}
	return partOf(d.path, virtioPart)
}

// adminQueue matches the interrupts that carry no data: the admin queue of an NVMe controller, a virtio device's
// changes of configuration.
var adminQueue = regexp.MustCompile(`^nvme\d+q0$|^virtio\d+-config$`)

// virtioInterrupts are the numbers of the interrupts of virtio devices, which name them "virtio1-req.0".
func virtioInterrupts(names map[int]string) map[string][]int {
	found := map[string][]int{}
	for irq, name := range names {
		if device, _, _ := strings.Cut(name, "-"); virtioPart.MatchString(device) {
			found[device] = append(found[device], irq)
		}
	}
	return found
}

// controllerInterrupts are the numbers of a controller's interrupts, without those that carry no data where there are
// others.
func controllerInterrupts(r collect.Reader, controller string, names map[int]string, virtio map[string][]int) []int {
	all := virtio[controller]
	if !virtioPart.MatchString(controller) {
		all = machine.FunctionInterrupts(r, controller)
	}
	data := slices.DeleteFunc(slices.Clone(all), func(irq int) bool { return adminQueue.MatchString(names[irq]) })
	if len(data) == 0 {
		return all
	}
	return data
}

// controllerCPUs counts the CPUs that a controller's interrupts may go to.
func controllerCPUs(r collect.Reader, irqs []int, online machine.CPUSet) lab.Fact {
	const key = "disk.irq.cpus"
	if len(irqs) == 0 {
		return collect.Unknown(key, machine.InterruptsPath, "no interrupts of its controller were found")
	}
	sets, err := machine.Affinities(r, irqs)
	if err != nil {
		return collect.Unknown(key, machine.AffinitySource, collect.Why(err))
	}
	return machine.InterruptCPUs(key, sets, online)
}
