package rule

import "fmt"

// The settings of virtual machines, by their names as factors: iothreads, queues (of a drive), cache, aio, bus,
// net_queues, cpu, hugepages.

// proxmoxGuest writes for qm(1). Proxmox VE gives each disk with iothread=1 a separate I/O thread, on a controller of
// the kind virtio-scsi-single or on virtio-blk.
func proxmoxGuest(s setting) (text, undo string, ok bool) {
	const undone = "qm set with the old value (qm config VMID shows it); it counts from the next cold start"
	drive := func(option string) (string, string, bool) {
		return "qm set VMID --scsi0 VOLUME," + option +
			" (VOLUME and its other options as qm config VMID shows them), then" +
			" shut the machine down and start it", undone, true
	}
	switch s.name {
	case "iothreads":
		return "qm set VMID --scsihw virtio-scsi-single --scsi0 VOLUME,iothread=1 (one I/O thread for each disk; " +
			"VOLUME as qm config VMID shows it), then shut the machine down and start it", undone, true
	case "cache", "aio", "queues":
		return drive(s.name + "=" + s.value)
	case "bus":
		return "move the disk to scsi0 with --scsihw virtio-scsi-single, or to virtio0; the guest needs the virtio " +
				"drivers first",
			undone, true
	case "net_queues":
		return "qm set VMID --net0 virtio=MAC,bridge=BRIDGE,queues=" + s.value +
				" (MAC and bridge as qm config VMID shows them)",
			undone, true
	case "cpu", "hugepages":
		return fmt.Sprintf("qm set VMID --%s %s", s.name, s.value), undone, true
	}
	return "", "", false
}

// libvirt writes elements of the domain's XML (formatdomain): virsh edit, then a cold start.
func libvirt(s setting, _ remedyContext) (text, undo string, ok bool) {
	var element string
	switch s.name {
	case "iothreads":
		element = "<iothreads>" + s.value + "</iothreads> in <domain>, and in the disk's <driver> an <iothreads> " +
			"element with an <iothread id='N'/> for each (QEMU 9.0 and libvirt 10.0 or newer; before that the " +
			"attribute iothread='1')"
	case "cache":
		element = "the attribute cache='" + s.value + "' in the <driver> of the <disk>"
	case "aio":
		element = "the attribute io='" + s.value + "' in the <driver> of the <disk>"
	case "queues":
		element = "the attribute queues='" + s.value + "' in the <driver> of the <disk>"
	case "bus":
		element = "<target dev='vda' bus='virtio'/> of the <disk>"
		if s.value == "virtio-scsi" {
			element = "<target dev='sda' bus='scsi'/> of the <disk>, and <controller type='scsi' " +
				"model='virtio-scsi'/> in <devices>"
		}
		element += "; delete the disk's <address>; the guest needs the driver first"
	case "net_queues":
		element = "<driver name='vhost' queues='" + s.value + "'/> of the <interface>"
	case "cpu":
		element = "<cpu mode='" + map[bool]string{true: "host-passthrough", false: s.value}[s.value == "host"] + "'/>"
	case "hugepages":
		element = "<memoryBacking><hugepages/></memoryBacking>, with as many pages reserved on the host"
	default:
		return "", "", false
	}
	if s.kind != "guest" {
		return "", "", false
	}
	return "virsh edit DOMAIN: " + element + "; it counts from the next cold start", "virsh edit back", true
}

// kubevirt writes fields of a VirtualMachine's spec.template.spec (KubeVirt's user guide, Disks and Volumes; the
// supplemental pool is in KubeVirt since 1.5).
func kubevirt(s setting, _ remedyContext) (text, undo string, ok bool) {
	if s.kind != "guest" {
		return "", "", false
	}
	var field string
	switch s.name {
	case "iothreads":
		field = "domain: {ioThreadsPolicy: supplementalPool, ioThreads: {supplementalPoolThreadCount: " + s.value +
			"}, devices: {blockMultiQueue: true}}"
	case "queues":
		field = "domain: {devices: {blockMultiQueue: true}}, which gives each virtio disk as many queues as the " +
			"machine has CPUs"
	case "cache":
		field = "domain: {devices: {disks: [{name: DISK, cache: " + s.value + "}]}}"
	case "aio":
		if s.value == "io_uring" {
			return "", "", false // KubeVirt knows native and threads
		}
		field = "domain: {devices: {disks: [{name: DISK, io: " + s.value + "}]}}"
	case "bus":
		field = "domain: {devices: {disks: [{name: DISK, disk: {bus: " +
			map[bool]string{true: "scsi", false: "virtio"}[s.value == "virtio-scsi"] +
			"}}]}}; the guest needs the driver first"
	case "net_queues":
		field = "domain: {devices: {networkInterfaceMultiqueue: true}}, which gives as many queues as CPUs"
	case "cpu":
		field = "domain: {cpu: {model: " + map[bool]string{true: "host-passthrough",
			false: s.value}[s.value == "host"] + "}}"
	case "hugepages":
		field = "domain: {memory: {hugepages: {pageSize: 2Mi}}}, with as many pages reserved on the node"
	default:
		return "", "", false
	}
	return "VirtualMachine, spec.template.spec: " + field + "; it counts from the next start",
		"remove the field and restart", true
}
