package rule

import (
	"slices"
	"strings"
	"testing"
)

// TestTextsThatAreMistaken evaluates single built-in rules for values that are easily mistaken for each other.
func TestTextsThatAreMistaken(t *testing.T) {
	set := builtInSet(t)
	const intel = "cpu.vendor = GenuineIntel"
	const amd = "cpu.vendor = AuthenticAMD"
	for _, c := range []struct {
		rule  string
		facts []string
		want  Verdict
	}{
		// Ice Lake: the text is the same, and buffers are cleared on entering a guest only.
		{"verw", []string{intel, "cpu.bugs = spectre_v1, mmio_stale_data",
			"cpu.vulnerability.mmio_stale_data = Mitigation: Clear CPU buffers; SMT vulnerable"}, NotApplicable},
		{"verw", []string{intel, "cpu.bugs = mds, mmio_stale_data",
			"cpu.vulnerability.mds = Vulnerable: Clear CPU buffers attempted, no microcode; SMT vulnerable"}, Found},
		{"verw", []string{intel, "cpu.bugs = rfds",
			"cpu.vulnerability.reg_file_data_sampling = Mitigation: Clear Register File"}, Found},
		{"verw", []string{intel, "cpu.bugs = rfds",
			"cpu.vulnerability.reg_file_data_sampling = Vulnerable: No microcode"}, Clear},
		{"verw", []string{amd, "cpu.bugs = tsa", "cpu.vulnerability.tsa = Mitigation: Clear CPU buffers"}, Found},
		{"verw", []string{amd, "cpu.bugs = tsa",
			"cpu.vulnerability.tsa = Mitigation: Clear CPU buffers: user/kernel boundary"}, Found},
		{"verw", []string{amd, "cpu.bugs = tsa",
			"cpu.vulnerability.tsa = Vulnerable: Clear CPU buffers attempted, no microcode"}, Found},
		{"verw", []string{amd, "cpu.bugs = tsa", "cpu.vulnerability.tsa = Mitigation: Clear CPU buffers: VM"}, Clear},
		{"slab-debugging", []string{"kernel.cmdline = ro slub_debug=-", "kernel.config = /c",
			"kernel.config.SLUB_DEBUG_ON = y",
			"memory.slab_debug = none"}, Clear},
		{"slab-debugging", []string{"kernel.cmdline = ro slub_debug=O", "kernel.config = /c",
			"kernel.config.SLUB_DEBUG_ON = y", "memory.slab_debug = none"}, Clear},
		{"slab-debugging", []string{"kernel.cmdline = ro slub_debug=,kmalloc-64", "kernel.config = /c"}, Found},
		{"slab-debugging", []string{"kernel.cmdline = ro slab_debug", "kernel.config = /c"}, Found},
		{"slab-debugging", []string{"kernel.cmdline = ro", "kernel.config = /c", "kernel.config.SLUB_DEBUG_ON = y",
			"memory.slab_debug = none"}, Found},
		{"drbd-synchronous",
			[]string{"volume.kind drbd0 = drbd", "volume.drbd.replication drbd0 = Established, Connecting",
				"volume.drbd.protocol drbd0 = C, A"}, Found},
		{"drbd-synchronous", []string{"volume.kind drbd0 = drbd", "volume.drbd.replication drbd0 = Connected",
			"volume.drbd.protocol drbd0 = C"}, Found},
		{"drbd-synchronous", []string{"volume.kind drbd0 = drbd", "volume.drbd.replication drbd0 = Connecting",
			"volume.drbd.protocol drbd0 = C"}, NotApplicable},
		{"nic-lro-with-forwarding", []string{"nic.kind eth0 = physical", "nic.offload.lro eth0 = on",
			"nic.master eth0 = bond0", "net.forwarding = off"}, Clear},
		// The kernel keeps devices behind Thunderbolt strict, and all in a guest whose IOMMU has caching mode.
		{"iommu-strict", []string{"pci.class t = usb", "pci.iommu.group_type t = DMA", "kernel.major = 6",
			"kernel.minor = 12", "kernel.cmdline = quiet", "iommu.default = lazy"}, NotApplicable},
		{"iommu-strict-forced", []string{"pci.class t = usb", "pci.iommu.group_type t = DMA", "kernel.major = 6",
			"kernel.minor = 12", "kernel.cmdline = quiet", "iommu.default = lazy"}, Found},
		{"iommu-strict", []string{"pci.class t = nvme", "pci.iommu.group_type t = DMA", "kernel.major = 6",
			"kernel.minor = 12", "kernel.cmdline = quiet iommu.strict=0", "iommu.default = strict"}, NotApplicable},
		{"iommu-argument-ignored", []string{"pci.class t = nvme", "pci.iommu.group_type t = DMA", "kernel.major = 6",
			"kernel.minor = 12", "kernel.cmdline = quiet iommu.strict=0", "iommu.default = strict"}, Found},
		{"iommu-strict", []string{"pci.class t = nvme", "pci.iommu.group_type t = DMA", "kernel.major = 6",
			"kernel.minor = 12", "kernel.cmdline = quiet", "iommu.default = strict"}, Found},
		{"iommu-strict-forced", []string{"pci.class t = nvme", "pci.iommu.group_type t = DMA", "kernel.major = 6",
			"kernel.minor = 12", "kernel.cmdline = quiet intel_iommu=on,strict", "iommu.default = lazy"}, Clear},
		{"crypt-workqueues", []string{"volume.kind v = crypt", "kernel.major = 6", "kernel.minor = 1",
			"volume.crypt.flags v = none", "volume.rotational v = on"}, NotApplicable},
		{"nfsd-few-threads", []string{"kernel.modules = nfsd", "cpu.threads = 32", "nfsd.threads = 4",
			"kernel.major = 7", "kernel.minor = 1"}, NotApplicable},
		{"drive-emulated-controller", []string{"drive.source d = /d", "drive.bus d = lsi53c895a"}, Found},
		{"drive-emulated-controller", []string{"drive.source d = /d", "drive.bus d = megasas-gen2"}, Found},
		{"drive-emulated-controller", []string{"drive.source d = /d", "drive.bus d = virtio-scsi"}, Clear},
		{"requests-few", []string{"disk.rotational d = off", "disk.driver d = sd", "disk.queue.scheduler d = none",
			"disk.queue.nr_requests d = 32"}, NotApplicable},
		{"requests-few", []string{"disk.rotational d = off", "disk.driver d = sd", "disk.queue.scheduler d = bfq",
			"disk.queue.nr_requests d = 32"}, Found},
		{"nvme-scheduler", []string{"disk.driver d = nvme", "disk.queue.hardware d = 8",
			"disk.queue.scheduler d = kyber"}, Clear},
		{"init-on-alloc", []string{"kernel.modules = zfs", "kernel.cmdline = init_on_alloc=1"}, NotApplicable},
		{"init-on-alloc", []string{"kernel.modules = xfs", "kernel.cmdline = init_on_alloc=1"}, Found},
		{"nvme-link-lanes", []string{"vm.hypervisor = qemu", "disk.transport nvme0n1 = pcie",
			"disk.pci.link.width nvme0n1 = 1",
			"disk.pci.link.max_width nvme0n1 = 4"}, NotApplicable},
		{"queue-depth-small", []string{"disk.transport d = sata", "disk.rotational d = on", "vm.hypervisor = none",
			"disk.queue_depth d = 1"}, NotApplicable},
		{"queue-depth-small", []string{"disk.transport d = sata", "disk.rotational d = off", "vm.hypervisor = kvm",
			"disk.queue_depth d = 1"}, NotApplicable},
		{"queue-depth-small", []string{"disk.transport d = sas", "disk.rotational d = on", "vm.hypervisor = none",
			"disk.queue_depth d = 1"}, Found},
		{"writeback-throttling", []string{"disk.rotational d = off", "disk.queue.wbt_lat_usec d = 0"}, Clear},
		{"writeback-throttling", []string{"disk.rotational d = on", "disk.queue.wbt_lat_usec d = 1000"}, NotApplicable},
		{"pci-link-below", []string{"pci.path n = 0000:00:1c.0, 0000:01:00.0", "vm.hypervisor = none",
			"pci.class n = network", "pci.link.width n = 1", "pci.link.max_width n = 1",
			"pci.link.speed n = 2.5 GT/s PCIe", "pci.link.max_speed n = 5.0 GT/s PCIe"}, NotApplicable},
		{"pci-link-below", []string{"pci.path n = 0000:00:1c.0, 0000:01:00.0", "vm.hypervisor = none",
			"pci.class n = ethernet", "pci.link.width n = 8", "pci.link.max_width n = 16",
			"pci.link.speed n = 8.0 GT/s PCIe", "pci.link.max_speed n = 8.0 GT/s PCIe"}, Found},
		{"drive-cache-writeback", []string{"drive.source d = /d", "drive.backend d = qcow2",
			"drive.cache d = writeback",
			"memory.total = 270000000000", "memory.available = 200000000000"}, Clear},
		{"drive-cache-writeback", []string{"drive.source d = rbd/d", "drive.backend d = rbd",
			"drive.cache d = writeback",
			"memory.total = 270000000000", "memory.available = 20000000000"}, NotApplicable},
		{"vmscape", []string{amd, "cpu.bugs = vmscape", "kvm.loaded = on", "vm.hypervisor = none", "guest.cpus g = 4",
			"cpu.vulnerability.vmscape = Mitigation: IBPB on VMEXIT"}, Clear},
		{"vmscape", []string{amd, "cpu.bugs = vmscape", "kvm.loaded = on", "vm.hypervisor = none", "guest.cpus g = 4",
			"cpu.vulnerability.vmscape = Mitigation: IBPB before exit to userspace"}, Found},
		{"smt-off", []string{"kernel.cmdline = l1tf=full,force", "cpu.smt = forceoff"}, Found},
		{"smt-off", []string{"kernel.cmdline = l1tf=flush", "cpu.smt = off"}, Clear},
		{"smt-off", []string{"kernel.cmdline = tsx_async_abort=full,nosmt", "cpu.smt = off"}, Found},
		// A mount with noac is synchronous without sync. The kernel prints actimeo=0 as its four parts.
		{"nfs-mounted-sync", []string{"mount.type m = nfs4", "mount.nfs.sync m = on",
			"mount.options m = rw, sync, noac"},
			Clear},
		{"nfs-noac", []string{"mount.type m = nfs4", "mount.nfs.sync m = on", "mount.options m = rw, sync, noac"},
			Found},
		{"nfs-noac", []string{"mount.type m = nfs4", "mount.nfs.sync m = off",
			"mount.options m = rw, vers=3, acregmin=0, acregmax=0, acdirmin=0, acdirmax=0"}, Found},
		{"nfs-noac", []string{"mount.type m = nfs4", "mount.nfs.sync m = off", "mount.options m = rw, acregmin=0"},
			Clear},
		{"nfs-slots-above-server", []string{"mount.nfs.protocol m = tcp", "mount.nfs.version m = 4.2",
			"nfs.slots.max = 65536"}, NotApplicable},
		{"nfsd-no-rdma-listener", []string{"kernel.modules = nfsd", "nfsd.threads = 64", "nfsd.ports = tcp 2049",
			"port.layer p = Ethernet", "port.state p = ACTIVE"}, NotApplicable},
		{"nic-one-queue", []string{"nic.kind e = physical", "nic.carrier e = on", "nic.speed e = 1000000000",
			"cpu.threads = 8", "nic.channels e = 1"}, NotApplicable},
		{"nic-one-queue", []string{"nic.kind e = virtio", "nic.carrier e = on", "cpu.threads = 8",
			"nic.channels e = 1"},
			Found},
		{"guest-no-haltpoll", []string{"kernel.arch = x86_64", "vm.hypervisor = kvm", "cpu.threads = 8",
			"cpu.idle.driver = none", "kernel.cmdline = ro idle=poll"}, Clear},
		{"swiotlb-full", []string{"swiotlb.size = 67108864", "swiotlb.used = 67000000", "kernel.config = /c",
			"kernel.config.SWIOTLB_DYNAMIC = y"}, Clear},
		{"swiotlb-full", []string{"swiotlb.size = 67108864", "swiotlb.used = 1000"}, Clear},
		{"sata-link", []string{"vm.hypervisor = kvm", "disk.host.driver d = ahci", "disk.transport d = sata",
			"disk.rotational d = off", "disk.link d = 1.5 Gbps"}, NotApplicable},
		{"virtual-disk-rotating", []string{"vm.hypervisor = kvm", "disk.driver vda = virtio_blk",
			"disk.rotational vda = on"}, NotApplicable},
		{"completion-anywhere", []string{"disk.queue.rq_affinity nvme0n1 = 0"}, Unknown},
		{"completion-anywhere", []string{"disk.queue.rq_affinity nvme0n1 = 1"}, Clear},
		{"block-integrity", []string{"disk.integrity d = nop"}, Clear},
		{"md-parity-defaults", []string{"volume.md.level m = raid6", "volume.rotational m = on",
			"volume.md.group_thread_cnt m = 0", "volume.md.stripe_cache_size m = 8192"}, Clear},
		{"raid-controller-write-through", []string{"disk.rotational d = off",
			"machine.raid.cache_policy = WriteThrough"},
			NotApplicable},
		{"init-on-free", []string{"kernel.cmdline = init_on_free=y"}, Found},
		{"page-debugging", []string{"kernel.config = /c", "kernel.config.DEBUG_PAGEALLOC = y",
			"kernel.cmdline = debug_pagealloc=1"}, Found},
		{"page-debugging", []string{"kernel.config = /c", "kernel.config.DEBUG_PAGEALLOC = y",
			"kernel.config.DEBUG_PAGEALLOC_ENABLE_DEFAULT = y", "kernel.cmdline = debug_pagealloc=0"}, Clear},
		{"locked-memory", []string{"limit.locked_memory = 8388608"}, Clear},
		{"locked-memory", []string{"limit.locked_memory = 8388608", "port.state mlx5_0/1 = ACTIVE"}, Found},
		{"locked-memory", []string{"limit.locked_memory = unlimited", "port.state mlx5_0/1 = ACTIVE"}, Clear},
		{"hardening-options", []string{"kernel.config = /c", "kernel.config.HARDENED_USERCOPY = y"}, Clear},
		{"ecmp-hash-by-address", []string{"net.ecmp = on", "net.ecmp.hash = 2"}, Found},
		{"ecmp-hash-by-address", []string{"net.ecmp = on", "net.ecmp.hash = 3"}, Clear},
	} {
		if got, missing := verdict(set, c.rule, c.facts, t); got != c.want {
			t.Errorf("%s of %q: %s %+v, want %s", c.rule, c.facts, got, missing, c.want)
		}
	}
}

