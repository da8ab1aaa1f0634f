package rule

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/catalogue"
	"github.com/headroom/headroom/internal/lab"
)

// hostSign identifies the system of a machine by facts that a container can't hide: the kernel's release and its
// arguments.
//
//	6.6.57-talos                 talos.platform=metal console=ttyS0 init_on_alloc=1 slab_nomerge= pti=on
//	6.6.87-flatcar               BOOT_IMAGE=/flatcar/vmlinuz-a mount.usr=/dev/mapper/usr verity.usr=PARTUUID=7130c94a-213a-4e5a-8e26-6cce9662f132
//	5.15.79                      BOOT_IMAGE=(hd0,gpt3)/vmlinuz net.ifnames=0 netdog.default-interface=eth0:dhcp4,dhcp6? root=/dev/dm-0 rootwait ro
//	6.8.12-4-pve                 BOOT_IMAGE=/boot/vmlinuz-6.8.12-4-pve root=/dev/mapper/pve-root ro quiet
//	5.14.0-427.50.2.el9_4.x86_64 BOOT_IMAGE=(hd0,gpt3)/boot/ostree/rhcos-0a5b/vmlinuz ostree=/ostree/boot.1/rhcos/0a5b/0 ignition.platform.id=metal
type hostSign struct {
	id string
	// release is a suffix of the kernel's release, argument a part of the kernel's arguments; one match is enough.
	release, argument string
}

// hostSigns returns the signs of systems on which a remedy for another system does nothing, or harm. Sources: the
// kernel packages of Talos and Flatcar (LOCALVERSION), of Proxmox VE (its ABI name), and the boot configurations of
// Bottlerocket (bottlerocket-os/bottlerocket pull request 2706) and of RHEL CoreOS.
func hostSigns() []hostSign {
	return []hostSign{
		{"talos", "-talos", "talos.platform="},
		{"flatcar", "-flatcar", "BOOT_IMAGE=/flatcar/"},
		{"bottlerocket", "", "netdog.default-interface="},
		{"rhcos", "", "/ostree/rhcos-"},
		{proxmoxHost, "-pve", ""},
	}
}

// proxmoxHost is not an os.id: the os.id of Proxmox VE is debian, and os.pve distinguishes it.
const proxmoxHost = "proxmox"

// tellSystem replaces the system of a container, whose os-release describes its image, by the system of the machine. If
// the kernel shows no sign of it and the user has not named it, the system is unknown.
func (m *machine) tellSystem(named []string) {
	kind := m.text("container.kind")
	if kind == "" || kind == catalogue.None {
		return
	}
	set := func(key, value, source string) {
		m.whole[key] = lab.Fact{Key: key, Value: value, Source: source}
	}
	own := m.text("os.id")
	for _, key := range []string{"os.id", "os.name", "os.version"} {
		m.whole[key] = lab.Fact{Key: key, Source: "/etc/os-release", Unknown: "this is a container (" + kind +
			"), whose image is " + own + "; it does not show the system of the machine"}
	}
	release, arguments := m.text("kernel.release"), m.text("kernel.cmdline")
	for _, s := range hostSigns() {
		source := ""
		switch {
		case s.release != "" && strings.HasSuffix(release, s.release):
			source = "kernel.release: " + release
		case s.argument != "" && strings.Contains(arguments, s.argument):
			source = "kernel.cmdline: " + s.argument
		case slices.Contains(named, s.id):
			source = "--for " + s.id
		default:
			continue
		}
		if s.id == proxmoxHost {
			set("os.pve", release, source)
			set("os.id", "debian", source)
			return
		}
		set("os.id", s.id, source)
		return
	}
}
