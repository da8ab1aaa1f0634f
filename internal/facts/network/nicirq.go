package network

import (
	"slices"
	"strconv"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/lab"
)

// nicInterrupts are network adapters with the numbers of their interrupts.
type nicInterrupts struct {
	nics   []nic
	irqs   [][]int
	Counts machine.Interrupts
}

// readNICInterrupts finds the adapters and what they took of all interrupts. Ports of one PCI function (mlx4 has two to
// a function) share its interrupts, and so do the queues of a virtio adapter with its configuration interrupt.
func readNICInterrupts(r collect.Reader) nicInterrupts {
	nics, _ := findNICs(r)
	nics = slices.DeleteFunc(nics, func(n nic) bool { return !n.hardware() })
	found := nicInterrupts{nics: nics, irqs: make([][]int, len(nics))}
	owners := map[int][]int{}
	left := machine.MaxInterrupts
	for i, n := range nics {
		if n.pci == "" {
			continue
		}
		irqs := machine.FunctionInterrupts(r, n.pci)
		irqs = irqs[:min(len(irqs), left)]
		left -= len(irqs)
		found.irqs[i] = irqs
		for _, irq := range irqs {
			owners[irq] = append(owners[irq], i)
		}
	}
	found.Counts = machine.ReadInterrupts(r, owners, len(nics))
	return found
}

// interruptsOf returns the interrupts of a snapshot, whose file is read once.
func interruptsOf(r collect.Reader, in collect.Scope) nicInterrupts {
	return collect.ReadOnce(in, func() nicInterrupts { return readNICInterrupts(r) })
}

// InterruptNames returns the names of all interrupts of a snapshot by their numbers. Its file is long, so adapters and
// disks share one reading of it.
func InterruptNames(r collect.Reader, in collect.Scope) map[int]string {
	return interruptsOf(r, in).Counts.Names
}

// CollectNICInterrupts collects which CPUs handle the interrupts of each adapter.
func CollectNICInterrupts(r collect.Reader, in collect.Scope) []lab.Fact {
	found := interruptsOf(r, in)
	online, _ := machine.ReadCPUSet(r, machine.OnlineCPUsPath)
	var all []lab.Fact
	for i, n := range found.nics {
		irqs, dir := found.irqs[i], "/sys/bus/pci/devices/"+n.pci+"/msi_irqs"
		reason, source := "", dir
		switch {
		case n.pci == "":
			reason, source = "the adapter does not hang on a PCI function", n.dir+"/device"
		case len(irqs) == 0:
			reason = "the adapter shows no interrupts"
		}
		var facts []lab.Fact
		if reason != "" {
			for _, key := range []string{"nic.irq.count", "nic.irq.cpus", "nic.irq.busiest_share", "nic.irq.remote"} {
				facts = append(facts, collect.Unknown(key, source, reason))
			}
		} else {
			facts = append(facts, collect.Whole("nic.irq.count", int64(len(irqs)), dir))
			facts = append(facts, nicAffinity(r, n, irqs, online)...)
			facts = append(facts, busiestShare(found.Counts.Taken[i], found.Counts.Failed))
		}
		all = append(all, collect.About(n.name, facts...)...)
	}
	return all
}

// nicAffinity returns which threads can handle the interrupts, and how many of the interrupts can only go to threads of
// a node that is not the adapter's.
func nicAffinity(r collect.Reader, n nic, irqs []int, online machine.CPUSet) []lab.Fact {
	const cpus, far = "nic.irq.cpus", "nic.irq.remote"
	sets, err := machine.Affinities(r, irqs)
	if err != nil {
		return []lab.Fact{collect.Unknown(cpus, machine.AffinitySource, collect.Why(err)),
			collect.Unknown(far, machine.AffinitySource, collect.Why(err))}
	}
	facts := []lab.Fact{machine.InterruptCPUs(cpus, sets, online)}
	home, reason := homeThreads(r, n)
	if reason != "" {
		return append(facts, collect.Unknown(far, machine.AffinitySource, reason))
	}
	remote := int64(0)
	for _, set := range sets {
		if set.Count() > 0 && set.And(home).Count() == 0 {
			remote++
		}
	}
	return append(facts, collect.Whole(far, remote, machine.AffinitySource))
}

// homeThreads are the threads of the adapter's own memory node.
func homeThreads(r collect.Reader, n nic) (home machine.CPUSet, reason string) {
	node, err := r.Number("/sys/bus/pci/devices/" + n.pci + "/numa_node")
	nodes := r.Glob("/sys/devices/system/node/node[0-9]*")
	switch {
	case len(nodes) == 1:
		node = 0 // firmware of machines with one node often names none
	case err != nil:
		return nil, "the adapter's memory node is not known: " + collect.Why(err)
	case node < 0:
		return nil, "firmware does not say which memory node the adapter is on"
	}
	dir := "/sys/devices/system/node/node" + strconv.FormatInt(node, 10)
	if len(nodes) == 1 {
		dir = nodes[0]
	}
	home, err = machine.ReadCPUSet(r, dir+"/cpulist")
	if err != nil {
		return nil, "the threads of the adapter's memory node are not known: " + collect.Why(err)
	}
	return home, ""
}

// busiestShare is the share that one thread took of all an adapter's interrupts.
func busiestShare(taken []uint64, err error) lab.Fact {
	const key = "nic.irq.busiest_share"
	var sum, most float64
	for _, n := range taken {
		sum += float64(n)
		most = max(most, float64(n))
	}
	switch {
	case err != nil:
		return collect.Unknown(key, machine.InterruptsPath, collect.Why(err))
	case sum == 0:
		return collect.Unknown(key, machine.InterruptsPath, "the adapter has raised no interrupt yet")
	}
	return collect.Known(key, strconv.FormatFloat(most/sum, 'f', 3, 64), machine.InterruptsPath)
}
