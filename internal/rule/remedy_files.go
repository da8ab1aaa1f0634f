package rule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/prose"
)

// sysctlD writes for sysctl.d(5).
func sysctlD(s setting, _ remedyContext) (text, undo string, ok bool) {
	if s.kind != "sysctl" {
		return "", "", false
	}
	return fmt.Sprintf("write %s = %s into /etc/sysctl.d/90-headroom.conf, then sysctl --system", s.name, s.value),
		"remove the line; the old value comes back with sysctl -w or the next boot", true
}

// modprobeD writes for modprobe.d(5). A driver that the initramfs loads reads the copy there; a driver that is built
// into the kernel reads only the boot arguments.
func modprobeD(s setting, c remedyContext) (text, undo string, ok bool) {
	module, parameter, dotted := strings.Cut(s.name, ".")
	if s.kind != "module" || !dotted {
		return "", "", false
	}
	update := "update-initramfs -u"
	if id := c.machine.text("os.id"); slices.Contains([]string{"rhel", "centos", "rocky", "almalinux", "ol", "fedora"},
		id) ||
		strings.HasPrefix(id, "opensuse") || strings.HasPrefix(id, "sle") {
		update = "dracut -f"
	}
	return fmt.Sprintf("write options %s %s=%s into /etc/modprobe.d/headroom.conf, then %s (the initramfs may load "+
			"the module) and boot; where the driver is built in, boot with %s=%s instead", module, parameter, s.value,
			update, s.name, s.value),
		"remove the line, then " + update, true
}

// udev writes for udev(7): a rule sets the queue whenever the disk appears or changes.
func udev(s setting, c remedyContext) (text, undo string, ok bool) {
	if s.kind != "queue" {
		return "", "", false
	}
	return fmt.Sprintf("write %s into /etc/udev/rules.d/90-headroom.rules, then udevadm control --reload and"+
			" udevadm trigger --subsystem-match=block --action=change", queueRule(s, c)),
		"remove the line; the old value comes back at the next boot", true
}

// queueRule returns the udev rule for an attribute of a disk's queue:
//
//	ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="nvme*n*", ENV{DEVTYPE}=="disk", ATTR{queue/scheduler}="none"
func queueRule(s setting, c remedyContext) string {
	return fmt.Sprintf(
		`ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk", KERNEL=="%s", ATTR{queue/%s}="%s"`,
		kernelPattern(c), s.name, s.value)
}

// diskName matches the kernel's name for a kind of disk: nvme0n1, sda, vdb, mmcblk0.
var diskName = prose.Pattern(`^(nvme|sd|vd|xvd|hd|mmcblk|dasd|pmem|nbd|rbd|zram)`)

// kernelPattern returns a pattern that matches the disks of the finding. Names change between boots, so it matches the
// kind of disk rather than names, unless a disk of that kind does not have the finding.
func kernelPattern(c remedyContext) string {
	if len(c.about) == 0 {
		return "nvme*n*|sd*|vd*"
	}
	patterns := map[string]string{"nvme": "nvme*n*", "sd": "sd*", "vd": "vd*", "xvd": "xvd*"}
	found := map[string]bool{}
	for _, a := range c.about {
		found[a] = true
	}
	// spared are kinds with a disk that is not in the finding.
	spared := map[string]bool{}
	for _, d := range c.machine.things["disk"] {
		if !found[d] {
			spared[diskName().FindString(d)] = true
		}
	}
	var parts []string
	for _, a := range c.about {
		part := a
		if kind := diskName().FindString(a); patterns[kind] != "" && !spared[kind] {
			part = patterns[kind]
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "|")
}

// tmpfilesD writes for tmpfiles.d(5), whose type w writes a file of sysfs at boot.
func tmpfilesD(s setting, _ remedyContext) (text, undo string, ok bool) {
	path, ok := s.sysfsPath()
	if !ok {
		return "", "", false
	}
	return fmt.Sprintf("write w %s - - - - %s into /etc/tmpfiles.d/headroom.conf, then systemd-tmpfiles --create "+
		"headroom.conf",
		path, s.value), "remove the line; the old value comes back at the next boot", true
}

// sysfsPath returns the file of sysfs that holds a setting; it may have a star for each CPU's policy.
func (s setting) sysfsPath() (string, bool) {
	switch {
	case s.kind == "sysfs":
		return "/sys/" + strings.TrimPrefix(s.name, "/sys/"), true
	case s.kind == "cpu" && s.name == "governor":
		return "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor", true
	case s.kind == "cpu" && s.name == "epp":
		return "/sys/devices/system/cpu/cpufreq/policy*/energy_performance_preference", true
	case s.kind == "cpu" && s.name == "boost":
		return "/sys/devices/system/cpu/cpufreq/boost", true
	}
	return "", false
}

// tuned writes a profile for TuneD: the plug-ins sysctl, cpu, disk, sysfs, modules and bootloader of tuned.conf(5).
func tuned(s setting, c remedyContext) (text, undo string, ok bool) {
	var section string
	switch s.kind {
	case "sysctl":
		section = fmt.Sprintf("[sysctl]\n%s=%s", s.name, s.value)
	case "sysfs":
		section = fmt.Sprintf("[sysfs]\n/sys/%s=%s", strings.TrimPrefix(s.name, "/sys/"), s.value)
	case "module":
		module, parameter, dotted := strings.Cut(s.name, ".")
		if !dotted {
			return "", "", false
		}
		section = fmt.Sprintf("[modules]\n%s=%s=%s", module, parameter, s.value)
	case "cmdline":
		if s.removed {
			return "", "", false // it only removes arguments that other profiles add
		}
		section = "[bootloader]\ncmdline_headroom=+" + s.argument()
	case "cpu":
		key, known := map[string]string{"governor": "governor", "epp": "energy_performance_preference",
			"boost": "boost", "latency": "force_latency"}[s.name]
		if !known {
			return "", "", false
		}
		section = fmt.Sprintf("[cpu]\n%s=%s", key, s.value)
	case "queue":
		key, known := map[string]string{"scheduler": "elevator", "read_ahead_kb": "readahead"}[s.name]
		if !known {
			return "", "", false
		}
		section = "[disk]\n"
		if len(c.about) > 0 {
			section += "devices=" + strings.Join(c.about, ",") + "\n"
		}
		section += key + "=" + s.value
	default:
		return "", "", false
	}
	return "a profile /etc/tuned/headroom/tuned.conf (TuneD 2.23 and newer: /etc/tuned/profiles/headroom/tuned.conf) " +
		"with include= and the profile that is active (tuned-adm active) under [main], and\n" + section +
		"\nthen tuned-adm profile headroom", "tuned-adm profile and the name of the profile before", true
}
