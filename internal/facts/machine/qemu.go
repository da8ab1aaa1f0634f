package machine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/prose"
)

// guest is a virtual machine as QEMU's command line describes it.
type guest struct {
	pid     string
	program string
	options []option
	// objects, devices, nodes and networks by their names.
	devices      []properties
	objects      map[string]properties
	nodes        map[string]properties
	networks     map[string]properties
	legacyDrives []properties
}

// guestFactsOf describes virtual machines and their disks.
func guestFactsOf(r collect.Reader, guests []guest) []lab.Fact {
	online, _ := ReadCPUSet(r, OnlineCPUsPath)
	var facts []lab.Fact
	taken := map[string]bool{}
	for _, g := range guests {
		name := g.name()
		thing := name
		if thing == "" {
			thing = g.pid
		} else if taken[thing] {
			thing += "/" + g.pid
		}
		taken[thing] = true
		source := "/proc/" + g.pid + "/cmdline"
		facts = append(facts, collect.About(thing, append(g.facts(source), pinned(r, g.pid, online))...)...)
		for _, d := range g.drives() {
			facts = append(facts, collect.About(thing+"/"+d.name, d.facts(source)...)...)
		}
	}
	return facts
}

func (g *guest) name() string {
	p, _ := g.last("name", "guest")
	return collect.OneLine(p["guest"])
}

func (g *guest) facts(source string) []lab.Fact {
	say := func(key, value, reason string) lab.Fact {
		if value = collect.OneLine(value); value == "" {
			return collect.Unknown(key, source, reason)
		}
		return collect.Known(key, value, source)
	}
	const leftOut = "the command line leaves it to QEMU"
	cpu, _ := g.last("cpu", "model")
	threads := 0
	for _, o := range g.objects {
		if o["qom-type"] == "iothread" {
			threads++
		}
	}
	facts := []lab.Fact{
		say("guest.name", g.name(), "it has none"),
		say("guest.manager", g.manager(), ""),
		say("guest.emulator", g.emulator(), "neither QEMU's path nor the machine type tells"),
		say("guest.machine", g.machine(), leftOut),
		say("guest.accelerator", g.accelerator(), ""),
		say("guest.cpu", cpu["model"], leftOut),
		collect.Whole("guest.cpus", int64(g.cpus()), source),
		g.memory(source),
		collect.OnOff("guest.hugepages", g.hugePages(), source),
		collect.Whole("guest.iothreads", int64(threads), source),
	}
	return append(facts, g.network(source)...)
}

func (g *guest) manager() string {
	var paths strings.Builder
	for _, o := range g.options {
		if o.name == "smbios" && strings.Contains(o.value, "manufacturer=KubeVirt") {
			return "kubevirt"
		}
		if o.name == "object" || o.name == "chardev" || o.name == "pidfile" {
			paths.WriteString(o.value)
		}
	}
	switch all := paths.String(); {
	case strings.Contains(all, "/run/kubevirt"):
		return "kubevirt"
	case strings.Contains(all, "/run/qemu-server/"):
		return "proxmox"
	case strings.Contains(all, "masterKey0"), strings.Contains(all, "/libvirt/qemu/"):
		return "libvirt"
	}
	return catalogue.None
}

// machine is the machine type without its settings: pc-q35-9.2, q35+pve0. Proxmox VE gives -machine several times.
func (g *guest) machine() string {
	for _, o := range slices.Backward(g.options) {
		if o.name == "machine" || o.name == "M" {
			if t := parseProperties(o.value, "type")["type"]; t != "" {
				return t
			}
		}
	}
	return ""
}

var (
	emulatorPath   = prose.Pattern(`qemu-(?:kvm-)?([0-9]+\.[0-9]+(?:\.[0-9]+)?)`)
	machineVersion = prose.Pattern(`-((?:rhel)?[0-9]+\.[0-9]+(?:\.[0-9]+)?)(?:\+|$)`)
)

