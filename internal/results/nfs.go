package results

import (
	"net/netip"
	"slices"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/report/runs"
	"github.com/headroom/headroom/internal/report/staged"
	"github.com/headroom/headroom/internal/stages"
	"github.com/headroom/headroom/internal/store"
)

// nfsResult shows the stages of an NFS server side by side, then each stage as a separate run. JSON has the runs.
func nfsResult(p *app.App, b *store.Bundle, asked report.Options) (ResultDocument, error) {
	parts, headers, err := partsOf(p, b)
	if err != nil {
		return ResultDocument{}, err
	}
	all, err := summariesOf(p, parts, asked)
	if err != nil {
		return ResultDocument{}, err
	}
	r := ResultDocument{Published: runs.Published(runs.Shown(all, asked)), Runs: headers}
	ofRuns := func(o report.Options) document.Document { return runs.Document(runs.Shown(all, o), o) }
	if r.Document = ofRuns; len(parts) == 1 {
		return r, nil
	}
	d, _, err := StagesDocument(p, b, StagesOptions{})
	best := fastestMount(&d, parts)
	r.Document = func(o report.Options) document.Document {
		out := staged.NFS(d, best, o)
		out.Blocks = append(out.Blocks, ofRuns(o).Blocks...)
		return out
	}
	return r, err
}

// fastestMount returns the mount of the stage that was the fastest for most loads.
func fastestMount(d *stages.Document, parts []*store.Bundle) staged.FastestMount {
	mounts := mountsOf(parts)
	best := staged.FastestMount{Mounts: len(mounts)}
	groups := map[int]stages.Row{}
	wins := map[string]int{}
	for _, r := range d.Rows {
		if _, ours := mounts[r.Stage]; !ours {
			continue
		}
		fastest, known := groups[r.Group]
		if !known || r.Bandwidth > fastest.Bandwidth || r.Bandwidth == fastest.Bandwidth && r.IOPS > fastest.IOPS {
			groups[r.Group] = r
		}
	}
	best.Loads = len(groups)
	for _, r := range groups {
		wins[r.Stage]++
	}
	for _, s := range d.Stages { // in order: of two with as many wins the simpler one is first
		if wins[s.Name] > best.Won {
			best.Stage, best.Won = s.Name, wins[s.Name]
		}
	}
	if best.Stage != "" {
		best.Files = mounts[best.Stage].ConfigFiles(clientIsProxmox(parts))
	}
	return best
}

// mountsOf returns the mounts of stages that headroom made, by the names of the stages.
func mountsOf(bundles []*store.Bundle) map[string]mount.NFS {
	mounts := map[string]mount.NFS{}
	for _, b := range bundles {
		n := b.Run.NFS
		if n == nil || n.Mounted != "" || len(b.Run.Arms) == 0 {
			continue
		}
		addresses := parsedAddresses(n.Addresses)
		for _, transport := range []string{mount.OverTCP, mount.OverRDMA} {
			for _, count := range []int{1, len(addresses)} {
				if 0 < count && count <= len(addresses) && n.Requested == mount.StageName(transport, count) {
					mounts[b.Run.Arms[0].Levels[lab.StageLevel]] = mount.OfStage(*n, transport, addresses[:count])
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

// clientIsProxmox reports whether the saved facts of the client have a version of Proxmox VE.
func clientIsProxmox(bundles []*store.Bundle) bool {
	return slices.ContainsFunc(bundles, func(b *store.Bundle) bool {
		return slices.ContainsFunc(b.Run.Targets, func(t lab.RunTarget) bool {
			return b.Run.NFS != nil && t.Target == b.Run.NFS.Client && slices.ContainsFunc(t.Facts,
				func(f lab.Fact) bool { return f.Key == "os.pve" && f.Unknown == "" && f.Value != "none" })
		})
	})
}
