package facts

import (
	"slices"
	"strconv"
	"strings"
)

// Definition says what a fact is: every key that a collector may produce stands in Catalogue, and rules can use no
// other.
type Definition struct {
	// Key is the fact's key. One that ends in ".*" is a family: "kernel.config.*" stands for every option of the build.
	Key  string
	Kind Kind
	// Unit is what a number counts; empty for things, for names and for what has no unit.
	Unit Unit
	// Text says what it is, in a few words.
	Text string
	Mark Mark
}

// Kind is how a value is written, and so what a rule may do with it.
type Kind int

// The kinds of values.
const (
	// Text is any text.
	Text Kind = iota
	// Whole is a whole number in base units.
	Whole
	// Fraction is a number.
	Fraction
	// Flag is "on" or "off"; readers also accept the kernel's 1 and 0, Y and N.
	Flag
	// List is words with a comma and a space between them; "none" when there are none.
	List
)

// Unit is what a number counts. In the catalogue it stands as text.
type Unit string

// The units.
const (
	Bytes         Unit = "bytes"
	KiB           Unit = "KiB"
	BitsPerSecond Unit = "bits/s"
	Transfers     Unit = "MT/s"
	Hertz         Unit = "hertz"
	Seconds       Unit = "seconds"
	Minutes       Unit = "minutes"
	Microseconds  Unit = "microseconds"
	Nanoseconds   Unit = "nanoseconds"
	Celsius       Unit = "celsius"
	// Percent is of a hundred, Share of one.
	Percent Unit = "percent"
	Share   Unit = "share"
)

// Mark says what sets a fact apart from an ordinary setting.
type Mark int

// The marks of facts. Marks that name something (Identity, Address, Name) are hidden in reports.
const (
	// Setting is the ordinary case: it stays as it is while nobody changes it.
	Setting Mark = iota
	// Moving values change by themselves: counters, loads, temperatures. They are never a difference.
	Moving
	// Identity names one single device: serial numbers, world-wide names, UUIDs.
	Identity
	// Address is a MAC, IP or GUID.
	Address
	// Name is that of a host, a user or a virtual machine.
	Name
	// Computed values follow from other facts and are never collected.
	Computed
)

// Classes are the first parts of keys whose facts are about one thing of several, with what Fact.About holds.
func Classes() map[string]string {
	return map[string]string{
		"disk":      "a whole disk: nvme0n1, sda, vda",
		"volume":    "a block device made of others: md0, dm-3, drbd0, bcache0",
		"mount":     "a mounted file system, by where it is mounted",
		"pci":       "a PCI function: every disk controller, NIC and HCA, and each bridge between it and the root",
		"nic":       "a network interface with hardware behind it, or a bond, bridge or VLAN over such",
		"port":      "a port of an InfiniBand or RoCE adapter: mlx5_0/1",
		"iscsi":     "an iSCSI session: session1",
		"multipath": "a multipath map: dm-4",
		"node":      "a NUMA node: node0",
		"dimm":      "a memory slot: DIMM_A1",
		"guest":     "a virtual machine that runs here (a QEMU process), by its name or process ID",
		"drive":     "a disk of such a machine: guest/drive",
		"claim":     "a claim of a pod that is measured, by the volume's name in the pod: under-test",
		"cni":       "the network of a cluster's pods, by its plugin: flannel",
		"busy":      "a process that does much I/O: comm/pid",
	}
}

// ClassOf is the class of a key's facts, or "" when they are about the machine as a whole.
func ClassOf(key string) string {
	first, _, _ := strings.Cut(key, ".")
	if _, ok := Classes()[first]; ok {
		return first
	}
	return ""
}

// Catalogue is the list of all facts, by area in the order of the collectors.
func Catalogue() []Definition {
	return slices.Concat(systemFacts(), kernelFacts(), cpuFacts(), memoryFacts(), placeFacts(), diskFacts(), pciFacts(),
		netFacts(), storageNetFacts(), guestFacts(), clusterFacts(), loadFacts())
}

// clusterFacts are told by the API of a cluster, of a pod that is measured, its node and its volume.
func clusterFacts() []Definition {
	return []Definition{
		{"cluster.version", Text, "", "version of Kubernetes, of the API server", Setting},
		{"cluster.node", Text, "", "the node that the pod is on", Name},
		{"cluster.node.os", Text, "", "its operating system, where os.name is that of the pod's image", Setting},
		{"cluster.kubelet", Text, "", "version of its kubelet", Setting},
		{"cluster.runtime", Text, "", "its container runtime and version: containerd://1.7.28", Setting},
		{"cluster.cni", Text, "", "network plugin (CNI), and how packets get to other nodes, where an annotation of " +
			"the node, a DaemonSet or the node's files say so: flannel vxlan", Setting},
		{"cluster.proxy", Text, "", "what carries connections to services on to pods: kube-proxy with its mode, or " +
			"cilium", Setting},
		{"cluster.pod.mtu", Whole, "bytes", "largest packet of the pod's own interface", Setting},
		{"cluster.pod.qos", Text, "", "class of service: Guaranteed, Burstable or BestEffort", Setting},
		{"cluster.pod.cpu.request", Text, "", "CPUs that the pod was promised, or none", Setting},
		{"cluster.pod.cpu.limit", Text, "", "CPUs that it may use at most, or none", Setting},
		{"cluster.pod.memory.request", Text, "", "memory that it was promised, or none", Setting},
		{"cluster.pod.memory.limit", Text, "", "memory that it may use at most, or none", Setting},
		{"cluster.volume.kind", Text, "", "class, ephemeral, claim, emptydir or hostpath", Setting},
		{"cni.version", Text, "", "its version, by the image of its DaemonSet", Setting},
		{"cni.encapsulation", Text, "", "how its ConfigMap has packets get to other nodes: vxlan, ipip, geneve, or " +
			"none where they are routed", Setting},
		{"cni.encapsulates", Text, "", "which packets: always, or between subnets (CrossSubnet, DirectRouting)",
			Setting},
		{"cni.mtu", Whole, "bytes", "MTU that it is told to give pods; unknown where it finds one by itself", Setting},
		{"cni.plugins", List, "", "programs that make a pod's interface, in the node's /etc/cni/net.d: bridge, portmap",
			Setting},
		{"claim.class", Text, "", "its StorageClass", Setting},
		{"claim.provisioner", Text, "", "who makes volumes of that class", Setting},
		{"claim.binding", Text, "", "when: Immediate, or WaitForFirstConsumer", Setting},
		{"claim.parameters", List, "", "what the class asks of the provisioner, without secrets and addresses",
			Setting},
		{"claim.remote_access", Text, "", "LINSTOR's allowRemoteVolumeAccess; true where the class does not say",
			Setting},
		{"claim.driver", Text, "", "what serves the volume: the name of a CSI driver, or a kind: local, nfs, …",
			Setting},
		{"claim.attributes", List, "", "what its CSI driver noted of it, without secrets and addresses", Setting},
		{"claim.nodes", Text, "", "nodes that can use it (node affinity), or any", Name},
		{"claim.replica", Text, "", "local where the node has a copy of the data, remote where DRBD has none there " +
			"(diskless)", Setting},
	}
}

