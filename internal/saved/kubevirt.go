package saved

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/unit"
)

// virtualMachine is a VirtualMachine or a VirtualMachineInstance of KubeVirt. Source: kubevirt,
// staging/src/kubevirt.io/api/core/v1/schema.go and types.go.
type virtualMachine struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		Instancetype, Preference *struct{ Name string }
		Template                 struct{ Spec instance }
		instance                 `yaml:",inline"`
	}
	Status struct {
		Volumes []struct {
			Name  string
			Claim *struct {
				Mode         string `yaml:"volumeMode"`
				Preallocated bool
			} `yaml:"persistentVolumeClaimInfo"`
		} `yaml:"volumeStatus"`
		Tracking *struct{ State string } `yaml:"changedBlockTracking"`
	}
}

// instance is the part that both have.
type instance struct {
	Architecture string
	Domain       struct {
		CPU struct {
			Cores, Sockets, Threads int64
			Model                   string
			Dedicated               bool `yaml:"dedicatedCpuPlacement"`
			Isolated                bool `yaml:"isolateEmulatorThread"`
		}
		Memory struct {
			Guest     string
			Hugepages *struct {
				Size string `yaml:"pageSize"`
			}
		}
		Resources struct{ Requests, Limits struct{ CPU, Memory string } }
		Machine   struct{ Type string }
		Policy    string `yaml:"ioThreadsPolicy"`
		Pool      struct {
			Count int64 `yaml:"supplementalPoolThreadCount"`
		} `yaml:"ioThreads"`
		Devices struct {
			Queues     *bool `yaml:"blockMultiQueue"`
			NICQueues  *bool `yaml:"networkInterfaceMultiqueue"`
			PodNIC     *bool `yaml:"autoattachPodInterface"`
			Disks      []kubeDisk
			Filesystem []struct{ Name string } `yaml:"filesystems"`
			Interfaces []kubeNIC
		}
	}
	Volumes []kubeVolume
}

type kubeDisk struct {
	Name             string
	Disk, LUN, CDROM *struct{ Bus string }
	Cache, IO        string
	Dedicated        *bool `yaml:"dedicatedIOThread"`
	Shareable        bool
}

type kubeNIC struct {
	Name, Model, State                 string
	Bridge, Masquerade, Macvtap, SRIOV *struct{}
	Passt                              *struct{} `yaml:"passtBinding"`
}

type kubeVolume struct {
	Name  string
	Claim *struct {
		Name string `yaml:"claimName"`
	} `yaml:"persistentVolumeClaim"`
	Data     *struct{ Name string } `yaml:"dataVolume"`
	HostDisk *struct{ Path string } `yaml:"hostDisk"`
	Image    *struct{}              `yaml:"containerDisk"`
	Empty    *struct{}              `yaml:"emptyDisk"`
	Over     *struct{}              `yaml:"ephemeral"`
}

const kubeSource = "kubectl get -o yaml"

// kubeVirt makes a guest of a virtual machine of KubeVirt, as the description that KubeVirt gives to libvirt. What it
// chooses by the cluster's settings, by the kind of storage or by its version is unknown, and so is what an instance
// type or a preference may set. Disks with settings for the first boot are left out, as CD drives are. Source:
// kubevirt, pkg/virt-launcher/virtwrap/converter and pkg/defaults.
//
//	ioThreadsPolicy: auto
//	devices:
//	  disks: [{name: data, disk: {bus: virtio}, cache: writethrough, dedicatedIOThread: true}]
func (m *Machine) kubeVirt(v virtualMachine) bool {
	k := kubeGuest{virtualMachine: v, m: m, spec: v.Spec.instance}
	if v.Kind == "VirtualMachine" {
		k.spec = v.Spec.Template.Spec
		if v.Spec.Instancetype != nil {
			k.byType = "the instance type " + v.Spec.Instancetype.Name + " may set it"
		}
		if v.Spec.Preference != nil {
			k.byPreference = "the preference " + v.Spec.Preference.Name + " may set it"
		}
	}
	k.Name = strings.TrimPrefix(v.Metadata.Namespace+"_"+v.Metadata.Name, "_")
	if k.Name == "" {
		k.Name = "machine" // it has one, which was cut off
	}
	k.Emulator = "/usr/libexec/qemu-kvm"
	k.processor()
	k.disks()
	k.interfaces()
	argv := append(k.arguments(), "-smbios", "type=1,manufacturer=KubeVirt")
	return m.guest(argv)
}

// kubeGuest is a machine of KubeVirt on its way to a description of libvirt's.
type kubeGuest struct {
	virtualMachine
	domain
	m    *Machine
	spec instance
	// byType and byPreference say why a silence says nothing; empty where it does.
	byType, byPreference string
	// cpus is the number of virtual CPUs, 0 where it is unknown.
	cpus int64
}

