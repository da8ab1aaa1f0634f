package saved

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/pasted"
	"github.com/headroom/headroom/internal/prose"
)

// readCPUInfo reads /proc/cpuinfo. People paste the part of one processor or of some, which says nothing about how many
// there are: they are counted only where all of each package are there.
func readCPUInfo(m *Machine, text string) bool {
	first, packages := int64(0), map[string]bool{}
	if f := siblings().FindStringSubmatch(text); f != nil {
		first = collect.Integer(f[1])
	}
	for _, f := range packageLine().FindAllStringSubmatch(text, -1) {
		packages[f[1]] = true
	}
	n := len(processorLine().FindAllString(text, -1))
	if m.pasted && (first < 2 || int64(n) != first*int64(max(1, len(packages)))) {
		text = processorLine().ReplaceAllString(text, "")
	}
	m.files.file("/proc/cpuinfo", text+"\n")
	return true
}

var (
	siblings      = prose.Pattern(`(?m)^siblings\s*: (\d+)$`)
	packageLine   = prose.Pattern(`(?m)^physical id\s*: (\d+)$`)
	processorLine = prose.Pattern(`(?m)^processor\s*: \d+$`)
)

// readLSCPU reads what lscpu prints, as the files that it reads itself. On a terminal the names of vulnerabilities lack
// their first word. Source: util-linux, sys-utils/lscpu.c (print_summary) and lscpu-cputype.c (names of
// vulnerabilities: underscores become spaces).
//
//	CPU(s):                  16
//	On-line CPU(s) list:     0-15
//	  Spec rstack overflow:  Mitigation; Safe RET
func readLSCPU(m *Machine, text string) bool {
	values := map[string]string{}
	section := ""
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		indented := strings.HasPrefix(name, " ")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !indented {
			section = name
		}
		if section == "Vulnerabilities" && indented {
			name = "Vulnerability " + name
		}
		values[name] = value
		if flaw, ok := strings.CutPrefix(name, "Vulnerability "); ok && value != "" {
			file := strings.ReplaceAll(strings.ToLower(flaw), " ", "_")
			m.files.file("/sys/devices/system/cpu/vulnerabilities/"+file,
				strings.Replace(value, "Mitigation; ", "Mitigation: ", 1)+"\n")
		}
	}
	info := ""
	for _, f := range [][2]string{{"vendor_id", "Vendor ID"}, {"cpu family", "CPU family"}, {"model", "Model"},
		{"model name", "Model name"}, {"stepping", "Stepping"}, {"flags", "Flags"}} {
		if v := values[f[1]]; v != "" && v != "-" {
			info += f[0] + "\t: " + v + "\n"
		}
	}
	const source = "lscpu"
	arch := values["Architecture"]
	if x86 := arch == "x86_64" || arch == "i686" || strings.Contains(values["Vendor ID"], "Intel") ||
		strings.Contains(values["Vendor ID"], "AMD"); x86 && info != "" {
		m.files.file("/proc/cpuinfo", info)
	} else if values["Model name"] != "" {
		m.told.add("", collect.Known("cpu.model", values["Model name"], source))
	}
	if arch != "" {
		m.files.file("/proc/sys/kernel/arch", arch+"\n")
	}
	if set, err := machine.ParseCPUList(values["On-line CPU(s) list"]); err == nil && set.Count() > 0 {
		m.files.file(machine.OnlineCPUsPath, set.String()+"\n")
		m.told.add("", collect.Whole("cpu.threads", int64(set.Count()), source))
	}
	sockets, per := collect.Integer(values["Socket(s)"]), collect.Integer(values["Core(s) per socket"])
	if sockets > 0 {
		m.told.add("", collect.Whole("cpu.sockets", sockets, source))
	}
	if sockets > 0 && per > 0 {
		m.told.add("", collect.Whole("cpu.cores", sockets*per, source))
	}
	if v := values["Hypervisor vendor"]; v != "" && strings.Contains(values["Flags"]+"hypervisor", "hypervisor") {
		m.told.add("", collect.Known("vm.hypervisor", strings.ToLower(v), source))
	}
	if n := collect.Integer(values["NUMA node(s)"]); n > 0 {
		m.told.add("", collect.Whole("numa.nodes", n, source))
		for i := range min(n, 1024) {
			if list, ok := values[fmt.Sprintf("NUMA node%d CPU(s)", i)]; ok {
				m.files.file(fmt.Sprintf("/sys/devices/system/node/node%d/cpulist", i), list+"\n")
			}
		}
	}
	return info != "" || len(m.told.all) > 0
}

// readNUMA reads "numactl --hardware". Sizes are mebibytes; newer versions write ranges of CPUs. Source: numactl,
// numactl.c (hardware, print_node_cpus, print_distances).
//
//	available: 2 nodes (0-1)
//	node 0 cpus: 0 1 2 3 4 5 6 7
//	node 0 size: 128833 MB
func readNUMA(m *Machine, text string) bool {
	available := nodesLine().FindStringSubmatch(text)
	if available == nil {
		return false
	}
	for _, f := range nodeLine().FindAllStringSubmatch(text, -1) {
		dir := "/sys/devices/system/node/node" + f[1] + "/"
		switch value := strings.TrimSpace(f[3]); f[2] {
		case "cpus":
			list, _, _ := strings.Cut(value, " (")
			list = strings.Join(strings.Fields(strings.ReplaceAll(list, ",", " ")), ",")
			if set, err := machine.ParseCPUList(list); err == nil {
				m.files.file(dir+"cpulist", set.String()+"\n")
			}
		case "size":
			if n, err := strconv.ParseInt(strings.TrimSuffix(value, " MB"), 10, 64); err == nil && n < 1<<40 {
				m.files.file(dir+"meminfo", fmt.Sprintf("Node %s MemTotal: %d kB\n", f[1], n<<10))
			}
		}
	}
	for _, f := range distanceLine().FindAllStringSubmatch(text, -1) {
		m.files.file("/sys/devices/system/node/node"+f[1]+"/distance", strings.Join(strings.Fields(f[2]), " ")+"\n")
	}
	m.told.add("", lab.Fact{Key: "numa.nodes", Value: available[1], Source: "numactl --hardware"})
	return true
}