func systemFacts() []Definition {
	return []Definition{
		{"os.name", Text, "", "the distribution's name and version", Setting},
		{"os.id", Text, "", "the distribution: debian, talos, rhcos, ubuntu", Setting},
		{"os.version", Text, "", "the distribution's version", Setting},
		{"os.pve", Text, "", "version of Proxmox VE (pve-manager)", Setting},
		{"os.boot_loader", Text, "", "grub, systemd-boot or uki (a unified kernel image), as firmware and folders show",
			Setting},
		{"host.name", Text, "", "the host's name", Name},
		{"user.root", Flag, "", "whether headroom ran as root", Setting},
		{"machine.vendor", Text, "", "maker of the machine (DMI)", Setting},
		{"machine.product", Text, "", "model of the machine (DMI)", Setting},
		{"machine.board", Text, "", "mainboard (DMI)", Setting},
		{"machine.bios.version", Text, "", "firmware version", Setting},
		{"machine.bios.date", Text, "", "firmware date", Setting},
		{"machine.serial", Text, "", "serial number of the machine (DMI, root)", Identity},
		{"machine.bmc", Text, "", "the management controller's driver and address, where readable", Setting},
		{"machine.raid.controllers", List, "",
			"hardware RAID controllers, by PCI driver (megaraid_sas, mpt3sas, smartpqi, …)", Setting},
		{"machine.raid.cache_policy", Text, "", "their cache policy, where their tool is installed", Setting},
		{"vm.hypervisor", Text, "", "what the machine runs in; none on bare metal", Setting},
		{"vm.emulated", Flag, "", "the CPU is a program that imitates one (QEMU's TCG); off where it does not say so",
			Setting},
		{"container.kind", Text, "", "what container this process is in", Setting},
		{"dimm.size", Whole, "bytes", "size of the module; 0 for an empty slot", Setting},
		{"dimm.speed", Whole, "MT/s", "configured transfers per second", Setting},
		{"dimm.max_speed", Whole, "MT/s", "transfers per second that the module is rated for", Setting},
		{"dimm.type", Text, "", "DDR4, DDR5, …", Setting},
		{"dimm.channel", Text, "", "bank locator, which names the channel", Setting},
		{"memory.channels.used", Whole, "", "memory channels with a module", Setting},
		{"memory.channels", Whole, "", "memory channels with a slot", Setting},
	}
}

func kernelFacts() []Definition {
	return []Definition{
		{"kernel.release", Text, "", "uname -r", Setting},
		{"kernel.version", Text, "", "uname -v", Setting},
		{"kernel.major", Whole, "", "first number of the release", Setting},
		{"kernel.minor", Whole, "", "second number of the release", Setting},
		{"kernel.arch", Text, "", "uname -m", Setting},
		{"kernel.cmdline", Text, "", "the boot arguments", Setting},
		{"kernel.config", Text, "", "where the build's configuration was read from", Setting},
		{"kernel.config.*", Text, "", "an option of the build: y, m, n, or its value", Setting},
		{"kernel.modules", List, "", "modules loaded", Setting},
		{"module.*", Text, "", "a parameter of a module, as /sys/module shows it", Setting},
		{"sysctl.*", Text, "", "any sysctl", Setting},
		{"kernel.tainted", Text, "", "taint flags", Setting},
		{"kernel.lockdown", Text, "", "none, integrity or confidentiality", Setting},
		{"kernel.preempt", Text, "", "none, voluntary, full, lazy or rt", Setting},
		{"kernel.lsm", Text, "", "security modules", Setting},
		{"kernel.livepatches", List, "", "live patches applied", Setting},
		{"kernel.io_uring_disabled", Whole, "", "0: allowed, 1: for some, 2: for nobody", Setting},
		{"kernel.aio_max_nr", Whole, "", "asynchronous requests allowed", Setting},
		{"kernel.aio_nr", Whole, "", "asynchronous requests reserved now", Moving},
		{"kernel.tracer", Text, "", "the current ftrace tracer; nop for none (root)", Setting},
		{"kernel.kprobes", Whole, "", "kernel probes set (root)", Setting},
		{"kernel.nmi_watchdog", Flag, "", "whether the NMI watchdog runs", Setting},
		{"boot.id", Text, "", "this boot", Identity},
		{"boot.uptime", Fraction, "seconds", "time since boot", Moving},
		{"clock.source", Text, "", "clock source in use", Setting},
		{"clock.available", Text, "", "clock sources on offer", Setting},
		{"iommu.groups", Whole, "", "IOMMU groups; 0 when DMA is not translated", Setting},
		{"iommu.units", List, "", "IOMMUs that the kernel drives: dmar0, ivhd0, smmu3…", Setting},
		{"iommu.default", Text, "", "type of domains as built: strict, lazy, passthrough (kernel configuration)",
			Setting},
		{"iommu.vfio_groups", Whole, "", "groups that are given to VFIO", Setting},
		{"swiotlb.size", Whole, "bytes", "bytes of bounce buffers", Setting},
		{"swiotlb.used", Whole, "bytes", "bytes of bounce buffers in use (root)", Moving},
		{"swiotlb.forced", Flag, "", "every DMA goes through bounce buffers: swiotlb=force, or a confidential guest",
			Setting},
		{"kvm.loaded", Flag, "", "KVM is there", Setting},
		{"kvm.nx_huge_pages", Text, "", "kvm.nx_huge_pages", Setting},
		{"kvm.halt_poll_ns", Whole, "nanoseconds", "nanoseconds that KVM polls before a virtual CPU sleeps", Setting},
		{"nvme.poll_queues", Whole, "", "nvme.poll_queues", Setting},
		{"nvme.default_ps_max_latency_us", Whole, "microseconds",
			"NVMe power states slower than this are not entered; 0 for none", Setting},
		{"nvme.multipath", Text, "", "whether the kernel joins paths to NVMe namespaces", Setting},
		{"pcie.aspm.policy", Text, "", "PCIe power saving: default, performance, powersave, powersupersave", Setting},
	}
}

