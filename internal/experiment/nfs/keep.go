package nfs

import (
	"fmt"
	"io"
	"net/netip"
	"path"
	"slices"
	"strings"

	"headroom/internal/factor/mount"
	"headroom/internal/lab"
	"headroom/internal/prose"
	"headroom/internal/results"
	"headroom/internal/stages"
	"headroom/internal/store"
)

// What it takes to have a stage's mount for good: headroom mounts and unmounts, and changes no file of a machine.

// configFile is text for a file of a machine, with what it costs.
type configFile struct {
	where, name string
	lines       []string
	cost        string
}

// bestMount is the stage on a mount of headroom's own that was the fastest in most of the loads that several stages
// have, and in how many of how many; nothing where no stage is ahead.
func bestMount(d *stages.Document, mounts map[string]mount.NFS) (stage string, won, of int) {
	groups := map[int]stages.Row{}
	wins := map[string]int{}
	for _, r := range d.Rows {
		if _, ours := mounts[r.Stage]; !ours {
			continue
		}
		best, known := groups[r.Group]
		if !known || r.Bandwidth > best.Bandwidth || r.Bandwidth == best.Bandwidth && r.IOPS > best.IOPS {
			groups[r.Group] = r
		}
	}
	for _, r := range groups {
		wins[r.Stage]++
	}
	for _, s := range d.Stages { // in their order: of two that won as often the simpler one comes first
		if wins[s.Name] > won {
			stage, won = s.Name, wins[s.Name]
		}
	}
	return stage, won, len(groups)
}

// mountsOf are the mounts of stages that headroom has made, by what the stages are called.
func mountsOf(bundles []*store.Bundle) map[string]mount.NFS {
	mounts := map[string]mount.NFS{}
	for _, b := range bundles {
		n := b.Run.NFS
		if n == nil || n.Mounted != "" || len(b.Run.Arms) == 0 {
			continue
		}
		addresses := parsedAddresses(n.Addresses)
		for _, transport := range []string{overTCP, overRDMA} {
			for _, count := range []int{1, len(addresses)} {
				if 0 < count && count <= len(addresses) && n.Requested == stageName(transport, count) {
					mounts[b.Run.Arms[0].Levels[results.StageLevel]] = stageMount(*n, transport, addresses[:count])
				}
			}
		}
	}
	return mounts
}

func parsedAddresses(texts []string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		if a, err := netip.ParseAddr(text); err == nil {
			all = append(all, a)
		}
	}
	return all
}

// configFiles are the files of client and server that have a mount be there after a boot. Of several addresses each has
// a line of its own, for that is how a client learns of them. Sources: fstab(5), nfs(5), nfs.conf(5),
// modules-load.d(5); Proxmox VE's administration guide, "NFS Backend"; the kernel's
// Documentation/admin-guide/nfs/nfs-rdma.rst.
func configFiles(m mount.NFS, onProxmox bool) []configFile {
	name := path.Base(m.Path)
	if name == "/" {
		name = "nfs"
	}
	rdma := m.Option("proto") == overRDMA
	var files []configFile
	client := configFile{where: "the client", name: "/etc/fstab",
		cost: "a boot waits for the server unless nofail is added"}
	if onProxmox {
		client = configFile{where: "the client", name: "/etc/pve/storage.cfg",
			cost: "it counts for all nodes of the cluster: each must reach the addresses" +
				map[bool]string{true: " and have RDMA"}[rdma]}
	}
	for i, a := range m.Addresses {
		as := name
		if i > 0 {
			as += fmt.Sprintf("-path%d", i+1)
		}
		if onProxmox {
			client.lines = append(client.lines, "nfs: "+as, "\tserver "+a.String(), "\texport "+m.Path,
				"\tpath /mnt/pve/"+as, "\tcontent images", "\toptions "+strings.Join(m.Options, ","), "")
			continue
		}
		one := mount.NFS{Addresses: []netip.Addr{a}, Path: m.Path}
		client.lines = append(client.lines, fmt.Sprintf("%s /mnt/%s nfs4 %s,_netdev 0 0", inFstab(one.String()),
			inFstab(as), strings.Join(m.Options, ",")))
	}
	if len(m.Addresses) > 1 {
		client.cost += "; all mounts of a server share its connections, so what else is mounted of it must be " +
			"unmounted first. Use the first mount: the others only tell the client of their addresses"
	}
	if last := len(client.lines) - 1; client.lines[last] == "" {
		client.lines = client.lines[:last]
	}
	files = append(files, client)
	if rdma {
		files = append(files,
			configFile{where: "the server", name: "/etc/nfs.conf",
				lines: []string{"[nfsd]", "rdma=y", "rdma-port=" + m.Option("port")},
				cost: "nfsd is restarted (systemctl restart nfs-server): clients wait for its grace period, 90 s " +
					"by default"},
			configFile{where: "client and server", name: "/etc/modules-load.d/nfs-rdma.conf",
				lines: []string{"rpcrdma"},
				cost:  "none; without it RDMA is there only once something has loaded the module"})
	}
	return files
}

// inFstab writes blanks as fstab(5) does.
func inFstab(text string) string { return strings.ReplaceAll(text, " ", `\040`) }

// writeConfigHelp says how the best of the measured mounts is had for good.
func writeConfigHelp(w io.Writer, d *stages.Document, bundles []*store.Bundle) error {
	mounts := mountsOf(bundles)
	stage, won, of := bestMount(d, mounts)
	if stage == "" {
		return nil
	}
	text := "To have " + stage + " for good"
	if len(mounts) > 1 {
		text += fmt.Sprintf(", the fastest of %s in %d of %s by the medians; a difference of a few per cent may be "+
			"noise", prose.Count(len(mounts), "mount"), won, prose.Count(of, "load"))
	}
	fmt.Fprintf(w, "\n%s:\n", text)
	for _, f := range configFiles(mounts[stage], clientIsProxmox(bundles)) {
		fmt.Fprintf(w, "  on %s, in %s (cost: %s)\n", f.where, f.name, f.cost)
		for _, line := range f.lines {
			fmt.Fprintln(w, strings.TrimRight("      "+line, " "))
		}
	}
	return nil
}

// clientIsProxmox says whether what was taken down of the client names a version of Proxmox VE.
func clientIsProxmox(bundles []*store.Bundle) bool {
	return slices.ContainsFunc(bundles, func(b *store.Bundle) bool {
		return slices.ContainsFunc(b.Run.Targets, func(t lab.RunTarget) bool {
			return b.Run.NFS != nil && t.Target == b.Run.NFS.Client && slices.ContainsFunc(t.Facts,
				func(f lab.Fact) bool { return f.Key == "os.pve" && f.Unknown == "" && f.Value != "none" })
		})
	})
}
