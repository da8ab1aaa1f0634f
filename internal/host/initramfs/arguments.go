package initramfs

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/host"
)

// ModuleArguments are what a kernel's command line says to modules. The kernel itself hears only what is for parts that
// are built into it; for modules modprobe reads the line, and insmod does not.
type ModuleArguments struct {
	options   map[string][]string
	blacklist []string
}

// ParseModuleArguments reads a command line as modprobe does: the module's name up to the first dot, in which dashes
// are underscores; a parameter without a second dot; and a value, in which alone quotes may stand, or around the whole
// argument, from where some boot loaders move them. What has another form is for somebody else.
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

// Options are what a module is loaded with, each as one argument of insmod, in the order of the command line: of
// several the last counts.
func (a ModuleArguments) Options(module string) []string { return a.options[moduleName(module)] }

// Blacklisted says whether a module must not be loaded for a device's sake. As a part that another one needs it may be.
func (a ModuleArguments) Blacklisted(module string) bool {
	return slices.Contains(a.blacklist, moduleName(module))
}
