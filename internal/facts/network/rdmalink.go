package network

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// RDMALink is a port of an RDMA adapter, as rdma(8) of iproute2 tells.
type RDMALink struct {
	Device string `json:"ifname"`
	State  string `json:"state"` // "ACTIVE", "DOWN"
	// Interface that has the port's addresses; empty of InfiniBand, where another one belongs to it.
	Interface string `json:"netdev"`
}

// RDMALinks are the ports of a target's RDMA adapters. The command prints:
//
//	[{"ifindex":0,"ifname":"rxe0","port":1,"state":"ACTIVE","physical_state":"LINK_UP","netdev":"eth1","netdev_index":3}]
func RDMALinks(ctx context.Context, t host.Target) ([]RDMALink, error) {
	var links []RDMALink
	return links, fromRDMA(ctx, t, &links, "rdma", "-j", "link", "show")
}

// ListeningRDMA reports whether anything on a target waits for RDMA connections at a port, at any address. Such a
// listener has no TCP port, and the kernel reports it only to rdma(8). The command prints:
//
//	[{"ifindex":0,"ifname":"rxe0","cm-idn":0,"state":"LISTEN","ps":"TCP","pid":199,"comm":"ib_write_bw","src-addr":"0.0.0.0:5201"}]
func ListeningRDMA(ctx context.Context, t host.Target, port int) (bool, error) {
	var ends []rdmaEnd
	if err := fromRDMA(ctx, t, &ends, "rdma", "-j", "resource", "show", "cm_id"); err != nil {
		return false, err
	}
	return awaits(ends, port), nil
}

type rdmaEnd struct {
	State  string `json:"state"`
	Source string `json:"src-addr"`
}

func awaits(ends []rdmaEnd, port int) bool {
	for _, e := range ends {
		if e.State == "LISTEN" && strings.HasSuffix(e.Source, fmt.Sprintf(":%d", port)) {
			return true
		}
	}
	return false
}

// fromRDMA reads what rdma(8) prints as JSON, which is nothing at all where there is nothing to tell.
func fromRDMA(ctx context.Context, t host.Target, into any, argv ...string) error {
	out, err := t.Run(ctx, argv...)
	if err != nil {
		return err
	}
	fault := &lab.Error{What: "can't tell what RDMA there is", Target: t.Name(), Command: argv,
		Output: string(out.Stderr), Hints: []string{"it takes rdma of iproute2: apt install iproute2"}}
	if out.ExitCode != 0 {
		return fault
	}
	if len(bytes.TrimSpace(out.Stdout)) == 0 {
		return nil
	}
	if fault.Err = json.Unmarshal(out.Stdout, into); fault.Err != nil {
		return fault
	}
	return nil
}

// InterfaceOf is the network interface that has an address; empty where none has. ip(8), which may be busybox's, prints
// a line for each:
//
//	2: eth0    inet 10.0.2.15/24 brd 10.0.2.255 scope global eth0\       valid_lft forever preferred_lft forever
//	3: eth1    inet 10.0.11.1/24 scope global eth1\       valid_lft forever preferred_lft forever
//	3: eth1    inet6 fe80::68:aff:fe00:b01/64 scope link \       valid_lft forever preferred_lft forever
func InterfaceOf(ctx context.Context, t host.Target, address string) (string, error) {
	argv := []string{"ip", "-o", "address"}
	out, err := t.Run(ctx, argv...)
	if err == nil && out.ExitCode != 0 {
		err = &lab.Error{What: "can't tell whose address " + address + " is", Target: t.Name(), Command: argv,
			Output: string(out.Stderr)}
	}
	return interfaceOf(string(out.Stdout), address), err
}

func interfaceOf(lines, address string) string {
	for line := range strings.Lines(lines) {
		fields := strings.Fields(line)
		if len(fields) < 4 {
			continue
		}
		if own, _, _ := strings.Cut(fields[3], "/"); own == address {
			return strings.TrimSuffix(fields[1], ":")
		}
	}
	return ""
}