func verdict(s *Set, id string, lines []string, t *testing.T) (Verdict, []Missing) {
	t.Helper()
	for _, f := range s.Evaluate(snapshot(t, lines...), Options{All: true, Unquantified: true, Risks: true}).Findings {
		if f.Rule == id {
			return f.Verdict, f.Missing
		}
	}
	t.Fatalf("there is no rule %s", id)
	return "", nil
}

// TestAdapterToTheServer evaluates rules about one connection, with a known adapter on the path to the server and
// without.
func TestAdapterToTheServer(t *testing.T) {
	set := builtInSet(t)
	mounted := []string{"mount.type /m = nfs4", "mount.nfs.protocol /m = tcp", "mount.nfs.nconnect /m = 1",
		"mount.nfs.max_connect /m = 1", "mount.nfs.connections /m = 1", "nic.kind eth0 = physical",
		"nic.kind eno1 = physical", "nic.speed eth0 = 40000000000"}
	for _, c := range []struct {
		more []string
		want Verdict
	}{
		{[]string{"nic.speed eno1 = 1000000000", "mount.nfs.link_speed /m = 40000000000"}, Found},
		{[]string{"nic.speed eno1 = 1000000000", "mount.nfs.link_speed /m = 1000000000"}, NotApplicable},
		{[]string{"nic.speed eno1 = 1000000000"}, Unknown},
		{[]string{"nic.speed eno1 = 25000000000"}, Found},
	} {
		if got, missing := verdict(set, "nfs-one-connection", append(mounted, c.more...), t); got != c.want {
			t.Errorf("%q: %s %+v, want %s", c.more, got, missing, c.want)
		}
	}
}

