package saved

import "testing"

func TestTalosLinks(t *testing.T) {
	m, err := Bytes("A", zipOf(t, map[string]string{"10.0.0.3/dmesg.log": "kern: info: [2026-01-02T03:04:05Z]: x\n",
		"10.0.0.3/mounts": "FILESYSTEM SIZE(GB)\n",
		"10.0.0.3/resources/kernelparamstatuses.runtime.talos.dev.yaml": "metadata:\n    id: proc.sys.vm.swappiness\nspec:\n" +
			"    current: \"10\"\n",
		"10.0.0.3/resources/kernelcmdlines.runtime.talos.dev.yaml": "metadata:\n    id: cmdline\nspec:\n" +
			"    cmdline: talos.platform=metal iommu.strict=1\n",
		"10.0.0.3/resources/linkstatuses.net.talos.dev.yaml": "metadata:\n    id: enp3s0\nspec:\n    type: ether\n" +
			"    kind: \"\"\n    mtu: 9000\n    busPath: 0000:03:00.0\n    driver: mlx5_core\n    linkState: true\n" +
			"    speedMbit: 25000\n    duplex: Full\n---\nmetadata:\n    id: bond0\nspec:\n    type: ether\n    kind: bond\n" +
			"    driver: bonding\n    mtu: 1500\n"}))
	if err != nil {
		t.Fatal(err)
	}
	check(t, factsOf(t, m), `memory.swappiness = 10
		kernel.cmdline = talos.platform=metal iommu.strict=1
		nic.speed enp3s0 = 25000000000
		nic.mtu enp3s0 = 9000
		nic.driver enp3s0 = mlx5_core
		nic.pci.address enp3s0 = 0000:03:00.0
		nic.master enp3s0 = unknown
		nic.mtu bond0 = absent`)
}
