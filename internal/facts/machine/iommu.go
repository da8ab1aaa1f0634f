package machine

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

// CollectDMA reads how devices reach memory: IOMMUs, bounce buffers, and what is given to virtual machines.
func CollectDMA(r collect.Reader, _ collect.Scope) []lab.Fact {
	facts := []lab.Fact{iommuGroups(r), iommuUnits(r), iommuDefault(r), vfioGroups(r)}
	facts = append(facts, swiotlb(r)...)
	return append(facts, kvm(r)...)
}

// iommuGroups counts the groups that devices are in; none means that DMA is not translated.
func iommuGroups(r collect.Reader) lab.Fact {
	const dir = "/sys/kernel/iommu_groups"
	if !r.Exists(dir) {
		return collect.Unknown("iommu.groups", dir, "no such file here")
	}
	return collect.Whole("iommu.groups", int64(len(r.Names(dir))), dir)
}

func iommuUnits(r collect.Reader) lab.Fact {
	const dir = "/sys/class/iommu"
	entries, err := r.Entries(dir)
	if err != nil {
		return collect.Unknown("iommu.units", dir, collect.Why(err))
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return collect.Sorted("iommu.units", names, dir)
}

// iommuDefault returns the type of domain that devices get by default, as the kernel was built. Source: the kernel's
// drivers/iommu/Kconfig (IOMMU_DEFAULT_DMA_STRICT and its neighbours, in this form since 5.14).
func iommuDefault(r collect.Reader) lab.Fact {
	const key = "iommu.default"
	config, source, err := BuildConfig(r)
	if err != nil {
		return collect.Unknown(key, source, "the build's configuration: "+collect.Why(err))
	}
	for _, c := range [][2]string{{"IOMMU_DEFAULT_PASSTHROUGH", "passthrough"}, {"IOMMU_DEFAULT_DMA_STRICT", "strict"},
		{"IOMMU_DEFAULT_DMA_LAZY", "lazy"}} {
		if config[c[0]] == "y" {
			return collect.Known(key, c[1], source)
		}
	}
	if config["IOMMU_SUPPORT"] != "y" {
		return collect.Known(key, catalogue.None, source)
	}
	return collect.Unknown(key, source, "the configuration names no type; kernels before 5.14 left it to each driver")
}

// vfioGroups counts the groups that VFIO controls: the groups of functions bound to vfio-pci, and the nodes that
// drivers of one kind of device (mlx5_vfio_pci, …) make.
func vfioGroups(r collect.Reader) lab.Fact {
	const key, drivers, nodes = "iommu.vfio_groups", "/sys/bus/pci/drivers", "/dev/vfio"
	groups := map[string]bool{}
	for _, function := range r.Names(drivers + "/vfio-pci") {
		if !isPCIAddress(function) {
			continue
		}
		if to, err := r.Resolve(path.Join(drivers, "vfio-pci", function, "iommu_group")); err == nil {
			groups[path.Base(to)] = true
		}
	}
	for _, name := range r.Names(nodes) {
		if _, err := strconv.Atoi(name); err == nil {
			groups[name] = true
		}
	}
	if len(groups) == 0 && !r.Exists(drivers) && !r.Exists(nodes) {
		return collect.Unknown(key, drivers, "no such file here")
	}
	return collect.Whole(key, int64(len(groups)), drivers+"/vfio-pci")
}

// isPCIAddress tells an address ("0000:41:00.0") from the other entries of a driver's folder.
func isPCIAddress(name string) bool {
	domain, rest, ok := strings.Cut(name, ":")
	return ok && len(domain) >= 4 && len(rest) == len("41:00.0") && rest[2] == ':' && rest[5] == '.'
}

// slabSize is the unit of the bounce buffers' counters: IO_TLB_SIZE of the kernel's include/linux/swiotlb.h.
const slabSize = 2048

// swiotlb reads the bounce buffers that DMA goes through when a device can't reach the memory itself.
func swiotlb(r collect.Reader) []lab.Fact {
	const dir = "/sys/kernel/debug/swiotlb"
	bytes := func(key, name string) lab.Fact {
		f := r.Fact(key, dir+"/"+name)
		if f.Unknown != "" {
			return f
		}
		slabs, err := strconv.ParseInt(f.Value, 10, 64)
		if err != nil || slabs < 0 || slabs > 1<<40 {
			return collect.Unknown(key, f.Source, "not a number of buffers: "+collect.OneLine(f.Value))
		}
		return collect.Whole(key, slabs*slabSize, f.Source)
	}
	return []lab.Fact{bytes("swiotlb.size", "io_tlb_nslabs"), bytes("swiotlb.used", "io_tlb_used"), swiotlbForced(r)}
}

// swiotlbForced reports whether every DMA is bounced: because the boot argument asks for it, or because the machine is
// a confidential guest, whose memory devices can't read. Hosts have the flags sev and sev_es as well; only together
// with "hypervisor" do they mean a guest.
func swiotlbForced(r collect.Reader) lab.Fact {
	const key = "swiotlb.forced"
	argument, given := BootArgument(r, "swiotlb")
	if given && collect.HasOption(argument, "force") {
		return collect.Known(key, "on", CmdlinePath)
	}
	info, err := readCPUInfo(r)
	if err != nil {
		return collect.Unknown(key, cpuInfoPath, collect.Why(err))
	}
	flags := strings.Fields(info["flags"])
	if slices.Contains(flags, "hypervisor") {
		for _, f := range []string{"tdx_guest", "sev_snp", "sev_es", "sev"} {
			if slices.Contains(flags, f) {
				return collect.Known(key, "on", cpuInfoPath)
			}
		}
	}
	if _, err := r.Text(CmdlinePath); err != nil {
		return collect.Unknown(key, CmdlinePath, collect.Why(err))
	}
	return collect.Known(key, "off", CmdlinePath)
}

// kvm reports whether virtual machines can run here, and the settings of KVM.
func kvm(r collect.Reader) []lab.Fact {
	const key, device = "kvm.loaded", "/sys/devices/virtual/misc/kvm"
	loaded := collect.OnOff(key, true, device)
	switch {
	case r.Exists(device), r.Exists("/dev/kvm"):
	case !r.Exists("/sys/devices/virtual"):
		loaded = collect.Unknown(key, device, "no such file here")
	default:
		loaded.Value = "off"
	}
	const parameters = "/sys/module/kvm/parameters/"
	return []lab.Fact{loaded, r.Fact("kvm.nx_huge_pages", parameters+"nx_huge_pages"),
		r.Fact("kvm.halt_poll_ns", parameters+"halt_poll_ns")}
}

// IOMMUGroupType is the kind of DMA translation: "DMA" flushes after every unmapping (strict), "DMA-FQ" in batches
// (lazy), "identity" does not translate. Source: the kernel's Documentation/ABI/testing/sysfs-kernel-iommu_groups.
func IOMMUGroupType(r collect.Reader, role, dir string) lab.Fact {
	key, file := role+".iommu.group_type", dir+"/iommu_group/type"
	if !r.Exists(dir + "/iommu_group") {
		return collect.Known(key, catalogue.None, dir+"/iommu_group")
	}
	return r.Since(key, file, 5, 11)
}
