package nfs

import (
	"strings"
	"testing"

	"headroom/internal/factor/mount"
	"headroom/internal/lab"
	"headroom/internal/results"
	"headroom/internal/stages"
	"headroom/internal/store"
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
		m, err := mount.ParseNFS(c.mount)
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
		for _, f := range configFiles(m, c.proxmox) {
			if f.cost == "" || f.where == "" {
				t.Errorf("%s: %+v", c.mount, f)
			}
			got = append(got, f.name)
			for _, line := range f.lines {
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

// The fastest mount is that which wins most loads; the server's own storage is none, and of two that win as often the
// simpler one is taken.
func TestBestMount(t *testing.T) {
	row := func(stage string, group int, bandwidth float64) stages.Row {
		return stages.Row{Stage: stage, Group: group, Bandwidth: bandwidth}
	}
	d := &stages.Document{Stages: []stages.Stage{{}, {}, {}}, Rows: []stages.Row{row("server", 0, 99), row("one", 0, 5),
		row("two", 0, 9), row("server", 1, 99), row("one", 1, 7), row("two", 1, 6)}}
	for i, name := range []string{"server", "one", "two"} {
		d.Stages[i].Name = name
	}
	mounts := map[string]mount.NFS{"one": {}, "two": {}}
	if stage, won, of := bestMount(d, mounts); stage != "one" || won != 1 || of != 2 {
		t.Errorf("%s, %d of %d", stage, won, of)
	}
	d.Rows = append(d.Rows, row("one", 2, 1), row("two", 2, 2))
	if stage, won, of := bestMount(d, mounts); stage != "two" || won != 2 || of != 3 {
		t.Errorf("%s, %d of %d", stage, won, of)
	}
	if stage, _, _ := bestMount(d, nil); stage != "" {
		t.Errorf("without a mount it is %s", stage)
	}
}

// A run from elsewhere may not say by which addresses its mount was made: then there is nothing to paste.
func TestMountsOfRuns(t *testing.T) {
	for _, c := range []struct {
		addresses []string
		asked     string
		want      int
	}{{nil, stageName(overTCP, 1), 0}, {[]string{"nas"}, stageName(overTCP, 1), 0},
		{[]string{"10.0.1.1"}, stageName(overTCP, 1), 1}, {[]string{"10.0.1.1"}, stageName(overTCP, 2), 0},
		{[]string{"10.0.1.1", "10.0.2.1"}, stageName(overTCP, 2), 2}} {
		b := &store.Bundle{Run: lab.Run{NFS: &lab.NFS{Addresses: c.addresses, Requested: c.asked, Path: "/srv"},
			Arms: []lab.Arm{{Levels: map[string]string{results.StageLevel: "mounted"}}}}}
		if got := len(mountsOf([]*store.Bundle{b})["mounted"].Addresses); got != c.want {
			t.Errorf("%s over %v: %d addresses, want %d", c.asked, c.addresses, got, c.want)
		}
	}
}