func cpuFacts() []Definition {
	return []Definition{
		{"cpu.vendor", Text, "", "GenuineIntel, AuthenticAMD, ARM, …", Setting},
		{"cpu.model", Text, "", "model name", Setting},
		{"cpu.family", Whole, "", "family number (x86)", Setting},
		{"cpu.microcode", Text, "", "microcode revision", Setting},
		{"cpu.flags", List, "", "flags of /proc/cpuinfo (x86) or features (arm64)", Setting},
		{"cpu.bugs", List, "", "flaws that the kernel knows this CPU to have", Setting},
		{"cpu.pti", Flag, "", "page table isolation is on: the flag pti of /proc/cpuinfo", Setting},
		{"cpu.sockets", Whole, "", "physical packages", Setting},
		{"cpu.cores", Whole, "", "cores online", Setting},
		{"cpu.threads", Whole, "", "hardware threads online", Setting},
		{"cpu.present", Whole, "", "hardware threads present", Setting},
		{"cpu.online", Text, "", "hardware threads online, as a list", Setting},
		{"cpu.offline", Text, "", "hardware threads present but offline, as a list; none", Setting},
		{"cpu.smt", Text, "", "on, off, forceoff, notsupported", Setting},
		{"cpu.governor", Text, "", "frequency governor", Setting},
		{"cpu.driver", Text, "", "frequency driver", Setting},
		{"cpu.pstate", Text, "", "active, passive or guided (intel_pstate, amd_pstate)", Setting},
		{"cpu.energy_preference", Text, "", "energy performance preference", Setting},
		{"cpu.frequency.max", Text, "hertz", "highest frequency", Setting},
		{"cpu.frequency.limit", Text, "hertz", "highest frequency allowed", Setting},
		{"cpu.frequency.min_percent", Whole, "percent", "intel_pstate's lowest performance", Setting},
		{"cpu.boost", Flag, "", "whether the CPU may run above its base frequency", Setting},
		{"cpu.idle.driver", Text, "", "idle driver", Setting},
		{"cpu.idle.governor", Text, "", "idle governor", Setting},
		{"cpu.idle.states", Text, "", "idle states with their wake-up latency in microseconds; disabled ones in " +
			"brackets", Setting},
		{"cpu.idle.latency", Whole, "microseconds", "wake-up latency of the deepest state in use", Setting},
		{"cpu.isolated", Text, "", "isolated threads", Setting},
		{"cpu.nohz_full", Text, "", "threads without a tick", Setting},
		{"cpu.allowed", Text, "", "threads that this process may run on", Setting},
		{"cpu.vulnerability", Text, "", "there when the kernel lists no vulnerabilities at all", Setting},
		{"cpu.vulnerability.gather_data_sampling", Text, "", "GDS, Downfall", Setting},
		{"cpu.vulnerability.indirect_target_selection", Text, "", "ITS", Setting},
		{"cpu.vulnerability.itlb_multihit", Text, "", "iTLB multihit", Setting},
		{"cpu.vulnerability.l1tf", Text, "", "L1 terminal fault", Setting},
		{"cpu.vulnerability.mds", Text, "", "microarchitectural data sampling", Setting},
		{"cpu.vulnerability.meltdown", Text, "", "Meltdown; cpu.pti is the truth", Setting},
		{"cpu.vulnerability.mmio_stale_data", Text, "", "MMIO stale data", Setting},
		{"cpu.vulnerability.reg_file_data_sampling", Text, "", "RFDS", Setting},
		{"cpu.vulnerability.retbleed", Text, "", "Retbleed", Setting},
		{"cpu.vulnerability.spec_rstack_overflow", Text, "", "SRSO, Inception", Setting},
		{"cpu.vulnerability.spec_store_bypass", Text, "", "SSB", Setting},
		{"cpu.vulnerability.spectre_v1", Text, "", "Spectre v1", Setting},
		{"cpu.vulnerability.spectre_v2", Text, "", "Spectre v2", Setting},
		{"cpu.vulnerability.srbds", Text, "", "SRBDS", Setting},
		{"cpu.vulnerability.tsa", Text, "", "transient scheduler attacks", Setting},
		{"cpu.vulnerability.tsx_async_abort", Text, "", "TAA", Setting},
		{"cpu.vulnerability.vmscape", Text, "", "VMSCAPE", Setting},
		{"cpu.vulnerability.*", Text, "", "any other file of cpu/vulnerabilities", Setting},
		{"numa.nodes", Whole, "", "NUMA nodes that the kernel shows", Setting},
		{"numa.balancing", Whole, "", "kernel.numa_balancing", Setting},
		{"numa.pci_roots", Whole, "", "PCI host bridges", Setting},
		{"node.cpus", Text, "", "its hardware threads, as a list", Setting},
		// The kernel takes pages that a hypervisor wants back out of this count, and puts them in again.
		{"node.memory", Whole, "bytes", "its memory", Moving},
		{"node.free", Whole, "bytes", "its free memory", Moving},
		{"node.distances", Text, "", "distances to all nodes", Setting},
		{"node.sockets", Whole, "", "physical packages on it", Setting},
	}
}

