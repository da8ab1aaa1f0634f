package network

import (
	"context"
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/host"
)

// Listening reports whether anything on a target listens on a TCP port, at any address. The kernel prints the sockets
// like this, with ports in hexadecimal and 0A for listening (Documentation/networking/proc_net_tcp.rst):
//
//	sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
//	 0: 0100007F:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 24017 1 0000000000000000 100 0 0 10 0
//	 0: 00000000000000000000000001000000:1451 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 …
func Listening(ctx context.Context, t host.Target, port int) (bool, error) {
	return listening(ctx, t, "/proc/net/tcp", "0A", port)
}

// ListeningUDP reports the same for a UDP port. A socket that is bound and not connected has the state 07 (TCP_CLOSE,
// net/tcp_states.h):
//
//	  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops
//	6211: 020912C6:2B67 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 24018 2 0000000000000000 0
func ListeningUDP(ctx context.Context, t host.Target, port int) (bool, error) {
	return listening(ctx, t, "/proc/net/udp", "07", port)
}

// listening looks for a socket in a state, in the file of a protocol and in the file of the same protocol over IPv6.
func listening(ctx context.Context, t host.Target, protocol, state string, port int) (bool, error) {
	paths := []string{protocol, protocol + "6"}
	files, err := t.ReadFiles(ctx, paths...)
	if err != nil {
		return false, err
	}
	if files[paths[0]].Err != nil {
		return false, files[paths[0]].Err
	}
	for _, p := range paths { // without IPv6 there is no second one
		if listens(string(files[p].Data), state, port) {
			return true, nil
		}
	}
	return false, nil
}

func listens(sockets, state string, port int) bool {
	for line := range strings.Lines(sockets) {
		fields := strings.Fields(line)
		if len(fields) > 3 && fields[3] == state && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) {
			return true
		}
	}
	return false
}
