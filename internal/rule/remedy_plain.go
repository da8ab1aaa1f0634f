package rule

import (
	"fmt"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// plain returns commands to try a setting, and how to make it permanent if that needs no other system.
func plain(s setting, c remedyContext) (text, undo string, ok bool) {
	names := c.about
	if len(names) == 0 {
		names = []string{"DEVICE"}
	}
	switch s.kind {
	case "cmdline":
		if s.removed {
			return "boot without " + s.argument(), "boot with it again", true
		}
		return "boot with " + s.argument(), "boot without it", true
	case "sysctl":
		return fmt.Sprintf("sysctl -w %s=%s", s.name, inQuotes(s.value)),
			"sysctl -w with the old value; a boot undoes it too", true
	case "module":
		module, parameter, _ := strings.Cut(s.name, ".")
		return fmt.Sprintf("load %s with %s=%s (its current value: cat /sys/module/%s/parameters/%s)",
			module, parameter, s.value,
			plainName(module), parameter), "load it without", true
	case "queue":
		return each(names, 4, func(d string) string {
				return fmt.Sprintf("echo %s > /sys/block/%s/queue/%s", s.value, d, s.name)
			}),
			"write the old value; a boot undoes it too", true
	case "sysfs":
		return fmt.Sprintf("echo %s > /sys/%s", s.value, strings.TrimPrefix(s.name, "/sys/")),
			"write the old value; a boot undoes it too", true
	case "cpu":
		return plainCPU(s)
	case "nic":
		return plainNIC(s, names)
	case "mount":
		return plainMount(s, c)
	case "guest":
		return plainGuest(s)
	}
	return "", "", false
}

// inQuotes puts values of several words in quotes: net.ipv4.tcp_rmem has three.
func inQuotes(value string) string {
	if strings.ContainsAny(value, " \t") {
		return `"` + value + `"`
	}
	return value
}

// each writes a command for the first few things; the rest is described in words.
func each(names []string, most int, command func(string) string) string {
	var lines []string
	for i, n := range names {
		if i == most {
			lines = append(lines, fmt.Sprintf("and so for %d more", len(names)-most))
			break
		}
		// interfaces of a saved machine can have any name
		lines = append(lines, command(lab.ShellQuote([]string{n})))
	}
	return strings.Join(lines, "\n")
}

// plainCPU uses cpupower, from the kernel's tools.
func plainCPU(s setting) (text, undo string, ok bool) {
	const undone = "the same with the old value; a boot undoes it too"
	switch s.name {
	case "governor":
		return "cpupower frequency-set -g " + s.value + " (to keep it: boot with cpufreq.default_governor=" + s.value +
				")",
			undone, true
	case "latency":
		return "hold /dev/cpu_dma_latency open with " + s.value + " written to it, as TuneD's force_latency does",
			"close it", true
	}
	path, ok := s.sysfsPath()
	if !ok {
		return "", "", false
	}
	if strings.Contains(path, "*") {
		return fmt.Sprintf("for f in %s; do echo %s > $f; done", path, s.value), undone, true
	}
	return fmt.Sprintf("echo %s > %s", s.value, path), undone, true
}

// nicSetting describes how a property of an interface is set: the arguments of ethtool(8) before and after the
// interface's name, the option of a .link file (systemd.link(5)) and the feature's name in Talos.
type nicSetting struct{ before, after, link, feature string }

func nicSettings() map[string]nicSetting {
	return map[string]nicSetting{
		"ring.rx":              {"-G", "rx", "RxBufferSize", ""},
		"ring.tx":              {"-G", "tx", "TxBufferSize", ""},
		"channels":             {"-L", "combined", "CombinedChannels", ""},
		"coalesce.adaptive_rx": {"-C", "adaptive-rx", "UseAdaptiveRxCoalesce", ""},
		"coalesce.rx_usecs":    {"-C", "rx-usecs", "RxCoalesceSec", ""},
		"coalesce.tx_usecs":    {"-C", "tx-usecs", "TxCoalesceSec", ""},
		"offload.tso":          {"-K", "tso", "TCPSegmentationOffload", "tx-tcp-segmentation"},
		"offload.gso":          {"-K", "gso", "GenericSegmentationOffload", "tx-generic-segmentation"},
		"offload.gro":          {"-K", "gro", "GenericReceiveOffload", "rx-gro"},
		"offload.lro":          {"-K", "lro", "LargeReceiveOffload", "rx-lro"},
		"offload.rx_checksum":  {"-K", "rx", "ReceiveChecksumOffload", "rx-checksum"},
		"offload.tx_checksum":  {"-K", "tx", "TransmitChecksumOffload", "tx-checksum-ip-generic"},
		"pause.rx":             {"-A", "rx", "RxFlowControl", ""},
		"pause.tx":             {"-A", "tx", "TxFlowControl", ""},
	}
}

// linkValue returns a value in the form of a .link file: microseconds with their unit, flags as yes and no.
func linkValue(name, value string) string {
	if strings.HasSuffix(name, "_usecs") {
		return value + "us"
	}
	return map[string]string{"on": "yes", "off": "no"}[value] +
		map[bool]string{true: value}[value != "on" && value != "off"]
}

// plainNIC uses ip(8), tc(8) and ethtool(8), and a .link file to make it permanent.
func plainNIC(s setting, names []string) (text, undo string, ok bool) {
	const undone = "the same with the old value"
	keep := func(option, value string) string {
		// Only the first matching file counts, and the default one gives interfaces their names.
		return fmt.Sprintf("\nto keep it: %s=%s under [Link] in the interface's file /etc/systemd/network/*.link, "+
			"with [Match] on its MAC address or path; a new file needs NamePolicy=keep kernel database onboard slot "+
			"path too, or the interface gets another name at the next boot (or the same in the distribution's own "+
			"network configuration)", option, value)
	}
	switch s.name {
	case "mtu":
		return each(names, 4, func(n string) string { return "ip link set dev " + n + " mtu " + s.value }) +
			keep("MTUBytes", s.value) + "\nevery switch port and every peer must carry it first", undone, true
	case "queue_length":
		return each(names, 4, func(n string) string { return "ip link set dev " + n + " txqueuelen " + s.value }) +
			keep("TransmitQueueLength", s.value), undone, true
	case "qdisc":
		return each(names, 4, func(n string) string { return "tc qdisc replace dev " + n + " root " + s.value }) +
			"\nto keep it for all interfaces: the sysctl net.core.default_qdisc", undone, true
	}
	known, ok := nicSettings()[s.name]
	if !ok {
		return "", "", false
	}
	return each(names, 4, func(n string) string {
		return strings.Join([]string{"ethtool", known.before, n, known.after, s.value}, " ")
	}) + keep(known.link, linkValue(s.name, s.value)), undone, true
}

// talosNIC writes the documents EthernetConfig (since Talos 1.10) and, for the MTU, LinkConfig (since 1.12).
func talosNIC(s setting, c remedyContext) (text, undo string, ok bool) {
	name := "INTERFACE"
	if len(c.about) > 0 {
		name = c.about[0]
	}
	more := ""
	if len(c.about) > 1 {
		more = fmt.Sprintf("; one document for each of %d interfaces", len(c.about))
	}
	const undone = "remove the document's field and apply the configuration again"
	ethernet := func(field string) (string, string, bool) {
		return "machine configuration: {apiVersion: v1alpha1, kind: EthernetConfig, name: " + name + ", " + field +
				"}" + more,
			undone, true
	}
	known := nicSettings()[s.name]
	switch {
	case s.name == "mtu":
		return "machine configuration: mtu: " + s.value + " of the interface " + name +
				" (machine.network.interfaces; from" +
				" Talos 1.12 the document LinkConfig)" + more +
				"; every switch port and every peer must carry it first",
			undone, true
	case s.name == "ring.rx" || s.name == "ring.tx":
		return ethernet("rings: {" + strings.TrimPrefix(s.name, "ring.") + ": " + s.value + "}")
	case s.name == "channels":
		return ethernet("channels: {combined: " + s.value + "}")
	case known.feature != "":
		return ethernet("features: {" + known.feature + ": " +
			map[string]string{"on": "true", "off": "false"}[s.value] + "}")
	case known.before != "":
		return "the machine configuration has no such setting; a privileged pod in the host's network can make it, " +
				"until the next boot: " + strings.Join([]string{"ethtool", known.before, name, known.after, s.value},
				" ") + more,
			"the same with the old value", true
	}
	return "", "", false
}

// plainGuest writes QEMU's own options (qemu(1)).
func plainGuest(s setting) (text, undo string, ok bool) {
	option, known := map[string]string{
		"iothreads": "-object iothread,id=io1 for each, and iothread=io1 in the disk's -device (several for one disk:" +
			" iothread-vq-mapping, QEMU 9.0 and newer)",
		"cache":      "cache=" + s.value + " in the disk's -drive or -blockdev",
		"aio":        "aio=" + s.value + " in the disk's -drive or -blockdev",
		"queues":     "num-queues=" + s.value + " in the disk's -device",
		"net_queues": "queues=" + s.value + " in the -netdev, and mq=on in its -device",
		"cpu":        "-cpu " + s.value,
		"hugepages":  "-object memory-backend-file,mem-path=/dev/hugepages,… as the machine's memory-backend",
	}[s.name]
	if !known {
		option = s.argument()
	}
	return "on the host that runs the virtual machine, in QEMU's words: " + option +
		" (--for libvirt, proxmox or kubevirt" +
		" writes it in theirs); it counts from the next start", "the old value, and restart", true
}

// plainMount writes for fstab(5).
func plainMount(s setting, c remedyContext) (text, undo string, ok bool) {
	where := "the file system's"
	if len(c.about) > 0 {
		where = strings.Join(c.about[:min(4, len(c.about))], "'s and ") + "'s"
	}
	return fmt.Sprintf("add %s to the options in %s line of /etc/fstab, then unmount and mount (mount -o remount "+
			"where the file system allows it; NFS takes nconnect, rsize and wsize at the first mount from a server "+
			"only)", s.argument(), where),
		"remove the option and mount again", true
}
