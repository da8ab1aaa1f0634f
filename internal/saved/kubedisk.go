package saved

import (
	"slices"
	"strconv"

	"github.com/headroom/headroom/internal/facts/collect"
	claims "github.com/headroom/headroom/internal/host/kube/claim"
)

// disks are those that the machine has for data.
func (k *kubeGuest) disks() {
	all := k.spec.Domain.Devices.Disks
	volumes := map[string]kubeVolume{}
	for _, v := range k.spec.Volumes { // one that no disk names is a disk as well
		volumes[v.Name] = v
		if !slices.ContainsFunc(all, func(d kubeDisk) bool { return d.Name == v.Name }) &&
			!slices.ContainsFunc(k.spec.Domain.Devices.Filesystem, func(f struct{ Name string }) bool {
				return f.Name == v.Name
			}) {
			all = append(all, kubeDisk{Name: v.Name})
		}
	}
	all = all[:min(len(all), maxGuests)]
	threads := k.threads(all)
	k.Controllers = []controller{{Type: "scsi", Index: "0", Model: "virtio-scsi"}}
	for _, d := range all {
		bus, ok := k.bus(d)
		thread, why := threads(d, bus)
		v, there := volumes[d.Name]
		if d.CDROM != nil || there && !v.holdsData() {
			continue
		}
		if why != "" {
			k.unknown(d.Name, why, "drive.iothread", "drive.iothreads")
		}
		if !ok {
			k.unknown(d.Name, bus, "drive.bus", "drive.iothread", "drive.iothreads", "drive.queues")
			bus = "virtio"
		}
		to := disk{}
		to.Target.Dev, to.Target.Bus = d.Name, bus
		to.Driver = thread
		to.Driver.Cache, to.Driver.IO = d.Cache, d.IO
		if bus == "virtio" && isTrue(k.spec.Domain.Devices.Queues) {
			if to.Driver.Queues = k.CPUs; k.cpus == 0 {
				k.unknown(d.Name, k.byType, "drive.queues")
			}
		} else if bus == "virtio" && k.spec.Domain.Devices.Queues == nil && k.byPreference != "" {
			k.unknown(d.Name, k.byPreference, "drive.queues")
		}
		k.backing(d, v, &to)
		k.Disks = append(k.Disks, to)
	}
}

// bus is what a disk hangs on, or why that is unknown.
func (k *kubeGuest) bus(d kubeDisk) (bus string, ok bool) {
	for _, t := range []*struct{ Bus string }{d.Disk, d.LUN, d.CDROM} {
		if t != nil && t.Bus != "" {
			return t.Bus, true
		}
	}
	if k.byPreference != "" {
		return k.byPreference, false
	}
	switch k.spec.Architecture {
	case "amd64":
		return "sata", true
	case "arm64", "s390x":
		return "virtio", true
	}
	return "none is named: sata on amd64, virtio on others", false
}

// threads gives disks their IOThreads, in the order of the text, or says why they are unknown.
func (k *kubeGuest) threads(all []kubeDisk) func(d kubeDisk, bus string) (o options, why string) {
	d := k.spec.Domain
	dedicated := int64(0)
	for _, one := range all {
		if isTrue(one.Dedicated) {
			dedicated++
		}
	}
	automatic, limit, why := int64(len(all))-dedicated, int64(1), ""
	switch {
	case d.Policy == "" && k.byType != "":
		why = k.byType
	case d.Policy == "" && dedicated == 0:
		if k.byPreference == "" {
			return func(kubeDisk, string) (options, string) { return options{}, "" }
		}
		why = k.byPreference
	case d.Policy == "auto" && !(d.CPU.Dedicated && d.CPU.Isolated):
		n, ok := amount(d.Resources.Requests.CPU)
		if !ok {
			n, ok = amount(d.Resources.Limits.CPU)
		}
		limit = 2 * max(1, n)
		if !ok && k.Kind == "VirtualMachine" && int64(len(all)) > limit {
			why = "two for each CPU that is requested, and the cluster's settings say how many that are"
		}
	case d.Policy == "supplementalPool":
		k.Threads = min(d.Pool.Count, maxGuests)
		pool := options{}
		for i := range k.Threads {
			pool.Pool = append(pool.Pool, struct {
				ID string `xml:"id,attr"`
			}{strconv.FormatInt(i+1, 10)})
		}
		return func(_ kubeDisk, bus string) (options, string) {
			if bus != "virtio" {
				return options{}, ""
			}
			return pool, ""
		}
	case d.Policy != "" && d.Policy != "shared" && d.Policy != "auto":
		why = "the policy " + collect.OneLine(d.Policy) + " is not known here"
	}
	if automatic+dedicated > limit {
		automatic = max(1, limit-dedicated)
	}
	if why != "" {
		k.unknown("", why, "guest.iothreads")
	} else {
		k.Threads = automatic + dedicated
	}
	next, own := int64(1), automatic+1
	return func(d kubeDisk, bus string) (o options, reason string) {
		switch {
		case why != "":
			return o, why
		case bus == "scsi" && isTrue(d.Dedicated):
			return o, "newer versions of KubeVirt give the controller one"
		case bus != "virtio":
		case isTrue(d.Dedicated):
			o.IOThread = strconv.FormatInt(own, 10)
			own++
		default:
			o.IOThread = strconv.FormatInt(next, 10)
			next = next%automatic + 1
		}
		return o, ""
	}
}