func memoryFacts() []Definition {
	return []Definition{
		{"memory.total", Whole, "bytes", "memory", Setting},
		{"memory.available", Whole, "bytes", "memory available", Moving},
		{"memory.swap", Whole, "bytes", "swap", Setting},
		{"memory.swap.used", Whole, "bytes", "swap in use", Moving},
		{"memory.zram", Flag, "", "swap is on compressed memory", Setting},
		{"memory.transparent_hugepage", Text, "", "always, madvise or never", Setting},
		{"memory.transparent_hugepage.defrag", Text, "", "always, defer, defer+madvise, madvise or never", Setting},
		{"memory.hugepages", Whole, "bytes", "huge pages reserved", Setting},
		{"memory.dirty_ratio", Whole, "percent", "percent of available memory that may be dirty", Setting},
		{"memory.dirty_background_ratio", Whole, "percent", "percent at which writing back begins", Setting},
		{"memory.dirty_bytes", Whole, "bytes", "the same as an amount; 0 when the ratio counts", Setting},
		{"memory.dirty_background_bytes", Whole, "bytes", "the same as an amount", Setting},
		{"memory.swappiness", Whole, "", "vm.swappiness", Setting},
		{"memory.zone_reclaim", Whole, "", "vm.zone_reclaim_mode", Setting},
		{"memory.slab_debug", List, "", "slab caches with debugging on (/sys/kernel/slab)", Setting},
		{"memory.ksm", Flag, "", "kernel samepage merging runs", Setting},
		{"limit.locked_memory", Text, "bytes", "bytes that this process may lock, or unlimited", Setting},
		{"limit.open_files", Text, "", "files that this process may have open", Setting},
	}
}

func placeFacts() []Definition {
	return []Definition{
		{"place.kind", Text, "", "directory or device", Setting},
		{"place.path", Text, "", "what the user named", Setting},
		{"device.*", Text, "", "the device that the place lies on directly, and how it is built", Setting},
		{"filesystem.type", Text, "", "the file system of the place", Setting},
		{"filesystem.mount_point", Text, "", "where it is mounted", Setting},
		{"filesystem.root", Text, "", "which part of it is mounted there", Setting},
		{"filesystem.source", Text, "", "what is mounted", Setting},
		{"filesystem.options", Text, "", "options of the mount", Setting},
		{"filesystem.super_options", Text, "", "options of the file system", Setting},
		{"filesystem.size", Whole, "bytes", "size of the file system of the place", Setting},
		{"filesystem.free", Whole, "bytes", "what is free for an ordinary user", Moving},
		{"cgroup.version", Text, "", "v1 or v2", Setting},
		{"cgroup.path", Text, "", "the cgroup of this process", Setting},
		{"cgroup.io.max", Text, "", "limits of its cgroup and those above", Setting},
		{"cgroup.io.latency", Text, "", "latency targets", Setting},
		{"cgroup.io.weight", Text, "", "weights", Setting},
		{"cgroup.io.cost", Text, "", "io.cost.qos of the root, enabled disks", Setting},
		{"cgroup.cpu.max", Text, "", "CPU limits", Setting},
		{"cgroup.cpuset", Text, "", "hardware threads allowed", Setting},
		{"cgroup.memory.max", Text, "", "memory limits", Setting},
		{"cgroup.memory.high", Text, "", "memory throttling limits", Setting},
		{"mount.type", Text, "", "the file system's type", Setting},
		{"mount.source", Text, "", "what is mounted", Setting},
		{"mount.options", List, "", "options of the mount and of the file system", Setting},
		{"mount.disks", List, "", "the disks that it lies on", Setting},
		{"mount.size", Whole, "bytes", "size of the file system", Setting},
		{"mount.free", Whole, "bytes", "what is free for an ordinary user", Moving},
		{"mount.background", List, "", "background work seen: lazyinit, scrub, balance, …", Moving},
	}
}

