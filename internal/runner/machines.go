package runner

import (
	"context"
	"strings"

	"github.com/headroom/headroom/internal/facts/counters"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/validity"
)

// machines are all that the loads of a session involve, with their counters: the target in its present boot, the server
// of a network's tests, and the machines behind the place.
type machines struct {
	target host.Target
	disks  []string // under test
	// mount is the point of the NFS mount under test, whose traffic is counted; empty where there is none.
	mount string
	// payer is the machine whose CPU time and energy a load costs.
	payer host.Target
	// countsKernel means that the counters of the kernel are read around each load.
	countsKernel bool

	boot     string
	counters *counters.Reader
	meter    *counters.EnergyMeter
	writes   diskWrites
	server   *serverMachine
	backends []backendMachine
	// ends are those that can be lost for good and replaced, known is what identified them when they were opened.
	ends  []host.Replaceable
	known [2]string
}

// serverMachine is the machine of a network tests' server, seen from the target.
type serverMachine struct {
	*Server
	counters *counters.Reader
	// same means that both ends are the same machine.
	same bool
	// clientPorts and serverPorts are the ports of the two ends that the tests should take.
	clientPorts, serverPorts network.Ports
}

// backendMachine is a machine that the data of the place comes from or through.
type backendMachine struct {
	Backend
	counters *counters.Reader
}

func newMachines(m Measurement) *machines {
	all := &machines{target: m.Target, disks: m.Place.Disks, payer: m.Target, countsKernel: m.CountKernel,
		writes: diskWrites{runID: m.RunID, max: m.MaxWrites}}
	if strings.HasPrefix(m.Machine.Filesystem, "nfs") {
		all.mount = m.Machine.MountPoint
	}
	if m.Host != nil {
		all.payer = m.Host
	}
	ends := []host.Target{m.Target}
	if m.Server != nil {
		all.server = &serverMachine{Server: m.Server}
		if m.Server.Target != m.Target {
			ends = append(ends, m.Server.Target)
		}
	}
	for _, b := range m.Backends {
		all.backends = append(all.backends, backendMachine{Backend: b})
	}
	for _, e := range ends {
		if r, ok := e.(host.Replaceable); ok {
			all.ends = append(all.ends, r)
		}
	}
	return all
}

// open records the boot of the target and looks at what all machines count. It is called again after each boot.
func (m *machines) open(ctx context.Context) error {
	m.known = m.generations()
	var err error
	if m.boot, err = readBoot(ctx, m.target); err != nil {
		return err
	}
	if m.counters, err = counters.NewReader(ctx, m.target, m.disks); err != nil {
		return err
	}
	if m.mount != "" {
		m.counters.CountServer(m.mount)
	}
	if m.server != nil {
		if err := m.server.open(ctx, m); err != nil {
			return err
		}
	}
	for i := range m.backends {
		b := &m.backends[i]
		if b.counters, err = counters.NewReader(ctx, b.Target, nil); err != nil {
			return err
		}
		if b.Mount != "" {
			b.counters.CountServer(b.Mount)
		}
	}
	if m.meter, err = counters.NewEnergyMeter(ctx, m.payer); err != nil {
		return err
	}
	now, err := m.counters.Read(ctx)
	if err == nil {
		m.writes.startBoot(now)
	}
	return err
}

// open looks at the server, and at the ports that tests between it and the target should take. Their counters are read
// from then on.
func (s *serverMachine) open(ctx context.Context, m *machines) error {
	err := s.find(ctx)
	if err != nil {
		return err
	}
	if s.counters, err = counters.NewReader(ctx, s.Target, nil); err != nil {
		return err
	}
	boot, err := readBoot(ctx, s.Target)
	if err != nil {
		return err
	}
	s.same = m.boot != "" && boot == m.boot
	if s.clientPorts, s.serverPorts, err = network.FindPorts(ctx, m.target, s.Target, s.Address); err != nil {
		return err
	}
	m.counters.CountPorts(s.clientPorts.Expected)
	s.counters.CountPorts(s.serverPorts.Expected)
	return nil
}

// readBoot reads what identifies the present boot of a machine.
func readBoot(ctx context.Context, t host.Target) (string, error) {
	files, err := t.ReadFiles(ctx, host.BootIDFile)
	return strings.TrimSpace(string(files[host.BootIDFile].Data)), err
}

// counted is what all machines counted before and after a load.
type counted struct {
	before, after validity.Counters
	server        *validity.ServerCounters
	backends      []validity.EndCounters
	kernel        counters.Kernel // before
}

// countBefore reads all counters before a load.
func (m *machines) countBefore(ctx context.Context) (c counted, err error) {
	if m.server != nil {
		c.server = &validity.ServerCounters{Same: m.server.same}
		if c.server.Before, err = m.server.counters.Read(ctx); err != nil {
			return c, err
		}
	}
	for _, b := range m.backends {
		before, err := b.counters.Read(ctx)
		if err != nil {
			return c, err
		}
		c.backends = append(c.backends, validity.EndCounters{Name: b.Role, Before: before})
	}
	if c.before, err = m.counters.Read(ctx); err == nil && m.countsKernel {
		c.kernel, err = counters.ReadKernel(ctx, m.target)
	}
	return c, err
}

// countAfter reads all counters after a load, and adds to its repetition what the ports, the connections and the kernel
// counted meanwhile.
func (m *machines) countAfter(ctx context.Context, c *counted, rep *lab.Repetition) (err error) {
	if c.after, err = m.counters.Read(ctx); err != nil {
		return err
	}
	m.writes.last = c.after
	if c.server != nil {
		if c.server.After, err = m.server.counters.Read(ctx); err != nil {
			return err
		}
	}
	rep.Ports, rep.Transports = serverTraffic(ClientEnd, c.before, c.after)
	for i, b := range m.backends {
		at := &c.backends[i]
		if at.After, err = b.counters.Read(ctx); err != nil {
			return err
		}
		if b.Mount != "" {
			rep.Ports, rep.Transports = serverTraffic(b.Role, at.Before, at.After)
			c.before.Server, c.after.Server = at.Before.Server, at.After.Server
		}
	}
	if !m.countsKernel {
		return nil
	}
	now, err := counters.ReadKernel(ctx, m.target)
	if err == nil {
		rep.KernelCounters = now.Since(c.kernel)
	}
	return err
}

// pathEnds returns the two ends of a test, client first; none where nothing is claimed.
func (m *machines) pathEnds(claims map[string]validity.ReportedTraffic, c counted) []networkPathEnd {
	if len(claims) == 0 || c.server == nil {
		return nil
	}
	mtu := c.before.MTU
	if n := c.server.Before.MTU; n > 0 && (mtu == 0 || n < mtu) {
		mtu = n
	}
	send, receive := validity.WithHeaders(claims[lab.Send], claims[lab.Receive], mtu)
	return []networkPathEnd{
		{ports: m.server.clientPorts, before: c.before, after: c.after, sent: send, received: receive},
		{ports: m.server.serverPorts, before: c.server.Before, after: c.server.After, sent: receive, received: send},
	}
}

// lost returns why an end is gone for good, where another is available.
func (m *machines) lost(ctx context.Context) error {
	if ctx.Err() != nil {
		return nil
	}
	for _, e := range m.ends {
		if why := e.Lost(ctx); why != nil {
			return why
		}
	}
	return nil
}

// generations identify the present ends: another session may have replaced one.
func (m *machines) generations() (words [2]string) {
	for i, e := range m.ends {
		words[i] = e.Generation()
	}
	return words
}
