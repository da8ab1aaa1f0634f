package network

import (
	"net"
	"testing"

	"github.com/headroom/headroom/internal/host"
)

func TestListening(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	here := host.NewLocal(t.TempDir())
	if on, err := Listening(t.Context(), here, port); err != nil || !on {
		t.Errorf("%v, %v of a port that is listened on", on, err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if on, err := Listening(t.Context(), here, port); err != nil || on {
		t.Errorf("%v, %v of a port that is closed", on, err)
	}
	const sockets = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1451 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 24017 1 0000000000000000 20 4 30 10 -1
   1: 00000000000000000000000001000000:1452 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 24018
`
	if listens(sockets, "0A", 5201) || !listens(sockets, "0A", 5202) {
		t.Error("a connection is no listener, and a listener is one")
	}
}

func TestListeningUDP(t *testing.T) {
	bound, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := bound.LocalAddr().(*net.UDPAddr).Port
	here := host.NewLocal(t.TempDir())
	if on, err := ListeningUDP(t.Context(), here, port); err != nil || !on {
		t.Errorf("%v, %v of a port that is bound", on, err)
	}
	if err := bound.Close(); err != nil {
		t.Fatal(err)
	}
	if on, err := ListeningUDP(t.Context(), here, port); err != nil || on {
		t.Errorf("%v, %v of a port that is closed", on, err)
	}
}
