package machine

import (
	"slices"
	"strings"
	"testing"
)

// What ls of coreutils and that of BusyBox print on a host with a guest whose disk is on an NFS mount.
const openFiles = `/proc/1/fd:
total 0
lrwx------ 1 root root 64 Nov 23 08:49 0 -> /dev/null
/proc/4711/fd:
total 0
lrwx------ 1 root root 64 Nov 23 08:49 12 -> /mnt/pve/rdma/images/101/vm-101-disk-0.raw
lrwx------ 1 root root 64 Nov 23 08:49 13 -> /mnt/pve/rdma/images/101/vm-101-disk-1.raw
/proc/520/fd:
total 0
lrwx------    1 root     root            64 Nov 23 08:49 9 -> socket:[20113]
lrwx------    1 root     root            64 Nov 23 08:49 10 -> /mnt/pve/rdma2/x
`

func TestOpenFiles(t *testing.T) {
	for dir, want := range map[string][]string{"/mnt/pve/rdma": {"4711"}, "/mnt/pve/rdma/": {"4711"},
		"/mnt/pve/rdma2": {"520"}, "/mnt/pve": {"4711", "520"}, "/srv": nil} {
		if got := parseOpenFiles(openFiles, dir); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
}

func TestGuestUUID(t *testing.T) {
	const uuid = "7f1d6a4e-3b52-4c18-9d0e-51c2f0a3b6d7"
	for line, want := range map[string]string{
		"/usr/bin/kvm -id 101 -smbios type=1,uuid=" + uuid:                            uuid,
		"/usr/bin/qemu-system-x86_64 -uuid " + strings.ToUpper(uuid) + " -m 1":        uuid,
		"qemu-kvm -smbios type=1,manufacturer=KubeVirt,uuid=" + uuid + ",family=x":    uuid,
		"qemu-kvm -smbios type=0,vendor=x -m 1":                                       "",
		"qemu-kvm -uuid 00000000-0000-0000-0000-000000000000":                         "",
		"qemu-kvm -smbios type=11,value=x,uuid=" + uuid + " -uuid 00000000-0000-0000": "",
	} {
		g, ok := parseGuest(strings.Fields(line))
		if got := g.uuid(); !ok || got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func FuzzOpenFiles(f *testing.F) {
	f.Add(openFiles, "/mnt/pve/rdma")
	f.Add("/proc/x/fd:\n -> /a/b", "/a")
	f.Fuzz(func(t *testing.T, text, dir string) {
		seen := map[string]bool{}
		for _, pid := range parseOpenFiles(text, dir) {
			if seen[pid] || strings.ContainsAny(pid, "/\n ") {
				t.Errorf("%q", pid)
			}
			seen[pid] = true
		}
	})
}
