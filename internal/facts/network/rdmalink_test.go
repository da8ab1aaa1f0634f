package network

import (
	"encoding/json"
	"testing"
)

func TestRDMAListeners(t *testing.T) {
	var ends []rdmaEnd
	const printed = `[{"ifindex":0,"ifname":"rxe0","cm-idn":0,"state":"LISTEN","ps":"TCP","pid":199,"comm":"ib_write_bw","src-addr":"0.0.0.0:5201"},
{"ifindex":0,"ifname":"rxe0","cm-idn":2,"state":"CONNECT","ps":"TCP","pid":201,"comm":"ib_write_bw","src-addr":"10.0.11.1:5202","dst-addr":"10.0.11.2:40001"}]`
	if err := json.Unmarshal([]byte(printed), &ends); err != nil {
		t.Fatal(err)
	}
	for port, want := range map[int]bool{5201: true, 201: false, 5202: false, 520: false} {
		if got := awaits(ends, port); got != want {
			t.Errorf("port %d: %v", port, got)
		}
	}
}

func TestInterfaceOf(t *testing.T) {
	const lines = "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever\n" +
		"3: eth1    inet 10.0.11.1/24 scope global eth1\\       valid_lft forever preferred_lft forever\n" +
		"3: eth1    inet6 fe80::68:aff:fe00:b01/64 scope link \\       valid_lft forever preferred_lft forever\n"
	for address, want := range map[string]string{"10.0.11.1": "eth1", "127.0.0.1": "lo",
		"fe80::68:aff:fe00:b01": "eth1", "10.0.11.11": "", "0.0.11.1": ""} {
		if got := interfaceOf(lines, address); got != want {
			t.Errorf("%s is of %q, want %q", address, got, want)
		}
	}
}
