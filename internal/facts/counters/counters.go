package counters

import (
	"bytes"
	"context"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/machine"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/validity"
)

// Reader reads the machine's counters around a load. Which files there are is found out once, because looking
// for them costs more than reading them.
type Reader struct {
	target host.Target
	disks  []string
	// throttles, clocks and sensors are paths; sensors by disk.
	throttles, clocks []string
	sensors           map[string]string
	maxMHz            float64
	all               []string
	// quotas are the files cpu.stat of the load's control group and of those above it.
	quotas []string
	// mount is a point of NFS whose traffic is counted; empty for none. Uppers are ports over others, which
	// count the same bytes.
	mount      string
	upperDisks []string
	// ports says that those of the machine are counted, meant are those that a network's tests should take, and
	// pauseless says that they count no pause frames.
	ports         bool
	expectedPorts []string
	withoutPauses bool
}

// The files that every kernel has, or that are simply left out where it does not.
const (
	diskStatsPath  = "/proc/diskstats"
	statPath       = "/proc/stat"
	vmStatPath     = "/proc/vmstat"
	loadPath       = "/proc/loadavg"
	pressureIOPath = "/proc/pressure/io"
)

// maxClocks is how many frequency policies are read at most: on some drivers each reading interrupts the core that it
// asks about. On larger machines they are picked evenly.
const maxClocks = 32

// NewReader looks for the counters of a machine and of some disks, by kernel name.
func NewReader(ctx context.Context, t host.Target, disks []string) (*Reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := collect.Reader{FS: t.FS()}
	g := &Reader{target: t, disks: slices.Clone(disks), sensors: map[string]string{}}
	g.throttles = throttleFiles(r)
	policies := r.Glob(machine.CPUDir + "/cpufreq/policy*")
	for _, p := range spaced(policies, maxClocks) {
		if r.Exists(p + "/scaling_cur_freq") {
			g.clocks = append(g.clocks, p+"/scaling_cur_freq")
		}
	}
	g.maxMHz = meanMHz(policies, func(p string) (int64, error) { return r.Number(p + "/cpuinfo_max_freq") })
	for _, d := range disks {
		if file, ok := storage.SensorOf(r, d); ok {
			g.sensors[d] = file
		}
	}
	g.all = []string{diskStatsPath, statPath, vmStatPath, loadPath, pressureIOPath}
	g.quotas = machine.QuotaFiles(r)
	g.all = slices.Concat(g.all, g.throttles, g.clocks, g.quotas)
	for _, d := range disks {
		if file, ok := g.sensors[d]; ok {
			g.all = append(g.all, file)
		}
	}
	return g, nil
}

// CountServer adds what goes between an NFS mount and its server, by its connections, and through the ports of the
// machine.
func (r *Reader) CountServer(point string) {
	r.mount, r.ports = point, true
	r.all = append(r.all, network.MountStatsPath, netDevPath)
	for _, uppers := range network.PortsOver(r.target) {
		r.upperDisks = append(r.upperDisks, uppers...)
	}
}