// holdsData reports whether a volume is more than settings for the first boot.
func (v kubeVolume) holdsData() bool {
	return v.Claim != nil || v.Data != nil || v.HostDisk != nil || v.Image != nil || v.Empty != nil || v.Over != nil
}

// backing is what lies behind a disk. The mode of a claim's volume, which is a device or has a file, is in the status
// of an instance and in the claim.
func (k *kubeGuest) backing(d kubeDisk, v kubeVolume, to *disk) {
	to.Driver.Discard = "unmap"
	mode, preallocated, known := "", false, false
	for _, s := range k.Status.Volumes {
		if s.Name == d.Name && s.Claim != nil {
			mode, preallocated, known = s.Claim.Mode, s.Claim.Preallocated, true
		}
	}
	claim := ""
	if v.Claim != nil {
		claim = v.Claim.Name
	} else if v.Data != nil {
		claim = v.Data.Name
	}
	if claim != "" && mode == "" {
		mode = claims.Mode(k.m.volumes, k.Metadata.Namespace, claim)
	}
	switch {
	case v.HostDisk != nil:
		to.Source.File, to.Driver.Type = v.HostDisk.Path, "raw"
	case v.Image != nil:
		to.Source.File, to.Driver.Type = "containerDisk", "qcow2"
	case v.Empty != nil:
		to.Source.File, to.Driver.Type = "emptyDisk", "qcow2"
	case v.Over != nil:
		to.Source.File, to.Driver.Type = "ephemeral", "qcow2"
	case claim == "":
		k.unknown(d.Name, "the text has no volume of that name", "drive.backend", "drive.source", "drive.discard")
	case mode == "Block":
		to.Source.Dev, to.Driver.Type = "/dev/"+d.Name, "raw"
	case mode == "Filesystem":
		to.Source.File, to.Driver.Type = "disk.img", "raw"
	default:
		k.unknown(d.Name, "a device or a file: kubectl get pvc "+claim+" -o yaml says it (volumeMode)", "drive.backend")
	}
	if claim != "" {
		k.m.told.add(k.Name+"/"+d.Name, collect.Known("drive.source", "claim "+collect.OneLine(claim), kubeSource))
	}
	if t := k.Status.Tracking; t != nil && t.State != "" && t.State != "Disabled" {
		k.unknown(d.Name, "changed blocks are tracked, of some volumes in a qcow2 file", "drive.backend")
	}
	switch {
	case claim != "" && !known:
		k.unknown(d.Name, "unmap, unless the volume was filled beforehand (preallocation)", "drive.discard")
	case preallocated:
		to.Driver.Discard = "ignore"
	}
	if d.Cache == "" && d.Shareable {
		to.Driver.Cache = "none"
	}
	if to.Driver.Cache == "" || k.byPreference != "" && d.Cache == "" {
		k.unknown(d.Name, "KubeVirt takes none where the storage can do direct I/O, and writethrough elsewhere",
			"drive.cache")
	}
	switch {
	case d.IO != "":
	case k.byPreference != "":
		k.unknown(d.Name, k.byPreference, "drive.aio")
	case to.Driver.Cache == "none" && mode == "Block":
		to.Driver.IO = "native"
	case to.Driver.Cache == "" || to.Driver.Cache == "none":
		k.unknown(d.Name, "KubeVirt takes native for direct I/O to a device or to a file without holes, and leaves it to "+
			"QEMU elsewhere", "drive.aio")
	}
}