func diskFacts() []Definition {
	return []Definition{
		{"disk.name", Text, "", "the kernel's name", Setting},
		{"disk.model", Text, "", "model", Setting},
		{"disk.serial", Text, "", "serial number", Identity},
		{"disk.wwid", Text, "", "world-wide name", Identity},
		{"disk.firmware", Text, "", "firmware revision", Setting},
		{"disk.size", Whole, "bytes", "size", Setting},
		{"disk.driver", Text, "", "driver that carries its I/O: nvme, sd, virtio_blk", Setting},
		{"disk.host.driver", Text, "", "driver of the SCSI host: ahci, megaraid_sas, mpt3sas, iscsi_tcp, virtio_scsi",
			Setting},
		{"disk.transport", Text, "", "nvme: pcie, tcp, rdma, fc; SCSI: sata, sas, fc, iscsi, usb", Setting},
		{"disk.link", Text, "", "SATA or SAS link: 6.0 Gbps, 12.0 Gbit", Setting},
		{"disk.rotational", Flag, "", "what the kernel thinks", Setting},
		{"disk.removable", Flag, "", "removable", Setting},
		{"disk.holders", List, "", "what lies on it: partitions mounted, md, dm, …", Setting},
		{"disk.queue.scheduler", Text, "", "I/O scheduler in use", Setting},
		{"disk.queue.hardware", Whole, "", "hardware queues", Setting},
		{"disk.queue_depth", Whole, "", "commands the device takes (SCSI)", Setting},
		{"disk.queue.nr_requests", Whole, "", "requests the queue holds", Setting},
		{"disk.queue.logical_block_size", Whole, "bytes", "least amount that can be addressed", Setting},
		{"disk.queue.physical_block_size", Whole, "bytes", "least amount that can be written without reading first",
			Setting},
		{"disk.queue.minimum_io_size", Whole, "bytes", "least amount that the disk prefers", Setting},
		{"disk.queue.optimal_io_size", Whole, "bytes", "amount that the disk prefers; 0 when it does not say", Setting},
		{"disk.queue.write_cache", Text, "", "write back or write through", Setting},
		{"disk.queue.fua", Flag, "", "forced unit access is used", Setting},
		{"disk.queue.max_sectors_kb", Whole, "KiB", "largest request", Setting},
		{"disk.queue.max_hw_sectors_kb", Whole, "KiB", "largest request that the hardware takes", Setting},
		{"disk.queue.max_segments", Whole, "", "pieces in a request", Setting},
		{"disk.queue.discard_granularity", Whole, "bytes", "least amount that can be discarded; 0 when none can",
			Setting},
		{"disk.queue.discard_max_bytes", Whole, "bytes", "largest discard of one request", Setting},
		{"disk.queue.read_ahead_kb", Whole, "KiB", "read-ahead", Setting},
		{"disk.queue.nomerges", Whole, "", "0: merge, 1: simple merges only, 2: none", Setting},
		{"disk.queue.rq_affinity", Whole, "", "0: anywhere, 1: same group, 2: same CPU", Setting},
		{"disk.queue.io_poll", Flag, "", "polling is possible", Setting},
		{"disk.queue.io_poll_delay", Whole, "", "polling: -1 classic, 0 adaptive", Setting},
		{"disk.queue.wbt_lat_usec", Whole, "", "writeback throttling target; 0 is off", Setting},
		{"disk.queue.iostats", Flag, "", "statistics are kept", Setting},
		{"disk.queue.add_random", Flag, "", "feeds the entropy pool", Setting},
		{"disk.queue.stable_writes", Flag, "", "pages may not change during write-back", Setting},
		{"disk.queue.zoned", Text, "", "none, host-aware, host-managed", Setting},
		{"disk.integrity", Text, "", "protection information format", Setting},
		{"disk.alignment_offset", Whole, "bytes", "bytes by which the disk is off its physical blocks", Setting},
		{"disk.partitions.misaligned", List, "", "partitions that start off the optimal size", Setting},
		{"disk.pci.address", Text, "", "PCI address of its controller", Setting},
		{"disk.pci.link.speed", Text, "", "link speed now", Setting},
		{"disk.pci.link.width", Whole, "", "lanes now", Setting},
		{"disk.pci.link.max_speed", Text, "", "link speed that the device can do", Setting},
		{"disk.pci.link.max_width", Whole, "", "lanes that the device has", Setting},
		{"disk.numa_node", Whole, "", "NUMA node; -1 unknown", Setting},
		{"disk.iommu.group_type", Text, "", "DMA (strict), DMA-FQ (lazy), identity, none (no IOMMU)", Setting},
		{"disk.irq.cpus", Whole, "", "hardware threads that its interrupts may go to", Setting},
		{"disk.nvme.format", Text, "", "LBA format in use: 512+0", Setting},
		{"disk.nvme.formats", List, "", "formats on offer with relative performance: 512+0 rp2, 4096+0 rp0", Setting},
		{"disk.nvme.better_format", Text, "", "a format on offer with better relative performance; none", Setting},
		{"disk.nvme.temperature", Fraction, "celsius", "temperature", Moving},
		{"disk.nvme.temperature.warning", Fraction, "celsius", "temperature at which the drive warns", Setting},
		{"disk.nvme.wear", Whole, "percent", "percent of rated endurance used", Moving},
		{"disk.nvme.spare", Whole, "percent", "percent of spare blocks left", Moving},
		{"disk.nvme.media_errors", Whole, "", "media errors", Moving},
		{"disk.nvme.throttled", Whole, "minutes", "minutes above the warning temperature", Moving},
		{"disk.nvme.paths", Whole, "", "controllers that lead to the namespace", Setting},
		{"disk.nvme.max_transfer", Whole, "bytes", "largest transfer of one command", Setting},
		{"disk.nvme.power_state", Text, "", "power states allowed: those that wake up within so many microseconds, " +
			"auto or any", Setting},
		{"disk.nvme.io_policy", Text, "", "multipath policy of its subsystem: numa, round-robin, queue-depth", Setting},
		{"volume.name", Text, "", "name as users know it: vg0/data, luks-home, md0", Setting},
		{"volume.kind", Text, "", "md, lvm, crypt, thin, snapshot, cache, multipath, drbd, bcache, zfs, loop, …",
			Setting},
		{"volume.members", List, "", "devices it is made of", Setting},
		{"volume.disks", List, "", "whole disks under it", Setting},
		{"volume.holders", List, "", "what lies on it", Setting},
		{"volume.size", Whole, "bytes", "size", Setting},
		{"volume.md.level", Text, "", "raid0, raid1, raid10, raid5, raid6", Setting},
		{"volume.md.disks", Whole, "", "disks it should have", Setting},
		{"volume.md.degraded", Whole, "", "disks missing", Setting},
		{"volume.md.sync_action", Text, "", "idle, resync, recover, check, repair", Setting},
		{"volume.md.chunk_size", Whole, "bytes", "chunk of a striped array", Setting},
		{"volume.md.bitmap", Text, "", "none, + offset, or a file", Setting},
		{"volume.md.stripe_cache_size", Whole, "", "pages per device", Setting},
		{"volume.md.group_thread_cnt", Whole, "", "threads that handle stripes; 0 is one", Setting},
		{"volume.dm.table", Text, "", "target types of the table (root)", Setting},
		{"volume.crypt.flags", List, "", "dm-crypt flags (root): no_read_workqueue, …", Setting},
		{"volume.crypt.cipher", Text, "", "dm-crypt cipher (root)", Setting},
		{"volume.crypt.sector_size", Whole, "bytes", "sector that is encrypted as one (root)", Setting},
		{"volume.lvm.stripes", Whole, "", "stripes of a linear or striped LV (root)", Setting},
		{"volume.drbd.protocol", Text, "", "A, B or C", Setting},
		{"volume.drbd.role", Text, "", "Primary or Secondary", Setting},
		{"volume.drbd.disk", Text, "", "UpToDate, Diskless, Inconsistent, …", Setting},
		{"volume.drbd.replication", Text, "", "Established, SyncSource, …", Setting},
		{"volume.queue.scheduler", Text, "", "I/O scheduler in use", Setting},
		{"volume.queue.logical_block_size", Whole, "bytes", "least amount that can be addressed", Setting},
		{"zfs.arc_max", Whole, "bytes", "bytes the ARC may take", Setting},
		{"zfs.version", Text, "", "version of ZFS", Setting},
	}
}