// unknown tells that facts about the machine, or about one of its disks, are unknown.
func (k *kubeGuest) unknown(disk, reason string, keys ...string) {
	about := k.Name
	if disk != "" {
		about += "/" + disk
	}
	for _, key := range keys {
		k.m.told.add(about, collect.Unknown(key, kubeSource, reason))
	}
}

// processor is about CPUs and memory.
func (k *kubeGuest) processor() {
	d := k.spec.Domain
	either := func(all ...string) string {
		i := slices.IndexFunc(all, func(s string) bool { return s != "" })
		if i < 0 {
			return ""
		}
		return all[i]
	}
	k.cpus = max(1, d.CPU.Cores) * max(1, d.CPU.Sockets) * max(1, d.CPU.Threads)
	if d.CPU.Cores+d.CPU.Sockets+d.CPU.Threads == 0 {
		if n, ok := amount(either(d.Resources.Limits.CPU, d.Resources.Requests.CPU)); ok {
			k.cpus = max(1, n)
		}
		if k.byType != "" {
			k.cpus = 0
			k.unknown("", k.byType, "guest.cpus")
		}
	}
	if k.cpus > 0 {
		k.CPUs = strconv.FormatInt(k.cpus, 10)
	}
	size := ""
	if d.Memory.Hugepages != nil {
		k.Backing, size = &struct{}{}, d.Memory.Hugepages.Size
	} else if k.byType != "" {
		k.unknown("", k.byType, "guest.hugepages")
	}
	n, ok := amount(either(d.Memory.Guest, d.Resources.Requests.Memory, d.Resources.Limits.Memory, size))
	switch {
	case k.byType != "" && d.Memory.Guest == "":
		k.unknown("", k.byType, "guest.memory")
	case ok:
		k.domain.Memory.Unit, k.domain.Memory.Value = "b", n
	default:
		k.unknown("", "the text does not say", "guest.memory")
	}
	switch model := d.CPU.Model; model {
	case "":
		k.unknown("", "the cluster's cpuModel, or host-model", "guest.cpu")
	case "host-model":
		k.unknown("", "host-model: libvirt takes the model that is next to the node's", "guest.cpu")
	case "host-passthrough":
		k.CPU.Mode = model
	default:
		k.CPU.Model = model
	}
	if k.OS.Machine = d.Machine.Type; k.OS.Machine == "" {
		k.unknown("", "the cluster's settings choose it", "guest.machine")
	}
	k.unknown("", "kvm, unless the cluster allows emulation (useEmulation)", "guest.accelerator")
	if d.CPU.Dedicated {
		k.m.told.add(k.Name, collect.OnOff("guest.pinned", true, kubeSource))
	}
}

// amount reads a quantity of Kubernetes, rounded up: 2, 500m, 8Gi, 1.5G.
func amount(text string) (int64, bool) {
	scale := 1.0
	if digits, ok := strings.CutSuffix(text, "m"); ok {
		text, scale = digits, 1000
	}
	v, err := unit.ParseIEC(text + "B")
	if v = math.Ceil(v / scale); err != nil || v >= 1<<60 {
		return 0, false
	}
	return int64(v), true
}

// interfaces are the NICs that QEMU has. Of SR-IOV it has a device of the node.
func (k *kubeGuest) interfaces() {
	d := k.spec.Domain.Devices
	all := d.Interfaces
	if len(all) == 0 && (d.PodNIC == nil || *d.PodNIC) {
		all = []kubeNIC{{Masquerade: &struct{}{}}}
	}
	queues, silent := isTrue(d.NICQueues), false
	for _, i := range all {
		n := nic{}
		switch {
		case i.State == "absent":
			continue
		case i.SRIOV != nil:
			k.m.Unread = append(k.m.Unread, "interface "+i.Name+" of "+k.Name+
				", which is a function of an adapter (SR-IOV)")
			continue
		case i.Passt != nil:
			n.Type = "vhostuser"
		case i.Bridge == nil && i.Masquerade == nil && i.Macvtap == nil:
			n.Type = unseen
		}
		n.Model.Type = i.Model
		if i.Model == "" {
			n.Model.Type, silent = "virtio", true
		}
		if queues && n.Model.Type == "virtio" && n.Type == "" {
			n.Driver.Name = "vhost"
		}
		k.Interfaces = append(k.Interfaces, n)
	}
	switch {
	case silent && k.byPreference != "":
		k.unknown("", k.byPreference, "guest.nics", "guest.vhost")
	case !queues && len(k.Interfaces) > 0:
		k.unknown("", "libvirt takes vhost where the node has it", "guest.vhost")
	}
}

func isTrue(b *bool) bool { return b != nil && *b }
