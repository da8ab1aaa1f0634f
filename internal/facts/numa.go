package facts

import (
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"headroom/internal/lab"
)

const nodeDir = "/sys/devices/system/node"

// maxNodes is more than any kernel is built for (CONFIG_NODES_SHIFT is at most 10).
const maxNodes = 1024

// collectNUMA reads the nodes that the kernel shows. With numa=off, or interleaved by firmware, a machine of several
// sockets shows one node; cpu.sockets and numa.pci_roots then still tell what is there.
func collectNUMA(fsys fs.FS, _ Scope) []lab.Fact {
	r := reader{fsys}
	names := nodeNames(r)
	nodes := unknown("numa.nodes", nodeDir, "the kernel shows no nodes; it may be built without NUMA")
	if len(names) > 0 {
		nodes = whole("numa.nodes", int64(len(names)), nodeDir)
	}
	facts := []lab.Fact{nodes, r.fact("numa.balancing", "/proc/sys/kernel/numa_balancing"), pciRoots(r)}
	for _, name := range names {
		facts = append(facts, about(name, node(r, nodeDir+"/"+name)...)...)
	}
	return facts
}

// nodeNames are node0, node1, … in the order of their numbers.
func nodeNames(r reader) []string {
	var names []string
	number := func(name string) int {
		n, err := strconv.Atoi(strings.TrimPrefix(name, "node"))
		if err != nil || !strings.HasPrefix(name, "node") {
			return -1
		}
		return n
	}
	for _, name := range r.names(nodeDir) {
		if number(name) >= 0 && len(names) < maxNodes {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int { return number(a) - number(b) })
	return names
}

func node(r reader, dir string) []lab.Fact {
	const memory = "/meminfo"
	text, err := r.text(dir + memory)
	info := parseNodeMemory(text)
	amount := func(key, name string) lab.Fact {
		bytes, ok := info[name]
		switch {
		case err != nil:
			return unknown(key, dir+memory, why(err))
		case !ok:
			return unknown(key, dir+memory, "the file does not say "+name)
		}
		return whole(key, bytes, dir+memory)
	}
	return []lab.Fact{
		r.list("node.cpus", dir+"/cpulist"), // a node may have memory and no CPU
		amount("node.memory", "MemTotal"),
		amount("node.free", "MemFree"),
		r.fact("node.distances", dir+"/distance"),
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
func nodeSockets(r reader, dir string) lab.Fact {
	const key = "node.sockets"
	source := dir + "/cpulist"
	cpus, err := readCPUSet(r, source)
	if err != nil {
		return unknown(key, source, why(err))
	}
	packages := map[string]bool{}
	cpus.each(func(cpu int) {
		if id, err := r.text(cpuDir + "/cpu" + strconv.Itoa(cpu) + "/topology/physical_package_id"); err == nil {
			packages[id] = true
		}
	})
	if len(packages) == 0 && cpus.count() > 0 {
		return unknown(key, cpuDir+"/cpu*/topology", "the kernel shows no topology")
	}
	return whole(key, int64(len(packages)), source)
}

// pciRoots counts the PCI host bridges: the folders pci0000:00, pci0000:40, … of /sys/devices.
func pciRoots(r reader) lab.Fact {
	const key, dir = "numa.pci_roots", "/sys/devices"
	entries, err := r.entries(dir)
	if err != nil {
		return unknown(key, dir, why(err))
	}
	n := 0
	for _, e := range entries {
		if rest, ok := strings.CutPrefix(e.Name(), "pci"); ok && isPCIAddress(rest+":00.0") {
			n++
		}
	}
	return whole(key, int64(n), dir+"/pci*")
}
