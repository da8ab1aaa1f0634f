package saved

import (
	"bytes"

	"github.com/headroom/headroom/internal/prose"
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
			m.files.put("/"+folder, n)
		}
	}
}

var kernelLine = prose.Pattern(`(?m)^Kernel release: (\d\S+)$`)

// readSystemInfo reads the kernel's release in sysinfo.txt of crm report. Source: crmsh, crmsh/report/collect.py
// (collect_sys_info).
//
//	Platform: Linux
//	Kernel release: 6.4.0-150600.23.33-default
//	Architecture: x86_64
func readSystemInfo(m *Machine, text string) bool {
	f := kernelLine().FindStringSubmatch(text)
	if f != nil {
		m.files.file("/proc/sys/kernel/osrelease", f[1]+"\n")
	}
	return f != nil
}