func pciFacts() []Definition {
	return []Definition{
		{"pci.class", Text, "", "nvme, sata, sas, raid, ethernet, infiniband, bridge, …", Setting},
		{"pci.id", Text, "", "vendor and device: 144d:a80a", Setting},
		{"pci.driver", Text, "", "driver bound", Setting},
		{"pci.parent", Text, "", "the bridge above; none at the root", Setting},
		{"pci.path", List, "", "addresses from the root port to the function itself", Setting},
		{"pci.slot", Text, "", "physical slot, where firmware tells", Setting},
		{"pci.link.speed", Text, "", "speed of the link towards the root, now: 16.0 GT/s PCIe", Setting},
		{"pci.link.width", Whole, "", "its lanes now", Setting},
		{"pci.link.max_speed", Text, "", "speed that the function can do", Setting},
		{"pci.link.max_width", Whole, "", "lanes that the function has", Setting},
		{"pci.payload", Whole, "bytes", "MaxPayload in use (root)", Setting},
		{"pci.payload.max", Whole, "bytes", "MaxPayload supported (root)", Setting},
		{"pci.read_request", Whole, "bytes", "MaxReadRequest (root)", Setting},
		{"pci.aspm", Text, "", "ASPM enabled on the link: none, L0s, L1 (root)", Setting},
		{"pci.numa_node", Whole, "", "NUMA node; -1 unknown", Setting},
		{"pci.iommu.group_type", Text, "", "DMA (strict), DMA-FQ (lazy), identity, none (no IOMMU)", Setting},
		{"pci.aer.correctable", Whole, "", "correctable errors since boot", Moving},
		{"pci.aer.uncorrectable", Whole, "", "uncorrectable errors since boot", Moving},
		{"pci.sriov.vfs", Whole, "", "virtual functions enabled", Setting},
		{"pci.power", Text, "", "runtime power management: on or auto", Setting},
		// Worked out by package ceiling from the links on the path.
		{"disk.pci.bandwidth", Fraction, "", "what the narrowest link on its path carries, B/s", Computed},
		{"disk.pci.bandwidth.possible", Fraction, "", "what its own link could carry, B/s", Computed},
		{"disk.pci.narrowest", Text, "", "the link on its path that carries least", Computed},
		{"disk.pci.shared_by", Whole, "", "disks behind the most crowded link on its path", Computed},
		{"disk.pci.shared_share", Fraction, "share",
			"share of what the disks behind that link ask for that it can carry; 1 is all", Computed},
		{"nic.pci.bandwidth", Fraction, "", "what the narrowest link on its path carries, B/s", Computed},
		{"nic.pci.share", Fraction, "share", "share of the line rate of all its adapter's ports that the path carries",
			Computed},
		{"port.pci.bandwidth", Fraction, "", "what the narrowest link on its path carries, B/s", Computed},
		{"port.pci.share", Fraction, "share", "share of the data rate of all its adapter's ports that the path carries",
			Computed},
		{"port.bandwidth", Fraction, "", "data rate of the port after encoding, B/s", Computed},
		{"nic.socket", Whole, "", "the socket that the NIC hangs on, from 0, by its node or the number of its PCI bus",
			Computed},
		{"nic.sockets", Whole, "", "sockets over which the NICs of this speed are spread, by PCI root and node",
			Computed},
	}
}