var (
	nodesLine    = prose.Pattern(`(?m)^available: (\d{1,4}) nodes? \(`)
	nodeLine     = prose.Pattern(`(?m)^node (\d{1,4}) (cpus|size):(.*)$`)
	distanceLine = prose.Pattern(`(?m)^ *(\d{1,4}): +((?:\d+ *)+)$`)
)

// readLSCPUTable reads "lscpu -e", a row for each processor. Source: util-linux, sys-utils/lscpu.c (print_readable).
//
//	CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE    MAXMHZ   MINMHZ
//	  0    0      0    0 0:0:0:0          yes 3700.0000 800.0000
//	  1    1      1    1 1:1:1:1          yes 3700.0000 800.0000
func readLSCPUTable(m *Machine, text string) bool {
	var columns []string
	distinct := map[string]map[string]bool{}
	nodes := map[string][]string{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if columns == nil {
			columns = f
			continue
		}
		if len(f) != len(columns) {
			continue
		}
		row := map[string]string{}
		for i, c := range columns {
			row[c] = f[i]
		}
		if _, err := strconv.ParseUint(row["CPU"], 10, 16); err != nil || row["ONLINE"] == "no" {
			continue
		}
		for c, value := range row {
			if distinct[c] == nil {
				distinct[c] = map[string]bool{}
			}
			distinct[c][value] = true
		}
		if n, err := strconv.ParseUint(row["NODE"], 10, 16); err == nil {
			node := strconv.FormatUint(n, 10)
			nodes[node] = append(nodes[node], row["CPU"])
		}
	}
	const source = "lscpu -e"
	for _, f := range [][2]string{{"cpu.threads", "CPU"}, {"cpu.sockets", "SOCKET"}, {"cpu.cores", "CORE"},
		{"numa.nodes", "NODE"}} {
		if n := len(distinct[f[1]]); n > 0 && !distinct[f[1]]["-"] {
			m.told.add("", collect.Whole(f[0], int64(n), source))
		}
	}
	for node, list := range nodes {
		if set, err := machine.ParseCPUList(strings.Join(list, ",")); err == nil {
			m.files.file(fmt.Sprintf("/sys/devices/system/node/node%s/cpulist", node), set.String()+"\n")
		}
	}
	return len(distinct) > 0
}

// readSysstat reads what iostat, mpstat and sar say of the machine in their first line, and the time that iostat counts
// as stolen, which is since the start of the machine in its first report. Rates of devices are no facts. Source:
// sysstat, common.c (print_gal_header) and iostat.c (write_plain_cpu_stat).
//
//	Linux 6.8.12-4-pve (pve1) 	11/30/2026 	_x86_64_	(32 CPU)
//	avg-cpu:  %user   %nice %system %iowait  %steal   %idle
//	           5.99    0.00    1.79    0.59    3.10   88.53
func readSysstat(m *Machine, text string) bool {
	release, machine, steal := "", "", ""
	if f := sysstatHead().FindStringSubmatch(text); f != nil {
		release, machine = f[1], f[2]
	}
	if f := averageCPU().FindStringSubmatch(text); f != nil {
		steal = strings.Replace(f[1], ",", ".", 1)
	}
	if strings.Contains(text, "\nDevice") {
		m.Unread = append(m.Unread, ratesOfDevices)
	}
	return m.sysstat(release, machine, steal)
}

var (
	sysstatHead = prose.Pattern(`(?m)^Linux (\d\S+) \(.*\)\s.*\s_(\w+)_\s+\(\d+ CPU\)\s*$`)
	averageCPU  = prose.Pattern(`(?m)^avg-cpu: .*%steal +%idle\s*\n(?: *[\d.,]+%?){4} *([\d.,]+)%? +[\d.,]+%?\s*$`)
)

// ratesOfDevices names what is not read of iostat; watched is the way out.
const (
	watched        = "; headroom watches the devices itself while it measures (headroom run)"
	ratesOfDevices = "rates of devices, which are no facts" + watched
)

// sysstat keeps what a tool of sysstat said, "" where it did not. steal is in percent.
func (m *Machine) sysstat(release, machine, steal string) bool {
	if release != "" {
		m.files.file(collect.ReleasePath, release+"\n")
	}
	if machine != "" {
		m.files.file("/proc/sys/kernel/arch", machine+"\n")
	}
	percent, ok := pasted.Number(steal)
	if ok = ok && percent <= 100; ok {
		m.told.add("", collect.Known("load.steal", strconv.FormatFloat(percent/100, 'g', 4, 64), "iostat"))
	}
	return release != "" || ok
}
