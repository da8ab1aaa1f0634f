package facts

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/testing/factstest"
)

func snapshotOf(t *testing.T, name string) []lab.Fact {
	t.Helper()
	facts, err := SnapshotWithin(t.Context(), SnapshotLimit, factstest.Saved(t, name), lab.Place{})
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// TestNetworkMachines checks the facts for which the saved machines were made. A reason is checked by a part of it.
func TestNetworkMachines(t *testing.T) {
	for machine, wants := range map[string][][3]string{
		"two-socket-25g": {
			{"nic.kind", "bond0", "bond"}, {"nic.kind", "bond0.40", "vlan"}, {"nic.kind", "br0", "bridge"},
			{"nic.bond.hash", "bond0", "layer2"}, {"nic.bond.active", "bond0", "2"},
			{"nic.bond.lacp_rate", "bond0", "slow"},
			{"nic.speed", "ens1f0", "25000000000"}, {"nic.speed", "ens1f2", "?no link"},
			{"nic.speed.supported", "ens1f2", "25000000000"}, {"nic.channels.max", "ens1f0", "128"},
			{"nic.channels", "ens1f0", "4"},
			{"nic.offload.tso", "ens1f0", "on"}, {"nic.offload.tso", "ens1f1", "off"},
			{"nic.coalesce.rx_usecs", "ens2f1", "50"},
			{"nic.pause.rx", "ens1f0", "on"}, {"nic.pause.rx", "ens1f1", "off"},
			{"nic.firmware", "ens1f0", "4.40 0x8001c7d4 1.3534.0"},
			{"nic.irq.remote", "ens1f0", "0"}, {"nic.irq.remote", "ens2f0", "4"}, {"nic.irq.remote", "ens2f1", "0"},
			{"nic.irq.busiest_share", "ens1f1", "1.000"}, {"nic.irq.cpus", "ens1f1", "1"},
			{"nic.irq.cpus", "ens1f0", "4"},
			{"nic.xdp", "ens2f1", "on"}, {"nic.xdp", "ens1f1", "off"}, {"nic.tc_filters", "ens1f1", "2"},
			{"nic.tc_filters", "bond0.40", "1"}, {"nic.rx_missed", "ens1f0", "1204"},
			{"nic.iommu.group_type", "ens2f0", "DMA-FQ"},
			{"net.rules", "", "2"}, {"net.ecmp", "", "on"}, {"net.ecmp.hash", "", "1"}, {"net.irqbalance", "", "on"},
			{"net.softnet.squeezed", "", "48"}, {"net.softnet.dropped", "", "3"}, {"net.tcp_memory_pressure", "", "2"},
			{"net.retransmits", "", "120412"}, {"net.conntrack.max", "", "262144"},
		},
		"cloud-ena": {
			{"nic.allowance_exceeded", "ens5", "14510"}, {"nic.speed", "ens5", "?does not tell"},
			{"nic.tc_filters", "ens5", "0"},
			{"nic.irq.remote", "ens5", "0"}, {"nic.pause.rx", "ens5", "?does not tell"},
			{"net.conntrack.count", "", "?not loaded"},
			{"net.bpf_jit_harden", "", "?permission denied"},
		},
		"infiniband-server": {
			{"port.state", "mlx4_0/2", "INIT"}, {"port.physical", "mlx4_0/2", "LinkUp"},
			{"port.sm_lid", "mlx4_0/2", "0x0"},
			{"port.lanes", "mlx4_0/1", "4"}, {"port.generation", "mlx4_0/1", "QDR"},
			{"port.best_generation", "mlx4_0/1", "QDR"},
			{"port.netdev", "mlx4_0/1", "ib0"}, {"port.netdev", "mlx4_0/2", "ib1"}, {"port.numa_node", "mlx4_0/1", "0"},
			{"nic.kind", "ib0", "ipoib"}, {"nic.ipoib.mode", "ib0", "connected"}, {"nfsd.threads", "", "8"},
			{"nfsd.ports", "", "rdma 20049, tcp 2049"}, {"nfsd.grace", "", "off"}, {"nfsd.grace.time", "", "90"},
			{"nfsd.exports", "", "2"}, {"nfsd.exports.async", "", "1"},
			{"nic.tc_filters", "ib0", "?bpftool is not installed"}, {"nic.channels", "ib0", "?does not tell"},
		},
		"nfs-client": {
			{"mount.nfs.transports", "/mnt/vm", "rdma, rdma"}, {"mount.nfs.transports", "/mnt/vm2", "rdma, rdma"},
			{"mount.nfs.max_connect", "/mnt/vm", "2"}, {"mount.nfs.nconnect", "/mnt/vm", "1"},
			{"mount.nfs.connections", "/mnt/my scratch", "3"}, {"mount.nfs.nconnect", "/mnt/my scratch", "4"},
			{"mount.nfs.retransmits", "/mnt/my scratch", "7"}, {"mount.nfs.sync", "/mnt/my scratch", "on"},
			{"mount.nfs.security", "/mnt/my scratch", "krb5p"}, {"nfs.servers.shared", "", "198.51.100.1"},
			{"port.generation", "mlx4_0/2", "DDR"}, {"nic.offload.tso", "ib0", "?ethtool is not installed"},
			{"net.ecmp", "", "?"},
		},
	} {
		facts := snapshotOf(t, machine)
		for _, w := range wants {
			got := factstest.Said(facts, w[0], w[1])
			reason, isReason := strings.CutPrefix(w[2], "?")
			if isReason && !(strings.HasPrefix(got, "unknown: ") && strings.Contains(got, reason)) ||
				!isReason && got != w[2] {
				t.Errorf("%s: %s of %q is %q, want %q", machine, w[0], w[1], got, w[2])
			}
		}
	}
}
