package saved

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"headroom/internal/facts/collect"
	"headroom/internal/facts/hardware"
)

// snapshotFile is an archive of files of /proc and /sys in a folder of must-gather.
const snapshotFile = "sysinfo.tgz"

// readSnapshot adds the files of /proc and /sys that must-gather packs for each node. Sources: must-gather,
// collection-scripts/gather_ppc_single_node; cluster-node-tuning-operator, cmd/gather-sysinfo.
//
//	nodes/worker-1/sysinfo.tgz
//	proc/cpuinfo
//	sys/devices/system/node/node0/distance
func (m *Machine) readSnapshot() {
	data, err := m.files.ReadFile(snapshotFile)
	if err != nil {
		return
	}
	from := bytes.NewReader(data)
	if !IsArchive(from) {
		m.Unread = append(m.Unread, snapshotFile+", which is no archive")
		return
	}
	k, err := readArchive(from, int64(len(data)))
	if err != nil {
		m.Unread = append(m.Unread, snapshotFile+": "+err.Error())
		return
	}
	for _, u := range k.unread {
		m.Unread = append(m.Unread, snapshotFile+": "+u)
	}
	for _, folder := range []string{"proc", "sys"} {
		if n, err := k.tree.Folder(folder); err == nil {
			m.put("/"+folder, n)
		}
	}
}

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
			m.tell("", collect.Whole(f[0], int64(n), source))
		}
	}
	for node, list := range nodes {
		if set, err := hardware.ParseCPUList(strings.Join(list, ",")); err == nil {
			m.file(fmt.Sprintf("/sys/devices/system/node/node%s/cpulist", node), set.String()+"\n")
		}
	}
	return len(distinct) > 0
}

var kernelLine = regexp.MustCompile(`(?m)^Kernel release: (\d\S+)$`)

// readSystemInfo reads the kernel's release in sysinfo.txt of crm report. Source: crmsh, crmsh/report/collect.py
// (collect_sys_info).
//
//	Platform: Linux
//	Kernel release: 6.4.0-150600.23.33-default
//	Architecture: x86_64
func readSystemInfo(m *Machine, text string) bool {
	f := kernelLine.FindStringSubmatch(text)
	if f != nil {
		m.file("/proc/sys/kernel/osrelease", f[1]+"\n")
	}
	return f != nil
}
