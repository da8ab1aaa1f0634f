package kube

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/prose"
)

// machineKind is the prefix of the options of a machine of KubeVirt.
const machineKind = "vm"

// MachineOptions are the options of a machine of KubeVirt that pods do not have. Pods and machines share the node, the
// volume and the deadline.
type MachineOptions struct {
	// Boot is the image of a container disk that it starts from. BootClaim is an existing claim with an image, which is
	// not written to.
	Boot, BootClaim string
	// Cores and Memory of the guest.
	Cores  int
	Memory string
	// DedicatedCPUs gives each virtual CPU one of the node's.
	DedicatedCPUs bool
	// User and Port of its SSH server.
	User string
	Port int
	// Through is the way to it: empty for its address, virtctl for the API server, or ssh://user@host.
	Through string
	// Disk is how the volume under test is given to the guest.
	Disk MachineDisk
}

// MachineDisk is how a disk is given to a guest. Source: KubeVirt's API reference, Disk, DomainSpec and DiskIOThreads.
type MachineDisk struct {
	// Bus is virtio, scsi or sata.
	Bus string
	// Cache is none, writethrough or writeback, and IO native or threads; empty for KubeVirt's own choice.
	Cache, IO string
	// Policy of IOThreads is shared, auto or supplementalPool; empty for none.
	Policy string
	// Pool is how many threads supplementalPool has.
	Pool int
	// Dedicated gives the disk a separate IOThread.
	Dedicated bool
	// MultiQueue gives it a queue for each virtual CPU.
	MultiQueue bool
}

// The policies of IOThreads.
const (
	sharedThreads = "shared"
	autoThreads   = "auto"
	ThreadPool    = "supplementalPool"
)

func policies() []string { return []string{sharedThreads, autoThreads, ThreadPool} }

func buses() []string { return []string{"virtio", "scsi", "sata"} }

func caches() []string { return []string{"none", "writethrough", "writeback"} }

func ios() []string { return []string{"native", "threads"} }

// The defaults. A machine takes longer to start than a pod: its image is larger, and an operating system boots.
const (
	machineWait   = 10 * time.Minute
	machineCores  = 2
	machineMemory = "2Gi"
	maxCores      = 512
	maxPool       = 512
	sshPort       = 22
)

func newMachineOptions() *MachineOptions {
	return &MachineOptions{Cores: machineCores, Memory: machineMemory, User: "root", Port: sshPort,
		Disk: MachineDisk{Bus: "virtio"}}
}

// machineList is the list of a machine's options: those that it shares with a pod first.
func machineList() []option {
	shared := []string{"class", "claim", "size", "mode", "context", "kubeconfig", "namespace", "pull", "pullsecret",
		"node", "selector", "tolerate", "cpu", "deadline", "wait"}
	all := slices.DeleteFunc(list(), func(k option) bool { return !slices.Contains(shared, k.name) })
	one := func(field func(d *MachineDisk) *string, choices []string) func(o *Options, value string) error {
		return func(o *Options, value string) error { return among(field(&o.Machine.Disk), value, choices) }
	}
	count := func(field func(m *MachineOptions) *int, most int) func(o *Options, value string) error {
		return func(o *Options, value string) error { return number(field(o.Machine), value, 1, most) }
	}
	yes := func(field func(m *MachineOptions) *bool) func(o *Options, value string) error {
		return func(o *Options, _ string) error { *field(o.Machine) = true; return nil }
	}
	return append(all, []option{
		{name: "boot", set: func(o *Options, value string) error { o.Machine.Boot = value; return nil }},
		{name: "bootclaim", set: func(o *Options, value string) error {
			if wrong := validation.IsDNS1123Subdomain(value); len(wrong) > 0 {
				return fmt.Errorf("%q is no name: %s", value, wrong[0])
			}
			o.Machine.BootClaim = value
			return nil
		}},
		{name: "emptydisk", flag: true, set: func(o *Options, _ string) error { return volume(EmptyDisk)(o, "") }},
		{name: "cores", set: count(func(m *MachineOptions) *int { return &m.Cores }, maxCores)},
		{name: "memory", set: func(o *Options, value string) error {
			return quantity(value, func(text string) { o.Machine.Memory = text })
		}},
		{name: "dedicatedcpus", flag: true, set: yes(func(m *MachineOptions) *bool { return &m.DedicatedCPUs })},
		{name: "bus", set: one(func(d *MachineDisk) *string { return &d.Bus }, buses())},
		{name: "cache", set: one(func(d *MachineDisk) *string { return &d.Cache }, caches())},
		{name: "io", set: one(func(d *MachineDisk) *string { return &d.IO }, ios())},
		{name: "iothreadspolicy", set: one(func(d *MachineDisk) *string { return &d.Policy }, policies())},
		{name: "iothreads", set: count(func(m *MachineOptions) *int { return &m.Disk.Pool }, maxPool)},
		{name: "dedicatediothread", flag: true, set: yes(func(m *MachineOptions) *bool { return &m.Disk.Dedicated })},
		{name: "multiqueue", flag: true, set: yes(func(m *MachineOptions) *bool { return &m.Disk.MultiQueue })},
		{name: "user", set: func(o *Options, value string) error {
			if strings.HasPrefix(value, "-") || strings.ContainsAny(value, " \t\n\"\\%@:") {
				return fmt.Errorf("%q is no user", value)
			}
			o.Machine.User = value
			return nil
		}},
		{name: "through", set: setThrough},
		{name: "port", set: count(func(m *MachineOptions) *int { return &m.Port }, 65535)},
	}...)
}

