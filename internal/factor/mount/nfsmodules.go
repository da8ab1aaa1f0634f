package mount

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
)

// nfsModules are what the kernel would load by itself when NFS is mounted, and leave: those of the version and of RDMA,
// with all that they need.
func nfsModules(ctx context.Context, t host.Target, m NFS) ([]spot.Spot, error) {
	wanted := []string{"nfsv4"}
	if strings.HasPrefix(m.Option("vers"), "3") {
		wanted = []string{"nfsv3"}
	}
	if strings.HasPrefix(m.Option("proto"), "rdma") {
		wanted = append(wanted, "rpcrdma")
	}
	files, err := t.ReadFiles(ctx, spot.ModulesFile)
	if err != nil {
		return nil, err
	}
	var spots []spot.Spot
	for _, name := range wanted {
		out, err := t.Run(ctx, "sh", "-c", `PATH="$PATH:/usr/sbin:/sbin" modprobe -D "$1"`, "sh", name)
		if err != nil {
			return nil, err
		}
		if out.ExitCode != 0 {
			continue // built in, or there is none to load: the mount itself will tell
		}
		for _, needed := range parseDepends(string(out.Stdout)) {
			s := spot.Spot{Kind: spot.InModules, Name: needed}
			if spot.ModuleReading(s, files[spot.ModulesFile]).Value == spot.Absent &&
				!slices.ContainsFunc(spots, func(o spot.Spot) bool {
					return o.Name == needed
				}) {
				spots = append(spots, s)
			}
		}
	}
	return spots, nil
}

// parseDepends reads what modprobe -D prints, the modules that are needed first. What is built in has no file.
//
//	builtin configfs
//	insmod /lib/modules/6.1.0-50-amd64/kernel/net/sunrpc/sunrpc.ko
//	insmod /lib/modules/6.12.57/kernel/fs/nfs/nfsv4.ko.xz delay=1
func parseDepends(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "insmod" {
			continue
		}
		name, _, ok := strings.Cut(path.Base(f[1]), ".ko")
		if name = strings.ReplaceAll(name, "-", "_"); ok && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
