package spot

import (
	"strings"

	"github.com/headroom/headroom/internal/host"
)

const ModulesFile = "/proc/modules"

// IsLoaded is the value of a loaded module; the other value is Absent.
const IsLoaded = "loaded"

// ModuleReading reads whether a module is loaded, from the first word of a line of /proc/modules:
//
//	nfsv4 1122304 2 - Live 0xffffffffc0c11000
//	sunrpc 745472 14 nfsv4,rpcrdma,nfs,lockd, Live 0xffffffffc0a02000
//	rdma_rxe 151552 0 - Live 0x0000000000000000
func ModuleReading(s Spot, f host.File) Reading {
	if f.Err != nil {
		return Reading{Err: f.Err}
	}
	for line := range strings.Lines(string(f.Data)) {
		if name, _, _ := strings.Cut(line, " "); name == s.Name {
			return Reading{Value: IsLoaded}
		}
	}
	return Reading{Value: Absent}
}

// The commands that load a module and unload it. After an unmount, the kernel releases a module a moment later; a
// module that is still used stays.
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
