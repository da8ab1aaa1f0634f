package qemu

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// EmulatedCPU is the processor of an emulated guest: all features that QEMU can emulate, except the flags that make
// kernels copy and clear memory with byte-wise string instructions. QEMU executes one byte after the other, and takes
// the same time for eight bytes if the instruction handles eight.
const EmulatedCPU = "max,erms=off,fsrm=off"

// start has all parameters of one start of QEMU.
type start struct {
	file        File
	program     string
	version     version
	accelerator string
	// bootable and arguments of the kernel; empty for an image that boots its own kernel.
	bootable
	arguments string
	// imageFormat is the format of the image, raw or qcow2.
	imageFormat string
	// hangs is set if the kernel can hang in the emulator, which is then watched for.
	hangs bool
	// port on 127.0.0.1 that is forwarded to the guest's SSH server.
	port int
	// paths of the disks' images, in the order of the disks.
	paths []string
	// links are the file descriptors of the networks' ends, in their order.
	links []int
}

// argv returns the command. The machine has no device that was not requested: each takes time at boot.
func (s start) argv() []string {
	f := s.file
	argv := []string{s.program}
	for _, dir := range f.Firmware {
		argv = append(argv, "-L", dir)
	}
	machine, cpu, accel := f.Type, EmulatedCPU, "tcg,thread="+s.version.emulationThreads()
	if s.accelerator == KVM {
		cpu, accel = "host", "kvm"
		if f.Machine.IOMMU == "intel" {
			machine += ",kernel-irqchip=split" // QEMU requires it for interrupt remapping
		}
	}
	argv = append(argv, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-name",
		"headroom-guest,debug-threads=on",
		"-machine", machine, "-accel", accel, "-cpu", cpu, "-smp", strconv.Itoa(f.Machine.CPUs), "-m",
		strconv.FormatInt(f.Machine.Memory>>20, 10)+"M",
		"-chardev", "file,id=console,path="+consoleFile, "-serial", "chardev:console")
	if f.Machine.IOMMU == "intel" {
		argv = append(argv, "-device", "intel-iommu,intremap=on")
	}
	if s.kernel != "" {
		argv = append(argv, "-kernel", s.kernel, "-append", s.arguments)
	}
	if s.initrd != "" {
		argv = append(argv, "-initrd", s.initrd)
	}
	if s.port != 0 {
		argv = append(argv, "-netdev", fmt.Sprintf("user,id=net,ipv6=off,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22",
			s.port),
			"-device", "virtio-net-pci,netdev=net,romfile="+speedOption(ownSpeed(f.Networks)))
	}
	for i, w := range f.Networks {
		argv = append(argv, networkArgv(i, w, s.links[i])...)
	}
	if f.Image != "" {
		// snapshot: writes go to an unnamed file that vanishes with QEMU.
		argv = append(argv, "-drive",
			"file="+strings.ReplaceAll(f.Image, ",", ",,")+",if=none,id=image,snapshot=on,format="+s.imageFormat,
			"-device", "virtio-blk-pci,drive=image,bootindex=0")
	}
	for i, d := range f.Disks {
		argv = append(argv, diskArgv(d, s.paths[i], f.Machine.IOMMU != "none")...)
	}
	return argv
}

// diskArgv returns the arguments for a disk. They are JSON because a mapping of queues to IOThreads can't be written
// otherwise.
func diskArgv(d Disk, path string, iommu bool) []string {
	node := "node-" + d.Name
	argv := []string{"-blockdev", toJSON(blockdev(d, node, path))}
	var threads []any
	for i := range d.IOThreads {
		id := fmt.Sprintf("io-%s-%d", d.Name, i)
		argv = append(argv, "-object", "iothread,id="+id)
		threads = append(threads, map[string]any{"iothread": id})
	}
	controller := map[string]any{}
	if iommu && d.Kind != nvme && d.Kind != sata {
		controller["iommu_platform"] = true // otherwise the device's memory accesses would bypass the IOMMU
		controller["disable-legacy"] = "on"
	}
	switch {
	case len(threads) == 1:
		controller["iothread"] = threads[0].(map[string]any)["iothread"]
	case len(threads) > 1:
		controller["iothread-vq-mapping"] = threads
	}
	disk := map[string]any{"drive": node, "serial": d.Name}
	if d.cached() {
		disk["write-cache"] = map[bool]string{true: "on", false: "off"}[d.Cache != "writethrough" &&
			d.Cache != "directsync"]
	}
	switch d.Kind {
	case virtioSCSI:
		setQueues(controller, "num_queues", d.Queues)
		controller["driver"], controller["id"] = "virtio-scsi-pci", "scsi-"+d.Name
		disk["driver"], disk["bus"] = "scsi-hd", "scsi-"+d.Name+".0"
		return append(argv, "-device", toJSON(controller), "-device", toJSON(disk))
	case sata:
		controller["driver"], controller["id"] = "ich9-ahci", "ahci-"+d.Name
		disk["driver"], disk["bus"] = "ide-hd", "ahci-"+d.Name+".0"
		return append(argv, "-device", toJSON(controller), "-device", toJSON(disk))
	case virtioBlk:
		setQueues(disk, "num-queues", d.Queues)
		disk["driver"] = "virtio-blk-pci"
	default:
		setQueues(disk, "max_ioqpairs", d.Queues)
		disk["driver"] = "nvme"
	}
	for k, v := range controller {
		disk[k] = v
	}
	return append(argv, "-device", toJSON(disk))
}

func setQueues(device map[string]any, property string, queues int) {
	if queues > 0 {
		device[property] = queues
	}
}

// blockdev returns the block node that stores a disk's data.
func blockdev(d Disk, node, path string) map[string]any {
	if d.Backing == onNull {
		// A disk must read as zeros to be found empty.
		return map[string]any{"driver": "null-co", "node-name": node, "size": d.Size, "read-zeroes": true}
	}
	protocol := map[string]any{"driver": "file", "filename": path}
	if isDevice(path) {
		protocol["driver"] = "host_device"
	}
	cache := map[string]any{"direct": d.direct(), "no-flush": d.Cache == "unsafe"}
	protocol["cache"], protocol["discard"] = cache, "unmap"
	if d.AIO != "" {
		protocol["aio"] = d.AIO
	}
	return map[string]any{"driver": "raw", "node-name": node, "file": protocol, "cache": cache, "discard": "unmap"}
}

func toJSON(v map[string]any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // strings, numbers and booleans can always be encoded
	}
	return string(text)
}