// Read reads all counters in one round trip. What can't be read is absent as validity.Counters says; the error says
// that the target can't be reached.
func (r *Reader) Read(ctx context.Context) (validity.Counters, error) {
	if err := ctx.Err(); err != nil {
		return validity.Counters{}, err
	}
	now := time.Now()
	files, err := r.target.ReadFiles(ctx, r.all...)
	if err != nil {
		return validity.Counters{}, &lab.Error{What: "can't read the machine's counters",
			Target: host.RemoteName(r.target),
			Err:    err}
	}
	c := validity.Counters{Time: now, Throttles: -1, PressureIO: -1, MaxMHz: r.maxMHz}
	c.Disks = parseDiskStats(files[diskStatsPath].Data, r.disks)
	c.CPU, c.Cores = parseStat(files[statPath].Data)
	c.PagedIn, c.PagedOut = parseVMStat(files[vmStatPath].Data)
	c.Load = parseLoad(files[loadPath].Data)
	if s, ok := parsePressure(files[pressureIOPath].Data); ok {
		c.PressureIO = s.total
	}
	if s := network.ParseMountStats(files[network.MountStatsPath].Data)[r.mount]; r.mount != "" && s.Moved {
		c.Server = &validity.ServerBytes{Read: s.Read, Written: s.Written}
		for _, t := range s.Each {
			c.Transports = append(c.Transports, validity.TransportCalls{Kind: t.Kind, Calls: t.Sent})
		}
	}
	if err := r.readPorts(ctx, files, &c); err != nil {
		return c, err
	}
	for _, p := range r.throttles {
		if n, ok := numberIn(files[p]); ok {
			c.Throttles = max(c.Throttles, 0) + n
		}
	}
	for _, p := range r.quotas {
		q, ok := parseQuota(files[p].Data)
		if !ok {
			continue
		}
		if c.Quota == nil {
			c.Quota = &validity.Quota{}
		}
		c.Quota.Periods, c.Quota.Throttled, c.Quota.Seconds = c.Quota.Periods+q.Periods, c.Quota.Throttled+q.Throttled,
			c.Quota.Seconds+q.Seconds
	}
	c.MHz = meanMHz(r.clocks, func(p string) (int64, error) { return strconv.ParseInt(trimmed(files[p]), 10, 64) })
	for d, p := range r.sensors {
		// Thousandths of a degree. Source: the kernel's Documentation/hwmon/sysfs-interface.rst.
		if n, ok := numberIn(files[p]); ok {
			if c.DiskCelsius == nil {
				c.DiskCelsius = make(map[string]float64, len(r.sensors))
			}
			c.DiskCelsius[d] = float64(n) / 1000
		}
	}
	return c, nil
}

// ReadDisks reads the counters of the disks alone. It is for looking on while a load runs: reading a core's clock can
// interrupt that core, so Read is not for every second. What can't be read is absent, as with Read.
func (r *Reader) ReadDisks(ctx context.Context) (validity.Counters, error) {
	now := time.Now()
	files, err := r.target.ReadFiles(ctx, diskStatsPath)
	if err != nil {
		return validity.Counters{}, &lab.Error{What: "can't read the disks' counters",
			Target: host.RemoteName(r.target),
			Err:    err}
	}
	return validity.Counters{Time: now, Disks: parseDiskStats(files[diskStatsPath].Data, r.disks)}, nil
}

func trimmed(f host.File) string { return string(bytes.TrimSpace(f.Data)) }

func numberIn(f host.File) (int64, bool) {
	if f.Err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(trimmed(f), 10, 64)
	return n, err == nil
}

// throttleFiles are the counters of thermal throttling (x86 only). Every thread shows its core's counter and its
// package's, and each must be counted once.
func throttleFiles(r collect.Reader) []string {
	dir := machine.CPUDir + "/cpu[0-9]*/thermal_throttle"
	return append(
		firstPerTopology(r, r.Glob(dir+"/core_throttle_count"), "core_cpus_list"),
		firstPerTopology(r, r.Glob(dir+"/package_throttle_count"), "physical_package_id")...)
}

// firstPerTopology keeps the first file of those whose CPUs share a value in their topology.
func firstPerTopology(r collect.Reader, files []string, part string) []string {
	seen := map[string]bool{}
	var kept []string
	for _, p := range files {
		id, err := r.Text(path.Dir(path.Dir(p)) + "/topology/" + part)
		if err != nil || !seen[id] {
			kept = append(kept, p)
		}
		seen[id] = true
	}
	return kept
}

// spaced takes at most n of a list, evenly spread.
func spaced(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	picked := make([]string, n)
	for i := range picked {
		picked[i] = list[i*len(list)/n]
	}
	return picked
}

// meanMHz averages frequencies in kHz; 0 when none can be read.
func meanMHz(paths []string, read func(string) (int64, error)) float64 {
	var sum float64
	var n int
	for _, p := range paths {
		if khz, err := read(p); err == nil && khz > 0 {
			sum += float64(khz) / 1000
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

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
