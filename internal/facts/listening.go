package facts

import (
	"context"
	"fmt"
	"strings"

	"headroom/internal/target"
)

// Listening says whether anything on a target listens on a TCP port, at any address. The kernel prints the sockets so, with ports in hexadecimal and 0A
// for listening (Documentation/networking/proc_net_tcp.rst):
//
//	sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
//	 0: 0100007F:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 24017 1 0000000000000000 100 0 0 10 0
//	 0: 00000000000000000000000001000000:1451 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 …
func Listening(ctx context.Context, t target.Target, port int) (bool, error) {
	paths := []string{"/proc/net/tcp", "/proc/net/tcp6"}
	files, err := t.ReadFiles(ctx, paths...)
	if err != nil {
		return false, err
	}
	if files[paths[0]].Err != nil {
		return false, files[paths[0]].Err
	}
	for _, p := range paths { // without IPv6 there is no second one
		if listens(string(files[p].Data), port) {
			return true, nil
		}
	}
	return false, nil
}

func listens(sockets string, port int) bool {
	for line := range strings.Lines(sockets) {
		fields := strings.Fields(line)
		if len(fields) > 3 && fields[3] == "0A" && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
			return true
		}
	}
	return false
}
