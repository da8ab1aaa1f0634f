package machine

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

const nodeDir = "/sys/devices/system/node"

// maxNodes is more than any kernel is built for (CONFIG_NODES_SHIFT is at most 10).
const maxNodes = 1024

// CollectNUMA reads the nodes that the kernel shows. With numa=off, or interleaved by firmware, a machine of several
// sockets shows one node; cpu.sockets and numa.pci_roots then still tell what is there.
func CollectNUMA(r collect.Reader, _ collect.Scope) []lab.Fact {
	names := nodeNames(r)
	nodes := collect.Unknown("numa.nodes", nodeDir, "the kernel shows no nodes; it may be built without NUMA")
	if len(names) > 0 {
		nodes = collect.Whole("numa.nodes", int64(len(names)), nodeDir)
	}
	facts := []lab.Fact{nodes, r.Fact("numa.balancing", "/proc/sys/kernel/numa_balancing"), pciRoots(r)}
	for _, name := range names {
		facts = append(facts, collect.About(name, node(r, nodeDir+"/"+name)...)...)
	}
	return facts
}

// nodeNames are node0, node1, … in the order of their numbers.
func nodeNames(r collect.Reader) []string {
	var names []string
	number := func(name string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(name, "node"))
		if err != nil || !strings.HasPrefix(name, "node") {
			return -1
		}
		return n
	}
	for _, name := range r.Names(nodeDir) {
		if number(name) >= 0 && len(names) < maxNodes {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return number(a) - number(b) })
	return names
}

func node(r collect.Reader, dir string) []lab.Fact {
	const memory = "/meminfo"
	text, err := r.Text(dir + memory)
	info := parseNodeMemory(text)
	amount := func(key, name string) lab.Fact {
		bytes, ok := info[name]
		switch {
		case err != nil:
			return collect.Unknown(key, dir+memory, collect.Why(err))
		case !ok:
			return collect.Unknown(key, dir+memory, "the file does not say "+name)
		}
		return collect.Whole(key, bytes, dir+memory)
	}
	return []lab.Fact{
		r.List("node.cpus", dir+"/cpulist"), // a node may have memory and no CPU
		amount("node.memory", "MemTotal"),
		amount("node.free", "MemFree"),
		r.Fact("node.distances", dir+"/distance"),
		nodeSockets(r, dir),
	}
}

// parseNodeMemory reads the memory of a node into bytes: the lines of /proc/meminfo with the node in front.
//
//	Node 0 MemTotal:       131841004 kB
//	Node 0 MemFree:        119003212 kB
//	Node 0 HugePages_Total:     0
func parseNodeMemory(text string) map[string]int64 {
	var lines strings.Builder
	for line := range strings.Lines(text) {
		if f := strings.SplitN(line, " ", 3); len(f) == 3 && f[0] == "Node" {
			lines.WriteString(f[2])
		}
	}
	return parseMemInfo(lines.String())
}

// nodeSockets counts the packages of a node's CPUs: two or more where nodes are switched off or interleaved.
func nodeSockets(r collect.Reader, dir string) lab.Fact {
	const key = "node.sockets"
	source := dir + "/cpulist"
	cpus, err := ReadCPUSet(r, source)
	if err != nil {
		return collect.Unknown(key, source, collect.Why(err))
	}
	packages := map[string]bool{}
	cpus.each(func(cpu int) {
		if id, err := r.Text(CPUDir + "/cpu" + strconv.Itoa(cpu) + "/topology/physical_package_id"); err == nil {
			packages[id] = true
		}
	})
	if len(packages) == 0 && cpus.Count() > 0 {
		return collect.Unknown(key, CPUDir+"/cpu*/topology", "the kernel shows no topology")
	}
	return collect.Whole(key, int64(len(packages)), source)
}

// pciRoots counts the PCI host bridges: the folders pci0000:00, pci0000:40, … of /sys/devices. Those that a device tree
// describes lie deeper: platform/4010000000.pcie/pci0000:00, platform/axi/1000110000.pcie/pci0000:00.
func pciRoots(r collect.Reader) lab.Fact {
	const key, dir = "numa.pci_roots", "/sys/devices"
	if _, err := r.Entries(dir); err != nil {
		return collect.Unknown(key, dir, collect.Why(err))
	}
	n := 0
	for _, pattern := range []string{"/pci*", "/platform/*/pci*", "/platform/*/*/pci*"} {
		for _, found := range r.Glob(dir + pattern) {
			if isPCIAddress(strings.TrimPrefix(path.Base(found), "pci") + ":00.0") {
				n++
			}
		}
	}
	return collect.Whole(key, int64(n), dir+"/pci*")
}
