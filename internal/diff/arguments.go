package diff

import (
	"slices"
	"strings"
)

// cmdline is the boot arguments of one side.
type cmdline struct {
	known bool
	order []string
	// values of each argument as given, in order; "on" for one without a value.
	values map[string][]string
}

// parseCmdline splits boot arguments. Quotes keep spaces together; what follows a lone -- is for init.
//
//	BOOT_IMAGE=/boot/vmlinuz-6.1.0-50-amd64 root=UUID=1f2e ro quiet iommu.strict=0 dyndbg="file drivers/usb/* +p"
//
// Source: the kernel's lib/cmdline.c (next_arg) and kernel/params.c (dash2underscore).
func parseCmdline(text string) cmdline {
	c := cmdline{known: true, values: map[string][]string{}}
	for _, word := range splitQuoted(text) {
		if word == "--" {
			break
		}
		name, value := splitArgument(word)
		if _, seen := c.values[name]; !seen {
			c.order = append(c.order, name)
		}
		c.values[name] = append(c.values[name], value)
	}
	return c
}

func splitQuoted(text string) []string {
	quoted := false
	return strings.FieldsFunc(text, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return !quoted && (r == ' ' || r == '\t' || r == '\n')
	})
}

// splitArgument reads "name=value"; an argument without a value is "on".
func splitArgument(word string) (name, value string) {
	word = strings.ReplaceAll(word, `"`, "")
	name, value, found := strings.Cut(word, "=")
	if !found {
		value = "on"
	}
	return argumentName(name), value
}

// argumentName makes dashes and underscores equal, as the kernel does.
func argumentName(name string) string { return strings.ReplaceAll(name, "-", "_") }

// lastCounts says whether the last of several values of an argument is the one that the kernel goes by. Of the others
// each value adds something: console=tty0 console=ttyS0, intel_iommu=on intel_iommu=strict.
func (k *Knowledge) lastCounts(name string) bool {
	switch name {
	case "console", "crashkernel", "earlyprintk", "hugepages", "iommu", "intel_iommu", "amd_iommu", "pci",
		"swiotlb", "libata.force",
		"ima_policy", "initrd", "mem", "cgroup_disable":
		return false
	}
	return k.named(argumentKind, name) || len(k.linked[name]) > 0
}

// value is what an argument amounts to: its last value, or all of those that add up as a sorted set, and "" when it is
// not given.
func (c cmdline) value(name string, lastCounts bool) string {
	if n := len(c.values[name]); n > 0 && lastCounts {
		return c.values[name][n-1]
	}
	values := slices.Clone(c.values[name])
	slices.Sort(values)
	return strings.Join(slices.Compact(values), ", ")
}

// effective is what an option amounts to on a side: an argument that overrides it counts, else the build. by is the
// argument, empty when none does.
func (e *entry) effective(built string, mentioned bool, c cmdline) (value, by string) {
	for i, o := range e.boot {
		given := c.values[o.name]
		// The kernel lets the last of several count.
		if len(given) == 0 || given[len(given)-1] != o.value || !mentioned && on(o.result) {
			continue
		}
		argument, _, _ := strings.Cut(e.Boot[i], " ")
		return o.result, argument
	}
	return built, ""
}
