package qemu

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/host"
)

// ModuleArguments are the arguments for modules on a kernel's command line. The kernel itself uses only those for
// built-in code. For modules modprobe reads the line, but insmod does not.
type ModuleArguments struct {
	options   map[string][]string
	blacklist []string
}

// ParseModuleArguments parses a command line like modprobe. An argument is a module's name up to the first dot, with
// dashes treated as underscores; a parameter without a second dot; and a value. Quotes are allowed only in the value,
// or around the whole argument, where some boot loaders move them. Arguments of another form are not for modules.
//
//	nvme.io_queue_depth=64 virtio-blk.queue_depth=8 nvme_core.multipath
//	parport.dyndbg="file drivers/parport/ieee1284_ops.c +mpf"
//	"parport.dyndbg=file drivers/parport/ieee1284_ops.c +mpf" modprobe.blacklist=rdma_rxe,ahci
//
// Source: kmod_config_parse_kcmdline in kmod's libkmod/libkmod-config.c; modprobe(8) under "blacklist".
func ParseModuleArguments(cmdline string) ModuleArguments {
	a := ModuleArguments{options: map[string][]string{}}
	words, closed := host.SplitArguments(cmdline)
	if !closed {
		words = words[:len(words)-1]
	}
	for _, word := range words {
		inner, moved := strings.CutPrefix(word, `"`)
		name, value, valued := strings.Cut(inner, "=")
		module, parameter, _ := strings.Cut(name, ".")
		module = moduleName(module)
		switch {
		case module == "" || parameter == "" || strings.ContainsAny(name, "\" \t\n") ||
			strings.Contains(parameter, "."):
		case module == "modprobe" && parameter == "blacklist":
			for listed := range strings.SplitSeq(value, ",") {
				a.blacklist = append(a.blacklist, moduleName(listed))
			}
		case !valued:
			a.options[module] = append(a.options[module], parameter)
		case moved:
			a.options[module] = append(a.options[module], parameter+`="`+value)
		default:
			a.options[module] = append(a.options[module], parameter+"="+value)
		}
	}
	return a
}

// Options returns the options of a module, each as one argument of insmod, in the order of the command line: the last
// of several takes effect.
func (a ModuleArguments) Options(module string) []string { return a.options[moduleName(module)] }

// Blacklisted reports whether a module must not be loaded for a device. It may still be loaded as a dependency.
func (a ModuleArguments) Blacklisted(module string) bool {
	return slices.Contains(a.blacklist, moduleName(module))
}