// emulator returns QEMU's version, from a path such as /nix/store/…-qemu-9.1.0/bin or from the machine type. The
// machine type names the version itself or an older one that QEMU still offers.
func (g *guest) emulator() string {
	if found := emulatorPath().FindStringSubmatch(g.program); found != nil {
		return found[1]
	}
	if found := machineVersion().FindStringSubmatch(g.machine()); found != nil {
		return found[1]
	}
	return ""
}

// accelerator is what QEMU runs the machine's code with. Called kvm or qemu-kvm, it takes KVM without being told.
func (g *guest) accelerator() string {
	for _, o := range g.options {
		var named string
		switch o.name {
		case "accel":
			named = parseProperties(o.value, "accel")["accel"]
		case "machine", "M":
			named = parseProperties(o.value, "type")["accel"]
		case "enable-kvm":
			named = "kvm"
		}
		if named != "" {
			first, _, _ := strings.Cut(named, ":")
			return first
		}
	}
	if strings.HasSuffix(g.program, "kvm") {
		return "kvm"
	}
	return "tcg"
}

// cpus is the number of virtual CPUs: given, or sockets times cores times threads.
func (g *guest) cpus() int {
	p, _ := g.last("smp", "cpus")
	if n, err := strconv.Atoi(p["cpus"]); err == nil && n > 0 {
		return n
	}
	n := 1
	for _, part := range []string{"sockets", "dies", "clusters", "cores", "threads"} {
		if v, err := strconv.Atoi(p[part]); err == nil && v > 0 && v <= MaxCPUs && n <= MaxCPUs {
			n *= v
		}
	}
	return n
}

// memory reads -m: "4096", "size=8388608k", "size=1024,slots=255,maxmem=4194304M"; mebibytes when no unit is given.
func (g *guest) memory(source string) lab.Fact {
	const key = "guest.memory"
	p, ok := g.last("m", "size")
	if !ok {
		return collect.Unknown(key, source, "the command line leaves it to QEMU")
	}
	digits := strings.TrimRight(p["size"], "bBkKmMgGtT")
	shift := 20
	switch strings.ToLower(strings.TrimPrefix(p["size"], digits)) {
	case "b":
		shift = 0
	case "k":
		shift = 10
	case "", "m":
	case "g":
		shift = 30
	case "t":
		shift = 40
	default:
		digits = ""
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > 1<<62>>shift {
		return collect.Unknown(key, source, "not an amount of memory: "+collect.OneLine(p["size"]))
	}
	return collect.Whole(key, n<<shift, source)
}

func (g *guest) hugePages() bool {
	for _, o := range g.options {
		if o.name == "mem-path" && strings.Contains(o.value, "huge") {
			return true
		}
	}
	for _, o := range g.objects {
		if strings.HasPrefix(o["qom-type"], "memory-backend") &&
			(o.on("hugetlb") || strings.Contains(o["mem-path"], "huge")) {
			return true
		}
	}
	return false
}

// network lists the network devices with what carries their packets: virtio-net-pci/vhost, e1000/user.
func (g *guest) network(source string) []lab.Fact {
	var nics []string
	virtio, vhost := 0, 0
	for _, d := range g.devices {
		if d["netdev"] == "" {
			continue
		}
		n := g.networks[d["netdev"]]
		carrier := n["type"]
		if carrier == "" {
			carrier = "unknown"
		}
		if n.on("vhost") {
			carrier = "vhost"
		}
		if strings.HasPrefix(d["driver"], "virtio") {
			virtio++
			if strings.HasPrefix(carrier, "vhost") {
				vhost++
			}
		}
		nics = append(nics, collect.OneLine(d["driver"]+"/"+carrier))
	}
	facts := []lab.Fact{collect.ListOf("guest.nics", nics, source)}
	if virtio > 0 {
		facts = append(facts, collect.OnOff("guest.vhost", virtio == vhost, source))
	}
	return facts
}
