package rule

import (
	"slices"
	"strings"
)

// setting is a remedy's Set in parts: "cmdline:iommu.strict=0" has the kind cmdline, the name iommu.strict and the
// value 0. "cmdline:numa=absent" removes the argument, as does "cmdline:-numa", or "cmdline:-numa=off" if off is its
// value.
type setting struct {
	kind, name, value string
	removed           bool
}

// settingKinds returns the words before the colon.
func settingKinds() []string {
	return []string{"cmdline", "sysctl", "module", "queue", "sysfs", "cpu", "nic", "irq", "mount", "guest", "exec"}
}

// absent is the level of a missing boot argument, as in factors.
const absent = "absent"

func parseSetting(text string) setting {
	kind, rest, ok := strings.Cut(text, ":")
	kind, _, _ = strings.Cut(kind, "@") // queue@sda:
	if !ok || !slices.Contains(settingKinds(), kind) && kind != "option" {
		kind, rest = "", text
	}
	if kind == "exec" || kind == "irq" {
		return setting{kind: kind, name: rest}
	}
	name, value, _ := strings.Cut(rest, "=")
	s := setting{kind: kind, name: strings.TrimSpace(name), value: strings.TrimSpace(value)}
	if after, minus := strings.CutPrefix(s.name, "-"); minus && kind == "cmdline" {
		s.name, s.removed = after, true
	}
	switch {
	case kind == "cmdline" && s.value == absent:
		s.value, s.removed = "", true
	case kind == "sysfs":
		s.name = "/sys/" + strings.TrimPrefix(s.name, "/sys/")
	}
	return s
}

// argument returns the boot argument as it is typed.
func (s setting) argument() string {
	if s.value == "" {
		return s.name
	}
	return s.name + "=" + s.value
}

// meaning returns the value. For a mount option without one it is whether the option is on.
func (s setting) meaning() string {
	if s.kind == "mount" {
		_, value := s.mountOption()
		return value
	}
	return s.value
}

// mountOption maps pairs of opposite mount options to one option: mount(8), nfs(5).
func (s setting) mountOption() (name, value string) {
	if s.value != "" {
		return s.name, s.value
	}
	switch s.name {
	case "async":
		return "sync", "off"
	case "noac", "nodiscard", "noatime", "nobarrier":
		return strings.TrimPrefix(s.name, "no"), "off"
	}
	return s.name, "on"
}

// names returns all names of the setting: nvme.poll_queues is a boot argument and a module's parameter. A kept setting
// without a kind matches any kind.
func (s setting) names() []string {
	argument, parameter := "cmdline:"+plainName(s.name), "module:"+plainName(s.name)
	switch s.kind {
	case "cmdline", "module":
		if strings.Contains(s.name, ".") {
			return []string{argument, parameter}
		}
		return []string{argument}
	case "queue":
		return []string{"disk.queue." + s.name, "queue:" + s.name}
	case "mount":
		name, _ := s.mountOption()
		return []string{"mount." + name, "mount:" + name}
	case "nic", "cpu", "guest":
		return []string{s.kind + "." + s.name, s.kind + ":" + s.name}
	case "":
		return []string{s.name, "sysctl:" + s.name, "sysctl:" + strings.TrimPrefix(s.name, "sysctl."),
			argument, parameter,
			"module:" + plainName(strings.TrimPrefix(s.name, "module."))}
	}
	return []string{s.kind + ":" + s.name}
}
