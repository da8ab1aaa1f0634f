package factor

import (
	"context"
	"path"
	"slices"
	"strings"

	"headroom/internal/target"
)

const modulesFile = "/proc/modules"

// isLoaded is the value of a module that is there, besides Absent.
const isLoaded = "loaded"

// nfsModules are what the kernel would load by itself when NFS is mounted, and leave: those of the version and of RDMA,
// with all that they need.
func nfsModules(ctx context.Context, t target.Target, m NFSMount) ([]Spot, error) {
	wanted := []string{"nfsv4"}
	if strings.HasPrefix(m.Option("vers"), "3") {
		wanted = []string{"nfsv3"}
	}
	if strings.HasPrefix(m.Option("proto"), "rdma") {
		wanted = append(wanted, "rpcrdma")
	}
	files, err := t.ReadFiles(ctx, modulesFile)
	if err != nil {
		return nil, err
	}
	var spots []Spot
	for _, name := range wanted {
		out, err := t.Run(ctx, "sh", "-c", `PATH="$PATH:/usr/sbin:/sbin" modprobe -D "$1"`, "sh", name)
		if err != nil {
			return nil, err
		}
		if out.ExitCode != 0 {
			continue // built in, or there is none to load: the mount itself will tell
		}
		for _, needed := range parseDepends(string(out.Stdout)) {
			s := Spot{Kind: inModules, Name: needed}
			if moduleReading(s, files[modulesFile]).value == Absent && !slices.ContainsFunc(spots, func(o Spot) bool {
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

// moduleReading says whether a module is loaded, by the first word of a line of /proc/modules:
//
//	nfsv4 1122304 2 - Live 0xffffffffc0c11000
//	sunrpc 745472 14 nfsv4,rpcrdma,nfs,lockd, Live 0xffffffffc0a02000
//	rdma_rxe 151552 0 - Live 0x0000000000000000
func moduleReading(s Spot, f target.File) reading {
	if f.Err != nil {
		return reading{err: f.Err}
	}
	for line := range strings.Lines(string(f.Data)) {
		if name, _, _ := strings.Cut(line, " "); name == s.Name {
			return reading{value: isLoaded}
		}
	}
	return reading{value: Absent}
}

// The commands that load a module and unload it. What is unmounted is let go a moment later; a module that somebody
// else has begun to use stays.
const (
	loadScript   = `PATH="$PATH:/usr/sbin:/sbin" modprobe "$1"`
	unloadScript = `PATH="$PATH:/usr/sbin:/sbin"; n=0; until rmmod "$1"; do n=$((n+1)); [ $n -lt 20 ] || exit 1; sleep 0.5; done`
)

func moduleCommand(s Spot, mark, value string) []string {
	script := loadScript
	if value == Absent {
		script = unloadScript
	}
	return []string{"sh", "-c", script, mark, s.Name}
}
