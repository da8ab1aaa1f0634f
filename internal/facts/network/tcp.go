package network

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/lab"
)

const sysDir = "/proc/sys/net/"

// CollectTCP is how the network stack is set and what went wrong in it since boot.
func CollectTCP(r collect.Reader, in collect.Scope) []lab.Fact {
	t := &collect.Thing{}
	t.Add(r.Line("net.congestion_control", sysDir+"ipv4/tcp_congestion_control"),
		r.Line("net.default_qdisc", sysDir+"core/default_qdisc"),
		third(r, "net.tcp_rmem_max", sysDir+"ipv4/tcp_rmem"),
		third(r, "net.tcp_wmem_max", sysDir+"ipv4/tcp_wmem"))
	for _, k := range [][2]string{
		{"net.rmem_max", "core/rmem_max"}, {"net.wmem_max", "core/wmem_max"},
		{"net.tcp_mtu_probing", "ipv4/tcp_mtu_probing"}, {"net.notsent_lowat", "ipv4/tcp_notsent_lowat"},
		{"net.max_backlog", "core/netdev_max_backlog"}, {"net.budget", "core/netdev_budget"},
		{"net.busy_poll", "core/busy_poll"}, {"net.somaxconn", "core/somaxconn"},
		{"net.bpf_jit", "core/bpf_jit_enable"}, {"net.bpf_jit_harden", "core/bpf_jit_harden"},
		{"net.ecmp.hash", "ipv4/fib_multipath_hash_policy"},
	} {
		t.Add(r.Whole(k[0], sysDir+k[1]))
	}
	for _, k := range [][2]string{
		{"net.slow_start_after_idle", "ipv4/tcp_slow_start_after_idle"},
		{"net.window_scaling", "ipv4/tcp_window_scaling"},
		{"net.sack", "ipv4/tcp_sack"}, {"net.forwarding", "ipv4/ip_forward"},
	} {
		t.Add(r.Flag(k[0], sysDir+k[1]))
	}
	t.Add(timestamps(r))
	t.Add(tracked(r, "net.conntrack.count", "nf_conntrack_count"), tracked(r, "net.conntrack.max", "nf_conntrack_max"))
	softnet(r, t)
	t.Add(protocolCounter(r, "net.tcp_memory_pressure", "/proc/net/netstat", "TcpExt", "TCPMemoryPressures"),
		protocolCounter(r, "net.retransmits", "/proc/net/snmp", "Tcp", "RetransSegs"),
		balancer(r, machine.ProcessesOf(r, in)))
	return t.Facts
}

// third is the largest of "4096 131072 6291456": the least, the first and the largest size of a buffer in bytes.
// Source: the kernel's Documentation/networking/ip-sysctl.rst.
func third(r collect.Reader, key, file string) lab.Fact {
	text, err := r.Text(file)
	if err != nil {
		return collect.Unknown(key, file, collect.Why(err))
	}
	f := strings.Fields(text)
	if len(f) == 3 {
		if _, err := strconv.ParseInt(f[2], 10, 64); err == nil {
			return collect.Known(key, f[2], file)
		}
	}
	return collect.Unknown(key, file, "not three numbers: "+strconv.Quote(collect.Shortened(text)))
}

// timestamps are off (0), on with an offset for each connection (1) or on without (2).
func timestamps(r collect.Reader) lab.Fact {
	f := r.Whole("net.timestamps", sysDir+"ipv4/tcp_timestamps")
	switch f.Value {
	case "0":
		f.Value = "off"
	case "1", "2":
		f.Value = "on"
	}
	if f.Unknown == "" && f.Value != "on" && f.Value != "off" {
		return collect.Unknown(f.Key, f.Source, "a value that is not known: "+f.Value)
	}
	return f
}

func tracked(r collect.Reader, key, name string) lab.Fact {
	f := r.Whole(key, sysDir+"netfilter/"+name)
	if f.Unknown != "" && !r.Exists(f.Source) {
		f.Unknown = "connection tracking is not loaded"
	}
	return f
}

// protocolCounter is a counter of /proc/net/snmp or /proc/net/netstat.
func protocolCounter(r collect.Reader, key, file, protocol, name string) lab.Fact {
	text, err := r.Text(file)
	if err != nil {
		return collect.Unknown(key, file, collect.Why(err))
	}
	n, ok := parseProtocols(text, protocol, name)
	if !ok {
		return collect.Unknown(key, file, "the kernel does not count "+name)
	}
	return collect.Whole(key, n, file)
}

// parseProtocols finds a counter in pairs of lines: names, and values in the same order. Source: the kernel's
// net/ipv4/proc.c.
//
//	Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs …
//	Tcp: 1 200 120000 -1 1541 21 6 8 1 59208 47203 12 0 1204 0
//	Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
func parseProtocols(text, protocol, name string) (int64, bool) {
	var names []string
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, protocol+":")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if names == nil {
			names = fields
			continue
		}
		i := slices.Index(names, name)
		if i < 0 || i >= len(fields) {
			return 0, false
		}
		n, err := strconv.ParseInt(fields[i], 10, 64)
		return n, err == nil
	}
	return 0, false
}

// balancer reports whether irqbalance runs. It looks at the names of processes, because neither irqbalance's socket nor
// its unit shows that it is alive.
func balancer(r collect.Reader, all machine.Processes) lab.Fact {
	const key, source = "net.irqbalance", "/proc/*/comm"
	if p, ok := all.Called(func(comm string) bool { return comm == "irqbalance" }); ok {
		return collect.Known(key, "on", "/proc/"+p.Pid+"/comm")
	}
	if all.More {
		return collect.Unknown(key, source, "too many processes to look at all of them")
	}
	// PID 1 is hidden where other users' processes are (hidepid), and not named systemd or init in a container.
	if _, err := r.Text("/proc/1/comm"); err != nil {
		return collect.Unknown(key, source, "the processes of others are not shown")
	}
	return collect.Known(key, "off", source)
}

const softnetPath = "/proc/net/softnet_stat"

// softnet sums what the CPUs did with received packets since boot.
func softnet(r collect.Reader, t *collect.Thing) {
	data, err := r.Bytes(softnetPath)
	sum, ok := parseSoftnet(data)
	for i, key := range []string{"net.softnet.processed", "net.softnet.dropped", "net.softnet.squeezed"} {
		switch {
		case err != nil:
			t.Add(collect.Unknown(key, softnetPath, collect.Why(err)))
		case !ok:
			t.Add(collect.Unknown(key, softnetPath, "the file does not have the columns that are known"))
		default:
			t.Add(collect.Whole(key, sum[i], softnetPath))
		}
	}
}

// parseSoftnet adds up the first three columns, in hexadecimal: packets processed, packets dropped because the backlog
// was full, and times that a CPU stopped with packets left over because its budget or time was used up. There is one
// line for each CPU online. Source: the kernel's net/core/net-procfs.c.
//
//	000042b1 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001
//	0001c3f2 00000003 00000018 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000002
func parseSoftnet(data []byte) (sum [3]int64, ok bool) {
	for line := range bytes.Lines(data) {
		column := 0
		var row [3]int64
		for field := range bytes.FieldsSeq(line) {
			if column == len(row) {
				break
			}
			n, err := strconv.ParseUint(string(field), 16, 32)
			if err != nil {
				break
			}
			row[column] = int64(n)
			column++
		}
		if column < len(row) {
			continue
		}
		ok = true
		for i, n := range row {
			sum[i] += n
		}
	}
	return sum, ok
}
