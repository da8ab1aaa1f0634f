package mount

import (
	"strings"
	"testing"
)

// What is to be pasted has each address, and for RDMA the server's side and the module; on Proxmox VE it is storages of
// its own.
func TestKeptFiles(t *testing.T) {
	for _, c := range []struct {
		mount   string
		proxmox bool
		want    []string
	}{
		{"10.0.1.1:/srv/vm images vers=4.2,proto=tcp", false, nil},
		{"10.0.1.1:/srv vers=4.2,proto=tcp", false,
			[]string{"/etc/fstab", "10.0.1.1:/srv /mnt/srv nfs4 vers=4.2,proto=tcp,_netdev 0 0"}},
		{"10.0.1.1,10.0.2.1:/ vers=4.2,proto=rdma,port=20049,max_connect=2", false,
			[]string{"/etc/fstab", "10.0.1.1:/ /mnt/nfs nfs4 vers=4.2,proto=rdma,port=20049,max_connect=2,_netdev 0 0",
				"10.0.2.1:/ /mnt/nfs-path2 nfs4 vers=4.2,proto=rdma,port=20049,max_connect=2,_netdev 0 0",
				"/etc/nfs.conf", "[nfsd]", "rdma=y", "rdma-port=20049", "/etc/modules-load.d/nfs-rdma.conf",
				"rpcrdma"}},
		{"10.0.1.1,[2001:db8::1]:/srv vers=4.2,proto=tcp,max_connect=2", true, []string{"/etc/pve/storage.cfg",
			"nfs: srv", "server 10.0.1.1", "export /srv", "path /mnt/pve/srv", "content images",
			"options vers=4.2,proto=tcp,max_connect=2", "nfs: srv-path2", "server 2001:db8::1", "export /srv",
			"path /mnt/pve/srv-path2", "content images", "options vers=4.2,proto=tcp,max_connect=2"}},
	} {
		m, err := ParseNFS(c.mount)
		if c.want == nil {
			if err == nil {
				t.Errorf("%s is read, and its path must be written for fstab", c.mount)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, f := range m.ConfigFiles(c.proxmox) {
			if f.Cost == "" || f.Where == "" {
				t.Errorf("%s: %+v", c.mount, f)
			}
			got = append(got, f.Name)
			for _, line := range f.Lines {
				if line != "" {
					got = append(got, strings.TrimSpace(line))
				}
			}
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s:\n%s\nwant\n%s", c.mount, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}
