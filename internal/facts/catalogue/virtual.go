package catalogue

// clusterFacts are read from the API of a cluster, of a pod that is measured, its node and its volume.
func clusterFacts() []Definition {
	return []Definition{
		{"cluster.version", Text, "", "version of Kubernetes, of the API server", Setting},
		{"cluster.node", Text, "", "the node that the pod is on", Name},
		{"cluster.node.os", Text, "", "its operating system; os.name is the pod image's", Setting},
		{"cluster.kubelet", Text, "", "version of its kubelet", Setting},
		{"cluster.runtime", Text, "", "its container runtime and version: containerd://1.7.28", Setting},
		{"cluster.cni", Text, "", "network plugin (CNI) and how it reaches other nodes, where known: flannel vxlan",
			Setting},
		{"cluster.proxy", Text, "", "service proxy: kube-proxy with its mode, or cilium", Setting},
		{"cluster.pod.mtu", Whole, "bytes", "MTU of the pod's interface", Setting},
		{"cluster.pod.qos", Text, "", "class of service: Guaranteed, Burstable or BestEffort", Setting},
		{"cluster.pod.cpu.request", Text, "", "CPU request, or none", Setting},
		{"cluster.pod.cpu.limit", Text, "", "CPU limit, or none", Setting},
		{"cluster.pod.memory.request", Text, "", "memory request, or none", Setting},
		{"cluster.pod.memory.limit", Text, "", "memory limit, or none", Setting},
		{"cluster.volume.kind", Text, "", "class, ephemeral, claim, emptydir or hostpath", Setting},
		{"cni.version", Text, "", "its version, by the image of its DaemonSet", Setting},
		{"cni.encapsulation", Text, "", "encapsulation in its ConfigMap: vxlan, ipip, geneve, none", Setting},
		{"cni.encapsulates", Text, "", "which packets: always, or between subnets (CrossSubnet, DirectRouting)",
			Setting},
		{"cni.mtu", Whole, "bytes", "MTU configured for pods; unknown where it chooses one",
			Setting},
		{"cni.plugins", List, "", "plugins in the node's /etc/cni/net.d: bridge, portmap",
			Setting},
		{"claim.class", Text, "", "its StorageClass", Setting},
		{"claim.provisioner", Text, "", "who makes volumes of that class", Setting},
		{"claim.binding", Text, "", "when: Immediate, or WaitForFirstConsumer", Setting},
		{"claim.parameters", List, "", "parameters of the class, without secrets and addresses",
			Setting},
		{"claim.remote_access", Text, "", "LINSTOR's allowRemoteVolumeAccess (default true)",
			Setting},
		{"claim.driver", Text, "", "CSI driver of the volume, or its kind: local, nfs, …",
			Setting},
		{"claim.attributes", List, "", "volume attributes, without secrets and addresses", Setting},
		{"claim.nodes", Text, "", "nodes that can use it (node affinity), or any", Name},
		{"claim.replica", Text, "", "local, or remote where DRBD is diskless on the node", Setting},
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
		{"guest.pinned", Flag, "", "its threads are pinned", Setting},
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
		{"load.pressure.cpu", Fraction, "share", "waiting for a CPU, over the last ten seconds",
			Moving},
		{"load.pressure.io", Fraction, "share", "the same for I/O", Moving},
		{"load.pressure.memory", Fraction, "share", "the same for memory", Moving},
		{"load.steal", Fraction, "share", "share of CPU time that the hypervisor took", Moving},
		{"load.throttled", Whole, "", "times a core was throttled by heat", Moving},
		{"load.swapped", Whole, "", "pages swapped in and out", Moving},
		{"busy.read", Whole, "bytes", "read since it started", Moving},
		{"busy.written", Whole, "bytes", "written since it started", Moving},
		{"tool.fio.version", Text, "", "version of fio", Setting},
		{"tool.fio.sha256", Text, "", "its hash", Setting},
		{"tool.iperf3.version", Text, "", "version of iperf3", Setting},
		{"tool.iperf3.sha256", Text, "", "its hash", Setting},
		{"collector.*", Text, "", "a collector that did not answer in time", Moving},
	}
}