func netFacts() []Definition {
	return []Definition{
		{"nic.kind", Text, "", "physical, virtio, bond, bridge, vlan, ipoib, vf", Setting},
		{"nic.state", Text, "", "up, down, …", Setting},
		{"nic.carrier", Flag, "", "a link is there", Setting},
		{"nic.speed", Whole, "bits/s", "speed of the link", Setting},
		{"nic.duplex", Text, "", "full or half", Setting},
		{"nic.speed.supported", Whole, "bits/s", "highest speed that the adapter supports", Setting},
		{"nic.mtu", Whole, "bytes", "largest packet", Setting},
		{"nic.mac", Text, "", "hardware address", Address},
		{"nic.addresses", List, "", "IP addresses", Address},
		{"nic.driver", Text, "", "driver", Setting},
		{"nic.driver.version", Text, "", "its version", Setting},
		{"nic.firmware", Text, "", "firmware version", Setting},
		{"nic.pci.address", Text, "", "PCI address", Setting},
		{"nic.numa_node", Whole, "", "NUMA node; -1 unknown", Setting},
		{"nic.iommu.group_type", Text, "", "DMA (strict), DMA-FQ (lazy), identity, none", Setting},
		{"nic.ring.rx", Whole, "", "receive ring", Setting},
		{"nic.ring.rx.max", Whole, "", "largest receive ring", Setting},
		{"nic.ring.tx", Whole, "", "transmit ring", Setting},
		{"nic.ring.tx.max", Whole, "", "largest transmit ring", Setting},
		{"nic.channels", Whole, "", "queues in use (combined, or the larger of rx and tx)", Setting},
		{"nic.channels.max", Whole, "", "queues possible", Setting},
		{"nic.coalesce.adaptive_rx", Flag, "", "adaptive interrupt moderation", Setting},
		{"nic.coalesce.rx_usecs", Whole, "microseconds", "microseconds that receive interrupts wait", Setting},
		{"nic.coalesce.tx_usecs", Whole, "microseconds", "microseconds that transmit interrupts wait", Setting},
		{"nic.offload.tso", Flag, "", "TCP segmentation offload", Setting},
		{"nic.offload.gso", Flag, "", "generic segmentation offload", Setting},
		{"nic.offload.gro", Flag, "", "generic receive offload", Setting},
		{"nic.offload.lro", Flag, "", "large receive offload", Setting},
		{"nic.offload.rx_checksum", Flag, "", "receive checksums", Setting},
		{"nic.offload.tx_checksum", Flag, "", "transmit checksums", Setting},
		{"nic.offload.scatter_gather", Flag, "", "scatter-gather", Setting},
		{"nic.pause.rx", Flag, "", "pause frames are honoured", Setting},
		{"nic.pause.tx", Flag, "", "pause frames are sent", Setting},
		{"nic.qdisc", Text, "", "root queueing discipline", Setting},
		{"nic.queue_length", Whole, "", "txqueuelen", Setting},
		{"nic.xdp", Flag, "", "an XDP program is attached", Setting},
		{"nic.tc_filters", Whole, "", "tc filters and programs attached; clsact counts", Setting},
		{"nic.master", Text, "", "bond or bridge that it belongs to", Setting},
		{"nic.irq.count", Whole, "", "interrupts", Setting},
		{"nic.irq.cpus", Whole, "", "hardware threads that its interrupts may go to", Setting},
		{"nic.irq.busiest_share", Fraction, "share", "share of its interrupts since boot that the busiest thread took",
			Moving},
		{"nic.irq.remote", Whole, "", "interrupts bound only to threads of another node than its own", Setting},
		{"nic.rps", Flag, "", "receive packet steering is set", Setting},
		{"nic.rx_missed", Whole, "", "packets that the ring had no room for, since boot", Moving},
		{"nic.rx_packets", Whole, "", "packets received since boot", Moving},
		{"nic.errors", Whole, "", "receive and transmit errors since boot", Moving},
		{"nic.allowance_exceeded", Whole, "", "packets held back by a cloud's limit (ENA), since boot", Moving},
		{"nic.ipoib.mode", Text, "", "datagram or connected", Setting},
		{"nic.bond.mode", Text, "", "balance-rr, active-backup, 802.3ad, …", Setting},
		{"nic.bond.hash", Text, "", "layer2, layer2+3, layer3+4, encap…", Setting},
		{"nic.bond.members", List, "", "its members", Setting},
		{"nic.bond.active", Whole, "", "members with a link", Setting},
		{"nic.bond.lacp_rate", Text, "", "slow or fast", Setting},
		{"nic.bond.aggregator_ports", Whole, "", "ports in the active aggregator (802.3ad)", Setting},
		{"net.congestion_control", Text, "", "net.ipv4.tcp_congestion_control", Setting},
		{"net.default_qdisc", Text, "", "net.core.default_qdisc", Setting},
		{"net.rmem_max", Whole, "bytes", "net.core.rmem_max", Setting},
		{"net.wmem_max", Whole, "bytes", "net.core.wmem_max", Setting},
		{"net.tcp_rmem_max", Whole, "bytes", "third value of net.ipv4.tcp_rmem", Setting},
		{"net.tcp_wmem_max", Whole, "bytes", "third value of net.ipv4.tcp_wmem", Setting},
		{"net.tcp_mtu_probing", Whole, "", "net.ipv4.tcp_mtu_probing", Setting},
		{"net.slow_start_after_idle", Flag, "", "net.ipv4.tcp_slow_start_after_idle", Setting},
		{"net.notsent_lowat", Whole, "bytes", "net.ipv4.tcp_notsent_lowat", Setting},
		{"net.window_scaling", Flag, "", "net.ipv4.tcp_window_scaling", Setting},
		{"net.timestamps", Flag, "", "net.ipv4.tcp_timestamps", Setting},
		{"net.sack", Flag, "", "net.ipv4.tcp_sack", Setting},
		{"net.max_backlog", Whole, "", "net.core.netdev_max_backlog", Setting},
		{"net.budget", Whole, "", "net.core.netdev_budget", Setting},
		{"net.busy_poll", Whole, "microseconds", "net.core.busy_poll", Setting},
		{"net.somaxconn", Whole, "", "net.core.somaxconn", Setting},
		{"net.bpf_jit", Whole, "", "net.core.bpf_jit_enable", Setting},
		{"net.bpf_jit_harden", Whole, "", "net.core.bpf_jit_harden", Setting},
		{"net.softnet.dropped", Whole, "", "packets dropped because a CPU's backlog was full, since boot", Moving},
		{"net.softnet.squeezed", Whole, "", "times a CPU ran out of its budget, since boot", Moving},
		{"net.softnet.processed", Whole, "", "packets processed, since boot", Moving},
		{"net.conntrack.count", Whole, "", "connections tracked", Moving},
		{"net.conntrack.max", Whole, "", "connections that can be tracked", Setting},
		{"net.tcp_memory_pressure", Whole, "", "times TCP ran short of memory, since boot", Moving},
		{"net.retransmits", Whole, "", "TCP segments sent again, since boot", Moving},
		{"net.rules", Whole, "", "policy routing rules beyond the three that are always there", Setting},
		{"net.ecmp", Flag, "", "a route with several next hops is there", Setting},
		{"net.ecmp.hash", Whole, "", "net.ipv4.fib_multipath_hash_policy: 0 by addresses, 1 by ports too", Setting},
		{"net.irqbalance", Flag, "", "irqbalance runs", Setting},
		{"net.forwarding", Flag, "", "net.ipv4.ip_forward", Setting},
		{"port.state", Text, "", "DOWN, INIT, ARMED, ACTIVE", Setting},
		{"port.physical", Text, "", "LinkUp, Polling, Disabled, …", Setting},
		{"port.layer", Text, "", "InfiniBand or Ethernet", Setting},
		{"port.rate", Text, "", "as the kernel prints it: 40 Gb/sec (4X QDR)", Setting},
		{"port.lanes", Whole, "", "lanes", Setting},
		{"port.generation", Text, "", "SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR", Setting},
		{"port.best_generation", Text, "", "best generation that the adapter's model is sold as, where its name tells",
			Setting},
		{"port.adapter", Text, "", "adapter's model (hca_type, board)", Setting},
		{"port.firmware", Text, "", "firmware version", Setting},
		{"port.guid", Text, "", "port GUID", Address},
		{"port.pci.address", Text, "", "PCI address", Setting},
		{"port.numa_node", Whole, "", "NUMA node", Setting},
		{"port.sm_lid", Text, "", "LID of the subnet manager; 0x0 for none", Setting},
		{"port.netdev", Text, "", "its network interface", Setting},
		{"port.symbol_errors", Whole, "", "since boot", Moving},
		{"port.link_downed", Whole, "", "since boot", Moving},
		{"port.out_of_sequence", Whole, "", "since boot (RoCE, hw_counters)", Moving},
	}
}

