package facts

import (
	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/validity"
)

// Machine selects the facts that the checks need from a snapshot. If several disks are under the place, the first
// represents all; block sizes belong to the device that the load sees, which an encryption layer can make larger.
func Machine(facts []lab.Fact) validity.Machine {
	values := make(map[string]string, len(facts))
	for _, f := range facts {
		if f.Unknown == "" {
			values[f.Key] = f.Value
		}
	}
	const underTest = "disk" + catalogue.UnderTestRole
	disk := func(part string) string {
		if v, ok := values[underTest+"."+part]; ok {
			return v
		}
		return values[underTest+".1."+part]
	}
	m := validity.Machine{
		MemoryBytes:   collect.Integer(values["memory.total"]),
		Cores:         int(collect.Integer(values["cpu.threads"])),
		Filesystem:    values["filesystem.type"],
		MountPoint:    values["filesystem.mount_point"],
		MountOptions:  collect.Options(values["filesystem.options"], values["filesystem.super_options"]),
		LogicalBlock:  collect.Integer(values["device.under-test.queue.logical_block_size"]),
		PhysicalBlock: collect.Integer(values["device.under-test.queue.physical_block_size"]),
		WriteCache:    disk("queue.write_cache"),
		Governor:      values["cpu.governor"],
		ClockSource:   values["clock.source"],
		Scheduler:     disk("queue.scheduler"),
		FioVersion:    values["tool.fio.version"],
	}
	if v := values["vm.hypervisor"]; v != catalogue.None {
		m.Virtual = v
	}
	// A paravirtual disk does not report whether it rotates: the kernel then shows its default, 1.
	if v := disk("rotational"); v != "" && disk("driver") != "virtio_blk" && disk("driver") != "vbd" {
		spins := v == "1"
		m.Rotational = &spins
	}
	return m
}
