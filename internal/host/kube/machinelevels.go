package kube

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// machineSetting is one thing about a machine that a boot can change, by the name that a guest of QEMU has it by.
type machineSetting struct {
	name, levels string
	// ofDisk says that it is of the disk under test.
	ofDisk bool
	set    func(m *MachineOptions, level string) error
}

// machineSettings are all of them.
func machineSettings() []machineSetting {
	onOff := func(to *bool, level string) error {
		text := ""
		err := among(&text, level, []string{"on", "off"})
		*to = text == "on"
		return err
	}
	return []machineSetting{
		{"cpus", "1 to " + strconv.Itoa(maxCores), false, func(m *MachineOptions, level string) error {
			return number(&m.Cores, level, 1, maxCores)
		}},
		{"memory", "2Gi, 512Mi, …", false, func(m *MachineOptions, level string) error {
			return quantity(level, func(text string) { m.Memory = text })
		}},
		{"iothreads", "0 for none, and how many " + ThreadPool + " has", true,
			func(m *MachineOptions, level string) error {
				if err := number(&m.Disk.Pool, level, 0, maxPool); err != nil {
					return err
				}
				m.Disk.Policy, m.Disk.Dedicated = "", false
				if m.Disk.Pool > 0 {
					m.Disk.Policy = ThreadPool
				}
				return nil
			}},
		{"iothreadspolicy", "none, " + sharedThreads + ", " + autoThreads, true,
			func(m *MachineOptions, level string) error {
				m.Disk.Pool = 0
				if err := among(&m.Disk.Policy, level, []string{"none", sharedThreads, autoThreads}); err != nil {
					return err
				}
				if level == "none" {
					m.Disk.Policy = ""
				}
				return nil
			}},
		{"dedicatediothread", "on, off", true, func(m *MachineOptions, level string) error {
			return onOff(&m.Disk.Dedicated, level)
		}},
		{"multiqueue", "on, off", true, func(m *MachineOptions, level string) error {
			return onOff(&m.Disk.MultiQueue, level)
		}},
		{"bus", strings.Join(buses(), ", "), true, func(m *MachineOptions, level string) error {
			return among(&m.Disk.Bus, level, buses())
		}},
		{"cache", strings.Join(caches(), ", "), true, func(m *MachineOptions, level string) error {
			return among(&m.Disk.Cache, level, caches())
		}},
		{"aio", strings.Join(ios(), ", "), true, func(m *MachineOptions, level string) error {
			return among(&m.Disk.IO, level, ios())
		}},
	}
}

// WithSettings is what a machine is like with other settings. All faults are reported at once.
func (o Options) WithSettings(settings map[string]string) (*MachineOptions, error) {
	m := *o.Machine
	var faults, known []string
	for _, s := range machineSettings() {
		known = append(known, s.name+" ("+s.levels+")")
		level, ok := settings[s.name]
		if !ok {
			continue
		}
		if err := s.set(&m, level); err != nil {
			faults = append(faults, s.name+" can't be "+level+": "+err.Error())
		} else if s.ofDisk && o.Volume.Kind == "" {
			faults = append(faults, s.name+" is of the disk under test, and there is none: add class, claim or "+
				"emptydisk")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !slices.ContainsFunc(machineSettings(), func(s machineSetting) bool { return s.name == name }) {
			faults = append(faults, "a machine of KubeVirt has no setting "+name)
		}
	}
	faults = append(faults, m.Disk.faults()...)
	if len(faults) > 0 {
		return nil, &lab.Error{Kind: lab.Usage, What: strings.Join(faults, "; "), Target: o.Name,
			Hints: []string{"possible are " + strings.Join(known, ", ")}}
	}
	return &m, nil
}
