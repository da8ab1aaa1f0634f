package spot

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/prose"
)

// Identities returns the identity of the place of each spot: of the mount at a mount point, or the disk or adapter with
// a name. If the identity is different later, the name belongs to another object, whose settings were chosen by others.
// An identity is empty if a place has none, or if nothing exists there. An error means that the target can't be
// reached.
func Identities(ctx context.Context, t host.Target, spots []Spot) ([]string, error) {
	var paths []string
	for _, s := range spots {
		paths = append(paths, s.identityFiles()...)
	}
	if len(paths) == 0 {
		return make([]string, len(spots)), nil
	}
	files, err := t.ReadFiles(ctx, paths...)
	if err != nil {
		return nil, err
	}
	// The number of a disk can be reused by now, and so can the ID of a mount.
	var sequences []string
	for _, m := range collect.ParseMounts(files[collect.MountInfoPath].Data) {
		if slices.ContainsFunc(spots, func(s Spot) bool { return s.Kind == InMount && s.Path == m.Point }) {
			sequences = append(sequences, sequencesOf(m.Device)...)
		}
	}
	if len(sequences) > 0 {
		more, err := t.ReadFiles(ctx, sequences...)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, more)
	}
	births, err := fileSystemBirths(ctx, t, spots)
	if err != nil {
		return nil, err
	}
	identities := make([]string, len(spots))
	for i, s := range spots {
		identities[i] = s.identity(files)
		mounted := s.Kind == InMount && identities[i] != "" && identities[i] != Unknown
		if birth := births[s.Path]; mounted && birth != "" {
			identities[i] += ", " + birth
		}
	}
	return identities, nil
}

// SameIdentity reports whether a place is unchanged. An older version may have recorded fewer parts of its identity.
func SameIdentity(was, is string) bool { return is == was || strings.HasPrefix(is, was+", ") }

// fileSystemBirths returns values that distinguish file systems on one device, by mount point: the file system's ID,
// which ext4 and btrfs derive from the UUID, and when its root directory was created. A reformatted disk can be mounted
// again with its previous device number and mount ID. The commands print, for the file systems that exist:
//
//	c923321433c7c40 /srv
//	1795882875 /srv
func fileSystemBirths(ctx context.Context, t host.Target, spots []Spot) (map[string]string, error) {
	var points []string
	for _, s := range spots {
		if s.Kind == InMount && !slices.Contains(points, s.Path) {
			points = append(points, s.Path)
		}
	}
	if len(points) == 0 {
		return nil, nil
	}
	births := map[string]string{}
	for _, command := range [][]string{{"stat", "-f", "-c", "%i %n", "--"}, {"stat", "-c", "%W %n", "--"}} {
		out, err := t.Run(ctx, append(command, points...)...)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out.Stdout)) {
			number, point, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			births[point] = strings.TrimPrefix(births[point]+" "+number, " ")
		}
	}
	for point, birth := range births {
		births[point] = "file system " + birth
	}
	return births, nil
}

// Unknown is the identity of a place that may exist but can't be read.
const Unknown = "unknown"

func (s Spot) identity(files map[string]host.File) string {
	var parts []string
	for _, name := range s.identityFiles() {
		switch f := files[name]; {
		case errors.Is(f.Err, fs.ErrNotExist): // also for files that older kernels lack
		case f.Err != nil:
			return Unknown
		case s.Kind == InMount:
			m, err := MountAt(f, s.Path)
			if err != nil {
				return "" // nothing is mounted there
			}
			parts = append(parts, "mount "+m.ID+" of device "+m.Device)
			for _, name := range sequencesOf(m.Device) {
				if f := files[name]; f.Err == nil && len(f.Data) > 0 {
					parts = append(parts, "diskseq "+strings.TrimSpace(string(f.Data)))
				}
			}
		default:
			parts = append(parts, path.Base(name)+" "+strings.TrimSpace(string(f.Data)))
		}
	}
	return strings.Join(parts, ", ")
}

// sequencesOf returns the files with the unique number of a disk: for a disk, and for the disk of a partition.
func sequencesOf(device string) []string {
	return []string{"/sys/dev/block/" + device + "/diskseq", "/sys/dev/block/" + device + "/../diskseq"}
}

// ofDisk, ofAdapter, ofPCI and ofInterrupt match files that belong to a disk, to a network adapter, to a PCI device and
// to an interrupt, by its name.
var (
	ofDisk    = prose.Pattern(`^/sys/(?:block|class/block|devices/.*/block)/([^/]+)/`)
	ofAdapter = prose.Pattern(`^/sys/(?:class/net|devices/.*/net)/([^/]+)/|^/proc/sys/net/ipv[46]/(?:conf|neigh)/([^/]+)/`)
	ofPCI     = prose.Pattern(`^(/sys/bus/pci/devices/[^/]+)/`)

	ofInterrupt = prose.Pattern(`^/proc/irq/([0-9]+)/`)
)

// identityFiles returns the files that identify the place of a spot. A disk has a number that is unique until the next
// boot, and so has an adapter. Sources: Documentation/ABI/testing/sysfs-block (diskseq),
// Documentation/ABI/testing/sysfs-class-net (ifindex, address). An interrupt belongs to a chip, whose name contains the
// PCI device for MSI. Source: Documentation/ABI/testing/sysfs-kernel-irq.
func (s Spot) identityFiles() []string {
	adapter := func(name string) []string {
		return []string{"/sys/class/net/" + name + "/ifindex", "/sys/class/net/" + name + "/address"}
	}
	switch s.Kind {
	case InMount:
		return []string{collect.MountInfoPath}
	case InAdapter, InDiscipline:
		return adapter(s.Path)
	case InFile:
		if m := ofAdapter().FindStringSubmatch(s.Path); m != nil {
			return adapter(m[1] + m[2])
		}
		if m := ofDisk().FindStringSubmatch(s.Path); m != nil {
			return []string{"/sys/class/block/" + m[1] + "/dev", "/sys/class/block/" + m[1] + "/diskseq"}
		}
		if m := ofPCI().FindStringSubmatch(s.Path); m != nil {
			return []string{m[1] + "/vendor", m[1] + "/device", m[1] + "/subsystem_device"}
		}
		if m := ofInterrupt().FindStringSubmatch(s.Path); m != nil {
			return []string{"/sys/kernel/irq/" + m[1] + "/chip_name", "/sys/kernel/irq/" + m[1] + "/hwirq"}
		}
	}
	return nil
}