func storageNetFacts() []Definition {
	return []Definition{
		{"mount.nfs.version", Text, "", "3, 4.0, 4.1, 4.2", Setting},
		{"mount.nfs.protocol", Text, "", "transport in the options: tcp, rdma, udp", Setting},
		{"mount.nfs.transports", List, "", "transports really connected (mountstats): tcp, tcp", Setting},
		{"mount.nfs.connections", Whole, "", "number of transports really connected", Setting},
		{"mount.nfs.nconnect", Whole, "", "nconnect in the options; 1 when not given", Setting},
		{"mount.nfs.max_connect", Whole, "", "max_connect in the options; 1 when not given", Setting},
		{"mount.nfs.rsize", Whole, "bytes", "largest read", Setting},
		{"mount.nfs.wsize", Whole, "bytes", "largest write", Setting},
		{"mount.nfs.sync", Flag, "", "mounted with sync", Setting},
		{"mount.nfs.security", Text, "", "sec=: sys, krb5, krb5i, krb5p", Setting},
		{"mount.nfs.server", Text, "", "the server's address", Address},
		{"mount.nfs.retransmits", Whole, "", "RPC calls sent again (mountstats)", Moving},
		{"nfs.servers.shared", List, "", "servers that are mounted by more than one transport kind", Address},
		{"nfs.slots.max", Whole, "", "sunrpc.tcp_max_slot_table_entries", Setting},
		{"nfsd.threads", Whole, "", "nfsd threads", Setting},
		{"nfsd.ports", List, "", "transports nfsd listens on (nfsd/portlist, root)", Setting},
		{"nfsd.exports", Whole, "", "file systems exported", Setting},
		{"nfsd.exports.sync", Whole, "", "of these, with sync", Setting},
		{"nfsd.exports.async", Whole, "", "of these, with async", Setting},
		{"nfsd.exports.root", Text, "", "the one that is the root of the NFSv4 tree (fsid=0); none", Setting},
		{"nfsd.grace", Flag, "", "whether nfsd waits for clients to reclaim files and locks (nfsd/v4_end_grace, root)",
			Moving},
		{"nfsd.grace.time", Whole, "seconds", "how long it waits after its start (nfsd/nfsv4gracetime, root)", Setting},
		{"rdma.modules", List, "", "RDMA modules loaded", Setting},
		{"iscsi.state", Text, "", "LOGGED_IN, FAILED, …", Setting},
		{"iscsi.target", Text, "", "target's name", Name},
		{"iscsi.portal", Text, "", "portal's address", Address},
		{"iscsi.disks", List, "", "its disks", Setting},
		{"iscsi.queue_depth", Whole, "", "commands for each LUN", Setting},
		{"iscsi.cmds_max", Whole, "", "commands for the session", Setting},
		{"iscsi.initial_r2t", Flag, "", "InitialR2T", Setting},
		{"iscsi.immediate_data", Flag, "", "ImmediateData", Setting},
		{"iscsi.first_burst", Whole, "bytes", "FirstBurstLength", Setting},
		{"iscsi.max_burst", Whole, "bytes", "MaxBurstLength", Setting},
		{"iscsi.max_segment", Whole, "bytes", "MaxRecvDataSegmentLength", Setting},
		{"iscsi.header_digest", Flag, "", "header digest", Setting},
		{"iscsi.data_digest", Flag, "", "data digest", Setting},
		{"multipath.name", Text, "", "map's alias", Setting},
		{"multipath.paths", Whole, "", "paths", Setting},
		{"multipath.active", Whole, "", "paths in use now (root)", Setting},
		{"multipath.groups", Whole, "", "priority groups (root)", Setting},
		{"multipath.policy", Text, "", "path selector: service-time, queue-length, round-robin (root)", Setting},
		{"multipath.members", List, "", "its disks", Setting},
	}
}

func guestFacts() []Definition {
	return []Definition{
		{"guest.name", Text, "", "name of the machine", Name},
		{"guest.emulator", Text, "", "QEMU's version where its path or machine type tells", Setting},
		{"guest.machine", Text, "", "machine type", Setting},
		{"guest.accelerator", Text, "", "kvm or tcg", Setting},
		{"guest.cpu", Text, "", "CPU model", Setting},
		{"guest.cpus", Whole, "", "virtual CPUs", Setting},
		{"guest.memory", Whole, "bytes", "memory of the machine", Setting},
		{"guest.hugepages", Flag, "", "memory from huge pages", Setting},
		{"guest.iothreads", Whole, "", "IOThread objects", Setting},
		{"guest.pinned", Flag, "", "its threads may not run on all hardware threads", Setting},
		{"guest.nics", List, "", "network devices: virtio-net-pci/vhost, e1000/user, …", Setting},
		{"guest.vhost", Flag, "", "every virtio NIC uses vhost; absent without one", Setting},
		{"guest.manager", Text, "", "libvirt, proxmox, kubevirt or none", Setting},
		{"drive.bus", Text, "", "virtio-blk, virtio-scsi, nvme, ide, ahci, vhost-user-blk", Setting},
		{"drive.cache", Text, "", "none, writeback, writethrough, directsync, unsafe", Setting},
		{"drive.aio", Text, "", "native, threads, io_uring", Setting},
		{"drive.iothread", Text, "", "IOThreads that serve it; none for the main loop", Setting},
		{"drive.iothreads", Whole, "", "number of IOThreads that serve it", Setting},
		{"drive.queues", Whole, "", "virtqueues; 0 when the device's default holds", Setting},
		{"drive.backend", Text, "", "kind of backing: block device, raw file, qcow2, rbd, nbd", Setting},
		{"drive.source", Text, "", "file or device behind it", Name},
		{"drive.discard", Text, "", "unmap or ignore", Setting},
	}
}

func loadFacts() []Definition {
	return []Definition{
		{"load.average", Fraction, "", "load average over one minute", Moving},
		{"load.pressure.cpu", Fraction, "share", "share of the last ten seconds when something waited for a CPU",
			Moving},
		{"load.pressure.io", Fraction, "share", "the same for I/O", Moving},
		{"load.pressure.memory", Fraction, "share", "the same for memory", Moving},
		{"load.steal", Fraction, "share", "share of CPU time since boot that the hypervisor took", Moving},
		{"load.throttled", Whole, "", "times a core was slowed by heat since boot", Moving},
		{"load.swapped", Whole, "", "pages swapped in and out since boot", Moving},
		{"busy.read", Whole, "bytes", "bytes read since it started", Moving},
		{"busy.written", Whole, "bytes", "bytes written since it started", Moving},
		{"tool.fio.version", Text, "", "version of fio", Setting},
		{"tool.fio.sha256", Text, "", "its hash", Setting},
		{"tool.iperf3.version", Text, "", "version of iperf3", Setting},
		{"tool.iperf3.sha256", Text, "", "its hash", Setting},
		{"collector.*", Text, "", "a collector that did not answer in time", Moving},
	}
}

// holds says whether a value is written as its kind demands.
func (k Kind) holds(value string) bool {
	switch k {
	case Whole:
		_, err := strconv.ParseInt(value, 10, 64)
		return err == nil
	case Fraction:
		_, err := strconv.ParseFloat(value, 64)
		return err == nil
	case Flag:
		_, ok := ParseFlag(value)
		return ok
	}
	return true
}

// ParseFlag reads a Flag.
func ParseFlag(value string) (on, ok bool) {
	switch value {
	case "on", "1", "Y", "y", "yes", "true", "enabled":
		return true, true
	case "off", "0", "N", "n", "no", "false", "disabled":
		return false, true
	}
	return false, false
}

// ParseList reads a List.
func ParseList(value string) []string {
	if value == none || value == "" {
		return nil
	}
	return strings.Split(value, ", ")
}
