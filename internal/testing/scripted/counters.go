package scripted

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Use is what a load transfers and uses in a second. The machine's counters grow by it while the load runs.
type Use struct {
	// Disk is the name of a disk, "nvme0n1"; empty for none.
	Disk                  string
	Reads, Writes         float64 // operations
	ReadBytes, WriteBytes float64
	// Port is the name of a port; empty for none.
	Port                 string
	Received, Sent       float64 // bytes, including headers
	PacketsIn, PacketOut float64
	// CPU is how many processors it keeps busy.
	CPU float64
}

// counters are the totals of loads that have ended.
type counters struct {
	disks map[string]Use
	ports map[string]Use
	cpu   float64
}

func newCounters() counters { return counters{disks: map[string]Use{}, ports: map[string]Use{}} }

func (c *counters) add(u Use, seconds float64) {
	if u.Disk != "" {
		d := c.disks[u.Disk]
		d.Reads, d.Writes = d.Reads+u.Reads*seconds, d.Writes+u.Writes*seconds
		d.ReadBytes, d.WriteBytes = d.ReadBytes+u.ReadBytes*seconds, d.WriteBytes+u.WriteBytes*seconds
		d.CPU += seconds // while it was busy
		c.disks[u.Disk] = d
	}
	if u.Port != "" {
		p := c.ports[u.Port]
		p.Received, p.Sent = p.Received+u.Received*seconds, p.Sent+u.Sent*seconds
		p.PacketsIn, p.PacketOut = p.PacketsIn+u.PacketsIn*seconds, p.PacketOut+u.PacketOut*seconds
		c.ports[u.Port] = p
	}
	c.cpu += u.CPU * seconds
}

// counted returns the totals until now, and since when.
func (m *Machine) counted() (counters, time.Time) {
	now := time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	c := counters{maps.Clone(m.spent.disks), maps.Clone(m.spent.ports), m.spent.cpu}
	for _, p := range m.processes {
		if p.ended.IsZero() {
			for _, u := range p.result.Usage {
				c.add(u, max(0, now.Sub(p.began).Seconds()))
			}
		}
	}
	return c, m.booted
}

// processors is the number of processors of the machine in server.txtar.
const processors = 4

// count makes the kernel's files of counters.
func (m *Machine) count() {
	m.Computed("/proc/uptime", func() string {
		_, booted := m.counted()
		up := time.Since(booted).Seconds()
		return fmt.Sprintf("%.2f %.2f\n", up, processors*up)
	})
	m.Computed("/proc/stat", func() string {
		c, booted := m.counted()
		line := func(name string, n float64) string {
			busy := c.cpu * 100 * n / processors
			return fmt.Sprintf("%s %d 0 %d %d 0 0 0 0 0 0\n", name, int64(1000*n+busy/2), int64(1000*n+busy/2),
				int64(time.Since(booted).Seconds()*100*n-busy))
		}
		text := line("cpu ", processors)
		for i := range processors {
			text += line(fmt.Sprintf("cpu%d", i), 1)
		}
		return text
	})
	m.Computed("/proc/diskstats", func() string {
		c, _ := m.counted()
		var text strings.Builder
		numbers := m.numbers()
		for _, name := range slices.Sorted(maps.Keys(numbers)) {
			d := c.disks[name]
			fmt.Fprintf(&text, " %s %s %d 0 %d %d %d 0 %d %d 0 %d %d 0 0 0 0 0 0\n",
				strings.ReplaceAll(numbers[name], ":", " "), name,
				1000+whole(d.Reads), 8000+whole(d.ReadBytes/512), 100+int64(d.CPU*500), 1000+whole(d.Writes),
				8000+whole(d.WriteBytes/512),
				100+int64(d.CPU*500), 200+int64(d.CPU*1000), 200+int64(d.CPU*1000))
		}
		return text.String()
	})
	m.Computed("/proc/vmstat", func() string {
		c, _ := m.counted()
		in, out := 0.0, 0.0
		for _, d := range c.disks {
			in, out = in+d.ReadBytes, out+d.WriteBytes
		}
		return fmt.Sprintf("pgpgin %d\npgpgout %d\n", 4000+whole(in/1024), 4000+whole(out/1024))
	})
	m.Computed("/proc/net/dev", func() string {
		c, _ := m.counted()
		text := "Inter-|   Receive                                                |  Transmit\n face |bytes    " +
			"packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier " +
			"compressed\n"
		names := []string{"lo"}
		for _, p := range m.allPorts() {
			names = append(names, p.name)
		}
		slices.Sort(names)
		for _, name := range names {
			p := c.ports[name]
			text += fmt.Sprintf("%6s: %d %d 0 0 0 0 0 0 %d %d 0 0 0 0 0 0\n", name, int64(p.Received),
				int64(p.PacketsIn), int64(p.Sent), int64(p.PacketOut))
		}
		return text
	})
	for way, of := range map[string]func(Use) float64{"rx": func(u Use) float64 {
		return u.Received
	}, "tx": func(u Use) float64 { return u.Sent }} {
		m.Computed("/sys/class/net/eth0/statistics/"+way+"_bytes", m.portCounter("eth0", of))
	}
	sockets := func(protocol, state string) func() string {
		return func() string {
			text := "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
			m.mu.Lock()
			defer m.mu.Unlock()
			for i, p := range m.processes {
				if p.ended.IsZero() && p.result.Listens > 0 && (p.result.Protocol == protocol ||
					p.result.Protocol == "" && protocol == "tcp") {
					text += fmt.Sprintf("%4d: 00000000:%04X 00000000:0000 %s 00000000:00000000 00:00000000 00000000  "+
						"   0        0 24017 1 0000000000000000 100 0 0 10 0\n", i, p.result.Listens, state)
				}
			}
			return text
		}
	}
	m.Computed("/proc/net/tcp", sockets("tcp", "0A"))
	m.Computed("/proc/net/udp", sockets("udp", "07"))
}

// portCounter returns the traffic of a port in one direction.
func (m *Machine) portCounter(port string, way func(Use) float64) func() string {
	return func() string {
		c, _ := m.counted()
		return fmt.Sprintln(whole(way(c.ports[port])))
	}
}

// whole rounds a count; sums of fractions of a second are inexact.
func whole(v float64) int64 { return int64(math.Round(v)) }

// numbers returns the numbers of its block devices, by their names.
func (m *Machine) numbers() map[string]string {
	all := map[string]string{}
	for _, name := range m.Names("/sys/class/block") {
		all[name] = m.Get("/sys/class/block/" + name + "/dev")
	}
	return all
}
