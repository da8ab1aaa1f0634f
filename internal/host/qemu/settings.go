package qemu

import (
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// Setting is a setting of a guest's machine that a boot can change.
type Setting struct {
	Name string
	// Means describes the setting, and Levels its possible levels.
	Means, Levels string
	// set changes the description, or returns why it can't.
	set func(f *File, level string) (fault string)
	// get returns its level in a description.
	get func(f File) string
}

// Settings returns all settings. A disk setting is set on every disk that has it.
func Settings() []Setting {
	return []Setting{
		{"cpus", "virtual CPUs", "1 to " + strconv.Itoa(maxCPUs),
			func(f *File, level string) string { return whole(&f.Machine.CPUs, level, 1, maxCPUs) },
			func(f File) string { return strconv.Itoa(f.Machine.CPUs) }},
		{"memory", "memory", "512m, 1g, …",
			func(f *File, level string) string {
				b, err := unit.ParseBytes(level)
				if err != nil || b < minMemory {
					return "write 512m or more"
				}
				f.Machine.Memory = b
				return ""
			},
			func(f File) string { return strconv.FormatInt(f.Machine.Memory, 10) }},
		{"iommu", "emulated IOMMU", "none, intel",
			func(f *File, level string) string {
				if f.Type == "pc" && level == "intel" {
					return "QEMU emulates Intel's IOMMU on q35 only"
				}
				return choice(&f.Machine.IOMMU, level, "none", "intel")
			},
			func(f File) string { return f.Machine.IOMMU }},
		ofDisks("iothreads", "threads of QEMU that serve a disk, 0 for the main loop",
			"0 to "+strconv.Itoa(maxIOThreads),
			func(d *Disk, level string) string { return whole(&d.IOThreads, level, 0, maxIOThreads) },
			func(d Disk) string { return strconv.Itoa(d.IOThreads) }),
		ofDisks("queues", "queues of a disk, 0 for QEMU's default", "0 to "+strconv.Itoa(maxQueues),
			func(d *Disk, level string) string { return whole(&d.Queues, level, 0, maxQueues) },
			func(d Disk) string { return strconv.Itoa(d.Queues) }),
		ofDisks("cache", "cache mode of a disk", strings.Join(caches(), ", "),
			func(d *Disk, level string) string { return choice(&d.Cache, level, caches()...) },
			func(d Disk) string { return d.Cache }),
		ofDisks("aio", "how QEMU asks the host for a disk's data", strings.Join(aios(), ", "),
			func(d *Disk, level string) string { return choice(&d.AIO, level, aios()...) },
			func(d Disk) string { return d.AIO }),
	}
}

// ofDisks is a setting of every disk that has it.
func ofDisks(name, means, levels string, set func(*Disk, string) string, get func(Disk) string) Setting {
	return Setting{name, means, levels,
		func(f *File, level string) string {
			any := false
			for i := range f.Disks {
				if !slices.Contains(f.Disks[i].settingNames(), name) {
					continue
				}
				any = true
				if fault := set(&f.Disks[i], level); fault != "" {
					return fault
				}
			}
			if !any {
				return "the guest has no disk with this setting"
			}
			return ""
		},
		func(f File) string {
			var levels []string
			for _, d := range f.Disks {
				if slices.Contains(d.settingNames(), name) && !slices.Contains(levels, get(d)) {
					levels = append(levels, get(d))
				}
			}
			return strings.Join(levels, ", ")
		}}
}

func whole(to *int, level string, least, most int) string {
	n, err := strconv.Atoi(level)
	if err != nil || n < least || n > most {
		return "write a whole number from " + strconv.Itoa(least) + " to " + strconv.Itoa(most)
	}
	*to = n
	return ""
}

func choice(to *string, level string, choices ...string) string {
	if !slices.Contains(choices, level) {
		return "write " + strings.Join(choices, ", ")
	}
	*to = level
	return ""
}

// with returns the description with other settings. All faults are reported at once.
func (f File) with(machine map[string]string) (File, error) {
	f.Disks = slices.Clone(f.Disks)
	var faults, known []string
	left := len(machine)
	for _, s := range Settings() {
		known = append(known, s.Name+" ("+s.Levels+")")
		level, ok := machine[s.Name]
		if !ok {
			continue
		}
		left--
		if fault := s.set(&f, level); fault != "" {
			faults = append(faults, s.Name+" can't be "+level+": "+fault)
		}
	}
	for _, d := range f.Disks {
		if fault := d.fault(); fault != "" {
			faults = append(faults, fault)
		}
	}
	if left > 0 {
		for name := range machine {
			if !slices.ContainsFunc(Settings(), func(s Setting) bool { return s.Name == name }) {
				faults = append(faults, "a guest has no setting "+name)
			}
		}
	}
	if len(faults) == 0 {
		return f, nil
	}
	slices.Sort(faults)
	return f, &lab.Error{Kind: lab.Usage, What: strings.Join(faults, "; "),
		Hints: []string{"possible are " + strings.Join(known, ", ")}}
}
