package saved

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/facts/network"
	"github.com/headroom/headroom/internal/prose"
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
		m.files.file("/proc/sys/"+swapDots(key), value+"\n")
	}
	for key, value := range c.Machine.Sysfs {
		m.files.file("/sys/"+swapDots(key), value+"\n")
	}
	if len(c.Machine.Install.Arguments) > 0 {
		m.Unread = append(m.Unread, "machine.install.extraKernelArgs, to which Talos adds others: talosctl read "+
			"/proc/cmdline prints them all")
	}
	return len(c.Machine.Sysctls)+len(c.Machine.Sysfs) > 0
}

// readTalosResources reads what "talosctl support" saves of the state of each node: the sysctls that Talos has set, the
// kernel's arguments and the adapters. Sources: go-talos-support, support/collectors/collectors.go and talos.go
// (talosResource); Talos, pkg/machinery/resources/runtime/kernel_params_status.go and kernel_cmdline.go, and
// pkg/machinery/resources/network/link_status.go.
//
//	metadata:
//	    id: proc.sys.net.ipv4.tcp_window_scaling
//	spec:
//	    current: "1"
func (m *Machine) readTalosResources() {
	names, _ := fs.Glob(m.files, "*esources/*") // talosResources once, resources now
	for _, name := range names {
		kind, _, _ := strings.Cut(strings.ToLower(path.Base(name)), ".")
		text, err := m.files.ReadFile(name)
		if err != nil || !slices.Contains([]string{"kernelparamstatuses", "kernelcmdlines", "linkstatuses"}, kind) {
			continue
		}
		for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
			var d struct {
				Metadata struct{ ID string }
				Spec     talosSpec
			}
			if documents.Decode(&d) != nil {
				break
			}
			known := strings.HasPrefix(d.Metadata.ID, "proc.sys.") || strings.HasPrefix(d.Metadata.ID, "sys.")
			switch {
			case kind == "linkstatuses":
				m.talosLink(d.Metadata.ID, d.Spec)
			case kind == "kernelcmdlines" && d.Spec.Cmdline != "":
				m.files.file("/proc/cmdline", d.Spec.Cmdline+"\n")
			case known && !d.Spec.Unsupported && d.Spec.Current != "":
				m.files.file("/"+swapDots(d.Metadata.ID), d.Spec.Current+"\n")
			}
		}
	}
}

// talosSpec is what is read of a resource's state, of whichever kind it is.
type talosSpec struct {
	Current     string
	Unsupported bool
	Cmdline     string

	Type, Kind, Duplex, Driver string
	MTU                        int
	LinkState                  bool   `yaml:"linkState"`
	Speed                      int    `yaml:"speedMbit"`
	BusPath                    string `yaml:"busPath"`
}

// talosLink makes the files of an adapter. A link that is no hardware has a kind: bond, veth, vlan.
func (m *Machine) talosLink(name string, s talosSpec) {
	if !strings.EqualFold(s.Type, "ether") || s.Kind != "" || s.Driver == "" || strings.ContainsAny(name, "/.") {
		return
	}
	dir := network.NetDir + "/" + name
	m.files.folder(dir + "/device")
	m.files.driver(dir+"/device", s.Driver)
	m.files.file(dir+"/mtu", fmt.Sprintf("%d\n", s.MTU))
	m.files.file(dir+"/carrier", map[bool]string{true: "1\n", false: "0\n"}[s.LinkState])
	if s.Speed > 0 && s.Speed < 10_000_000 {
		m.files.file(dir+"/speed", fmt.Sprintf("%d\n", s.Speed))
		m.files.file(dir+"/duplex", strings.ToLower(s.Duplex)+"\n")
	}
	address := collect.Unknown("nic.pci.address", "LinkStatuses", notSaved)
	if pciAddress().MatchString(s.BusPath) {
		address = collect.Known("nic.pci.address", s.BusPath, "LinkStatuses")
	}
	m.told.add(name, address, collect.Unknown("nic.master", "LinkStatuses", notSaved))
}

var pciAddress = prose.Pattern(`^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
