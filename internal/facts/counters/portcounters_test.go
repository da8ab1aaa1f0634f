package counters

import (
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/validity"
)

const netDev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 336657420  875909    0    0    0     0          0         0 336657420  875909    0    0    0     0       0          0
  eth0: 1215092   12127    1    3    0     0          0         0  1040250    8421    2    4    0     0       0          0
eth0.100:7 6 5 4 0 0 0 0 3 2 1 0 0 0 0 0
 bad0: 12 x 0 0 0 0 0 0 0 0 0 0 0 0 0 0
short0: 12 1
`

const pauses = `Pause parameters for eth0:
Autonegotiate:	on
RX:		on
TX:		on
Statistics:
  tx_pause_frames: 1
  rx_pause_frames: 27
`

func TestParseNetDev(t *testing.T) {
	ports := parseNetDev([]byte(netDev))
	want := map[string]validity.PortCounters{
		"lo": {Received: lab.PortFlow{Bytes: 336657420, Packets: 875909},
			Sent: lab.PortFlow{Bytes: 336657420, Packets: 875909}},
		"eth0": {Received: lab.PortFlow{Bytes: 1215092, Packets: 12127, Errors: 1, Dropped: 3},
			Sent: lab.PortFlow{Bytes: 1040250, Packets: 8421, Errors: 2, Dropped: 4}},
		"eth0.100": {Received: lab.PortFlow{Bytes: 7, Packets: 6, Errors: 5, Dropped: 4},
			Sent: lab.PortFlow{Bytes: 3, Packets: 2, Errors: 1}},
	}
	if len(ports) != len(want) {
		t.Errorf("%+v", ports)
	}
	for name, w := range want {
		if ports[name] != w {
			t.Errorf("%s: %+v", name, ports[name])
		}
	}
}

func FuzzParseNetDev(f *testing.F) {
	f.Add([]byte(netDev))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, c := range parseNetDev(data) {
			for _, flow := range []lab.PortFlow{c.Received, c.Sent} {
				if flow.Bytes < 0 || flow.Packets < 0 || flow.Errors < 0 || flow.Dropped < 0 {
					t.Errorf("%q: %+v", name, c)
				}
			}
		}
	})
}

func TestParsePauses(t *testing.T) {
	if received, sent, ok := parsePauses(pauses); received != 27 || sent != 1 || !ok {
		t.Errorf("%d received, %d sent, %v", received, sent, ok)
	}
	if _, _, ok := parsePauses("Pause parameters for eth0:\nAutonegotiate:	on\nRX:		on\nTX:		on\n"); ok {
		t.Error("pause frames were counted where there are none")
	}
}

func FuzzParsePauses(f *testing.F) {
	f.Add(pauses)
	f.Fuzz(func(t *testing.T, text string) {
		if received, sent, _ := parsePauses(text); received < 0 || sent < 0 {
			t.Errorf("%d, %d", received, sent)
		}
	})
}
