package mount

import (
	"fmt"
	"net/netip"
	"path"
	"strings"
)

// ConfigFile is text for a file of a machine, with what it costs: headroom mounts and unmounts, and changes no file.
type ConfigFile struct {
	Where, Name string
	Lines       []string
	Cost        string
}

// ConfigFiles returns the files of client and server that restore a mount after a boot. Each of several addresses has a
// separate line, because that is how a client learns of them. Sources: fstab(5), nfs(5), nfs.conf(5),
// modules-load.d(5); Proxmox VE's administration guide, "NFS Backend"; the kernel's
// Documentation/admin-guide/nfs/nfs-rdma.rst.
func (m NFS) ConfigFiles(onProxmox bool) []ConfigFile {
	const indent = "        "
	name := path.Base(m.Path)
	if name == "/" {
		name = "nfs"
	}
	rdma := m.Option("proto") == OverRDMA
	var files []ConfigFile
	client := ConfigFile{Where: "the client", Name: "/etc/fstab",
		Cost: "a boot waits for the server unless nofail is added"}
	if onProxmox {
		client = ConfigFile{Where: "the client", Name: "/etc/pve/storage.cfg",
			Cost: "it counts for all nodes of the cluster: each must reach the addresses" +
				map[bool]string{true: " and have RDMA"}[rdma]}
	}
	for i, a := range m.Addresses {
		as := name
		if i > 0 {
			as += fmt.Sprintf("-path%d", i+1)
		}
		if onProxmox {
			client.Lines = append(client.Lines, "nfs: "+as, indent+"server "+a.String(), indent+"export "+m.Path,
				indent+"path /mnt/pve/"+as, indent+"content images", indent+"options "+strings.Join(m.Options, ","), "")
			continue
		}
		one := NFS{Addresses: []netip.Addr{a}, Path: m.Path}
		client.Lines = append(client.Lines, fmt.Sprintf("%s /mnt/%s nfs4 %s,_netdev 0 0", inFstab(one.String()),
			inFstab(as), strings.Join(m.Options, ",")))
	}
	if len(m.Addresses) > 1 {
		client.Cost += "; all mounts of a server share its connections, so what else is mounted of it must be " +
			"unmounted first. Use the first mount: the others only tell the client of their addresses"
	}
	if last := len(client.Lines) - 1; client.Lines[last] == "" {
		client.Lines = client.Lines[:last]
	}
	files = append(files, client)
	if rdma {
		files = append(files,
			ConfigFile{Where: "the server", Name: "/etc/nfs.conf",
				Lines: []string{"[nfsd]", "rdma=y", "rdma-port=" + m.Option("port")},
				Cost: "nfsd is restarted (systemctl restart nfs-server): clients wait for its grace period, 90 s " +
					"by default"},
			ConfigFile{Where: "client and server", Name: "/etc/modules-load.d/nfs-rdma.conf",
				Lines: []string{"rpcrdma"},
				Cost:  "none; without it RDMA is there only once something has loaded the module"})
	}
	return files
}

// inFstab writes blanks as fstab(5) does.
func inFstab(text string) string { return strings.ReplaceAll(text, " ", `\040`) }