func among(to *string, value string, choices []string) error {
	if !slices.Contains(choices, value) {
		return fmt.Errorf("it is %s, not %q", strings.Join(choices, " or "), value)
	}
	*to = value
	return nil
}

func number(to *int, value string, least, most int) error {
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		return fmt.Errorf("it is a whole number from %d to %d, not %q", least, most, value)
	}
	*to = n
	return nil
}

// machineContradictions are what does not go together, and fills in what depends on other options.
func (o *Options) machineContradictions(given map[string]bool) []string {
	m, v := o.Machine, &o.Volume
	var faults []string
	if m.Boot != "" && m.BootClaim != "" {
		faults = append(faults, "boot and bootclaim are two disks, and a machine starts from one")
	}
	made := v.Kind == Claimed
	if given["size"] && !made && v.Kind != EmptyDisk {
		faults = append(faults, "size applies only to a new disk: with class or emptydisk")
	}
	if given["mode"] && !made {
		faults = append(faults, "mode applies only to a new claim: with class")
	}
	if v.Kind == "" {
		for _, key := range []string{"bus", "cache", "io", "dedicatediothread"} {
			if given[key] {
				faults = append(faults, key+" is of the disk under test, and there is none: add class, claim or "+
					"emptydisk")
			}
		}
	}
	if m.Disk.Pool > 0 && m.Disk.Policy == "" {
		m.Disk.Policy = ThreadPool
	}
	faults = append(faults, m.Disk.faults()...)
	if v.Kind != "" && v.Size == "" && v.Kind != Existing {
		v.Size = defaultSize
	}
	if !given["mode"] {
		v.Block = made // nothing is then between the volume and the guest
	}
	return faults
}

// faults are what KubeVirt would refuse, or not do, of a disk.
func (d MachineDisk) faults() []string {
	var faults []string
	if (d.Policy == ThreadPool) != (d.Pool > 0) {
		faults = append(faults, "iothreads is the number of threads of iothreadspolicy="+ThreadPool+"; one needs the "+
			"other")
	}
	if d.Dedicated && d.Policy == ThreadPool {
		faults = append(faults, "dedicatediothread gives the disk one thread, and "+ThreadPool+" gives it all of the "+
			"pool's")
	}
	if d.Bus == "sata" && (d.Policy != "" || d.Dedicated || d.MultiQueue) {
		faults = append(faults, "a disk on the bus sata has no IOThreads and one queue")
	}
	if d.Bus == "scsi" && d.Policy == ThreadPool {
		faults = append(faults, ThreadPool+" is of disks on the bus virtio; with scsi take dedicatediothread")
	}
	if d.IO == "native" && d.Cache != "" && d.Cache != "none" {
		faults = append(faults, "io=native needs cache=none")
	}
	return faults
}

// DiskVariable names the container disk of machines whose names say none.
const DiskVariable = "HEADROOM_KUBE_DISK"

// ByVirtctl is the way to a machine that goes through the API server, as virtctl ssh takes it.
const ByVirtctl = "virtctl"

// PlainWord is what needs no quotes in any shell. ssh gives its ProxyCommand to the user's own.
var PlainWord = prose.Pattern(`^[A-Za-z0-9_./:@=-]+$`)

// setThrough reads the way to a machine: "virtctl", "ssh://user@node".
func setThrough(o *Options, value string) error {
	if value != ByVirtctl {
		jump, err := host.ParseSSH(value)
		if err != nil {
			return fmt.Errorf("it is %s, or ssh://user@host of a host that reaches addresses of pods, not %q",
				ByVirtctl, value)
		}
		if !PlainWord().MatchString(jump.Destination) {
			return fmt.Errorf("%q is no host", jump.Destination)
		}
	}
	o.Machine.Through = value
	return nil
}
