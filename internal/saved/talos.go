package saved

import (
	"bytes"
	"io/fs"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

// readTalos reads what a machine configuration of Talos sets. Its kernel arguments are only those that are added, so
// that no line of arguments is made of them. Source: Talos, pkg/machinery/config/types/v1alpha1/v1alpha1_types.go.
//
//	machine:
//	  sysctls:
//	    net.ipv4.tcp_window_scaling: "0"
func readTalos(m *Machine, text string) bool {
	var c struct {
		Machine struct {
			Sysctls map[string]string `yaml:"sysctls"`
			Sysfs   map[string]string `yaml:"sysfs"`
			Install struct {
				Arguments []string `yaml:"extraKernelArgs"`
			} `yaml:"install"`
		} `yaml:"machine"`
	}
	if yaml.NewDecoder(strings.NewReader(text)).Decode(&c) != nil {
		return false
	}
	for key, value := range c.Machine.Sysctls {
		m.file("/proc/sys/"+swapDots(key), value+"\n")
	}
	for key, value := range c.Machine.Sysfs {
		m.file("/sys/"+swapDots(key), value+"\n")
	}
	if len(c.Machine.Install.Arguments) > 0 {
		m.Unread = append(m.Unread, "machine.install.extraKernelArgs, to which Talos adds others: talosctl read "+
			"/proc/cmdline prints them all")
	}
	return len(c.Machine.Sysctls)+len(c.Machine.Sysfs) > 0
}

// readTalosResources reads the sysctls that Talos has set, as "talosctl support" saves them for each node, in
// talosResources/kernelparamstatuses.runtime.talos.dev.yaml. Sources: go-talos-support, support/collectors/talos.go
// (talosResource); Talos, pkg/machinery/resources/runtime/kernel_params_status.go.
//
//	metadata:
//	    id: proc.sys.net.ipv4.tcp_window_scaling
//	spec:
//	    current: "1"
func (m *Machine) readTalosResources() {
	names, _ := fs.Glob(m.files, "talosResources/*")
	for _, name := range names {
		text, err := m.files.ReadFile(name)
		if err != nil || !strings.HasPrefix(strings.ToLower(path.Base(name)), "kernelparamstatuses") {
			continue
		}
		for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var d struct {
				Metadata struct{ ID string }
				Spec     struct {
					Current     string
					Unsupported bool
				}
			}
			if documents.Decode(&d) != nil {
				break
			}
			known := strings.HasPrefix(d.Metadata.ID, "proc.sys.") || strings.HasPrefix(d.Metadata.ID, "sys.")
			if known && !d.Spec.Unsupported && d.Spec.Current != "" {
				m.file("/"+swapDots(d.Metadata.ID), d.Spec.Current+"\n")
			}
		}
	}
}
