package counters

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/validity"
)

const netDevPath = "/proc/net/dev"

// CountPorts adds the counters of all ports, and what is known of some of them in more detail.
func (r *Reader) CountPorts(meant []string) {
	r.ports, r.expectedPorts = true, meant
	r.all = append(r.all, netDevPath)
	for _, port := range meant {
		r.all = append(r.all, r.mtuOf(port))
	}
}

func (r *Reader) mtuOf(port string) string { return network.NetDir + "/" + port + "/mtu" }

// readPorts takes the ports' counters from what was read.
func (r *Reader) readPorts(ctx context.Context, files map[string]host.File, c *validity.Counters) error {
	if !r.ports {
		return nil
	}
	c.Ports = parseNetDev(files[netDevPath].Data)
	if r.mount != "" {
		maps.DeleteFunc(c.Ports, func(port string, _ validity.PortCounters) bool {
			return port == network.LoopbackPort || slices.Contains(r.upperDisks, port)
		})
	}
	for _, port := range r.expectedPorts {
		if n, ok := numberIn(files[r.mtuOf(port)]); ok && (c.MTU == 0 || int(n) < c.MTU) {
			c.MTU = int(n)
		}
		if err := r.readPauses(ctx, port, c); err != nil {
			return err
		}
	}
	return nil
}

// readPauses asks for the pause frames of a port.
func (r *Reader) readPauses(ctx context.Context, port string, c *validity.Counters) error {
	if r.withoutPauses {
		return nil
	}
	out, err := r.target.Run(ctx, "ethtool", "--include-statistics", "--show-pause", port)
	if err != nil && ctx.Err() != nil {
		return err
	}
	received, sent, ok := parsePauses(string(out.Stdout))
	if r.withoutPauses = err != nil || !ok; r.withoutPauses {
		return nil // the driver does not count them, or ethtool is older than 5.10, and asking again would say the same
	}
	p := c.Ports[port]
	p.Received.Paused, p.Sent.Paused = received, sent
	c.Ports[port] = p
	return nil
}

// parseNetDev reads /proc/net/dev: for each port its bytes, packets, errors, drops, …, received and then sent. Source:
// proc_pid_net(5); dev_seq_printf_stats in the kernel's net/core/net-procfs.c, which adds packets that were missed to
// those dropped.
//
//	Inter-|   Receive                                                |  Transmit
//	 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
//	    lo: 336657420  875909    0    0    0     0          0         0 336657420  875909    0    0    0     0       0          0
//	  eth0: 1215092   12127    0    3    0     0          0         0  1040250    8421    0    0    0     0       0          0
func parseNetDev(data []byte) map[string]validity.PortCounters {
	ports := map[string]validity.PortCounters{}
	for line := range bytes.Lines(data) {
		name, rest, ok := bytes.Cut(line, []byte(":"))
		fields := bytes.Fields(rest)
		if !ok || len(fields) < 12 {
			continue
		}
		var v [12]int64
		whole := true
		for i := range v {
			n, err := strconv.ParseInt(string(fields[i]), 10, 64)
			whole = whole && err == nil && n >= 0
			v[i] = n
		}
		if whole {
			ports[string(bytes.TrimSpace(name))] = validity.PortCounters{
				Received: lab.PortFlow{Bytes: v[0], Packets: v[1], Errors: v[2], Dropped: v[3]},
				Sent:     lab.PortFlow{Bytes: v[8], Packets: v[9], Errors: v[10], Dropped: v[11]},
			}
		}
	}
	return ports
}

// parsePauses reads how many pause frames a port was sent and has sent, as ethtool prints them where the driver counts
// them. Source: the kernel's Documentation/networking/statistics.rst, from which the example is.
//
//	Pause parameters for eth0:
//	Autonegotiate:	on
//	RX:		on
//	TX:		on
//	Statistics:
//	  tx_pause_frames: 1
//	  rx_pause_frames: 1
func parsePauses(text string) (received, sent int64, ok bool) {
	for line := range strings.Lines(text) {
		label, value, found := strings.Cut(strings.TrimSpace(line), ":")
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if !found || err != nil || n < 0 {
			continue
		}
		switch label {
		case "rx_pause_frames":
			received, ok = n, true
		case "tx_pause_frames":
			sent, ok = n, true
		}
	}
	return received, sent, ok
}