// TestRemediesThatFit checks that no remedy reduces what is already too little, or is for another architecture or size.
func TestRemediesThatFit(t *testing.T) {
	set := builtInSet(t)
	strict := []string{"pci.class 0000:01:00.0 = nvme", "pci.iommu.group_type 0000:01:00.0 = DMA", "kernel.major = 6",
		"kernel.minor = 12",
		"kernel.cmdline = ro", "iommu.vfio_groups = 0", "kvm.loaded = off", "pci.sriov.vfs 0000:01:00.0 = 0"}
	for _, c := range []struct {
		rule  string
		facts []string
		want  string
	}{
		{"iommu-strict", append(slices.Clone(strict), "kernel.arch = x86_64", "cpu.threads = 128"),
			"cmdline:iommu.strict=0 cmdline:iommu=pt cmdline:iommu=off"},
		{"iommu-strict", append(slices.Clone(strict), "kernel.arch = x86_64", "cpu.threads = 384"),
			"cmdline:iommu.strict=0 cmdline:iommu=pt"},
		{"iommu-strict", append(slices.Clone(strict), "kernel.arch = aarch64", "cpu.threads = 144"),
			"cmdline:iommu.strict=0 cmdline:iommu.passthrough=1"},
		{"iommu-strict", []string{"pci.class 0004:01:00.0 = nvme", "pci.iommu.group_type 0004:01:00.0 = DMA",
			"kernel.major = 5", "kernel.minor = 10", "kernel.cmdline = ro", "kernel.arch = aarch64",
			"iommu.vfio_groups = 1"},
			"cmdline:iommu.strict=0"},
		{"deep-idle", []string{"kernel.arch = aarch64", "vm.hypervisor = none", "cpu.idle.latency = 100",
			"cpu.idle.driver = acpi_idle"}, "cpu:latency=10"},
		{"aio-exhausted", []string{"kernel.aio_nr = 65000", "kernel.aio_max_nr = 65536"},
			"sysctl:fs.aio-max-nr=1048576"},
		{"aio-exhausted", []string{"kernel.aio_nr = 3000000", "kernel.aio_max_nr = 3145728"}, ""},
		{"conntrack-near-full", []string{"kernel.modules = nf_conntrack", "net.conntrack.count = 250000",
			"net.conntrack.max = 262144"},
			"sysctl:net.netfilter.nf_conntrack_max=524288"},
		{"conntrack-near-full", []string{"kernel.modules = nf_conntrack", "net.conntrack.count = 1000000",
			"net.conntrack.max = 1048576"}, ""},
		{"swiotlb-full", []string{"swiotlb.size = 1073741824", "swiotlb.used = 1073000000", "kernel.config = /c"}, ""},
		{"softnet-dropped", []string{"net.softnet.processed = 2000000", "net.softnet.dropped = 1000",
			"net.max_backlog = 250000"}, ""},
		{"softnet-squeezed", []string{"net.softnet.processed = 2000000", "net.softnet.dropped = 0",
			"net.softnet.squeezed = 9000", "net.budget = 1000", "sysctl.net.core.netdev_budget_usecs = 2000"},
			"sysctl:net.core.netdev_budget_usecs=8000 irq:affinity=spread"},
		{"softnet-squeezed", []string{"net.softnet.processed = 2000000", "net.softnet.dropped = 0",
			"net.softnet.squeezed = 9000", "net.budget = 1000", "sysctl.net.core.netdev_budget_usecs = 8000"},
			"irq:affinity=spread"},
		// With KVM in the kernel the paths from guests count, too, even if no guest runs.
		{"verw", []string{"cpu.vendor = GenuineIntel", "cpu.bugs = mds", "kernel.major = 6", "kernel.minor = 18",
			"cpu.vulnerability.mds = Mitigation: Clear CPU buffers; SMT vulnerable"},
			"cmdline:mitigations=auto,no_user_kernel,no_user_user,no_guest_host,no_guest_guest"},
		{"verw", []string{"cpu.vendor = GenuineIntel", "cpu.bugs = mds", "kernel.major = 6", "kernel.minor = 18",
			"cpu.vulnerability.mds = Mitigation: Clear CPU buffers; SMT vulnerable", "guest.cpus g = 4"}, ""},
		{"smt-off", []string{"kernel.cmdline = l1tf=full", "cpu.smt = off"}, "cmdline:l1tf=flush"},
		{"smt-off", []string{"kernel.cmdline = nosmt mds=full,nosmt", "cpu.smt = off"},
			"cmdline:nosmt=absent cmdline:mds=full"},
		{"retbleed-ibrs", []string{"cpu.vendor = GenuineIntel", "cpu.bugs = retbleed", "kernel.major = 6",
			"kernel.minor = 12", "kernel.config = /c", "kernel.config.MITIGATION_CALL_DEPTH_TRACKING = y",
			"kernel.cmdline = ro", "cpu.vulnerability.retbleed = Mitigation: IBRS"},
			"cmdline:retbleed=stuff cmdline:retbleed=off"},
		{"retbleed-ibrs", []string{"cpu.vendor = GenuineIntel", "cpu.bugs = retbleed", "kernel.major = 6",
			"kernel.minor = 12", "kernel.config = /c", "kernel.config.MITIGATION_CALL_DEPTH_TRACKING = y",
			"kernel.cmdline = spectre_v2=ibrs", "cpu.vulnerability.retbleed = Mitigation: IBRS"},
			"cmdline:spectre_v2=absent"},
		{"srso-ibpb", []string{"cpu.vendor = AuthenticAMD", "cpu.bugs = srso, retbleed",
			"cpu.vulnerability.spec_rstack_overflow = Mitigation: IBPB",
			"cpu.vulnerability.retbleed = Mitigation: IBPB"}, "cmdline:retbleed=unret"},
		{"srso-ibpb", []string{"cpu.vendor = AuthenticAMD", "cpu.bugs = srso",
			"cpu.vulnerability.spec_rstack_overflow = Mitigation: IBPB",
			"cpu.vulnerability.retbleed = Not affected"}, "cmdline:spec_rstack_overflow=safe-ret"},
		{"flushes-off", []string{"mount.options m = rw, fsync_mode=nobarrier"}, "mount:fsync_mode=posix"},
		{"flushes-off", []string{"mount.options m = rw, nobarrier"}, "mount:barrier"},
	} {
		found := false
		for _, f := range set.Evaluate(snapshot(t, c.facts...), Options{Systems: []string{"plain"}}).Findings {
			if f.Rule != c.rule || f.Verdict != Found {
				continue
			}
			found = true
			var sets []string
			for _, in := range f.Remedies {
				if in.Set != "" {
					sets = append(sets, in.Set)
				}
			}
			if got := strings.Join(sets, " "); got != c.want {
				t.Errorf("%s of %q: %s, want %s", c.rule, c.facts, got, c.want)
			}
			if len(f.Remedies) == 0 {
				t.Errorf("%s of %q: nothing is offered", c.rule, c.facts)
			}
		}
		if !found {
			t.Errorf("%s of %q: no finding", c.rule, c.facts)
		}
	}
}

// TestRemedyOfAGuest checks that a virtual machine is not advised to check its firmware for settings that its host
// makes.
func TestRemedyOfAGuest(t *testing.T) {
	for hypervisor, want := range map[string]string{"kvm": "On the host", "none": "Update the firmware"} {
		facts := snapshot(t, "pci.class e = ethernet", "numa.nodes = 2", "pci.numa_node e = -1",
			"vm.hypervisor = "+hypervisor, "cpu.sockets = 2", "kernel.cmdline = ro")
		first := ""
		for _, f := range builtInSet(t).Evaluate(facts, Options{Systems: []string{"plain"}}).Findings {
			if f.Rule == "pci-node-unknown" && len(f.Remedies) > 0 {
				first = f.Remedies[0].Text
			}
		}
		if !strings.HasPrefix(first, want) {
			t.Errorf("%s: %q, want %s", hypervisor, first, want)
		}
	}
}
