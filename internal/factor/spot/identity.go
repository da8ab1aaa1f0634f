package spot

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"headroom/internal/facts/collect"
	"headroom/internal/target"
)

// Identities tell what the places of spots are: the mount at a mount point, the disk or adapter that a name stands for.
// What has another identity later is another thing, with settings that somebody else has chosen. An identity is empty
// where a place has none, or where nothing is there. The error says that the target can't be reached.
func Identities(ctx context.Context, t target.Target, spots []Spot) ([]string, error) {
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
	// The number of a disk can be another one's by now, and so can the ID of a mount.
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
	identities := make([]string, len(spots))
	for i, s := range spots {
		identities[i] = s.identity(files)
	}
	return identities, nil
}

// Unknown is the identity of what can't be read, though it may be there.
const Unknown = "unknown"

func (s Spot) identity(files map[string]target.File) string {
	var parts []string
	for _, name := range s.identityFiles() {
		switch f := files[name]; {
		case errors.Is(f.Err, fs.ErrNotExist): // as are files that older kernels lack
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

// sequencesOf are the files with the number that no other disk gets: that of a disk, and that of a partition's.
func sequencesOf(device string) []string {
	return []string{"/sys/dev/block/" + device + "/diskseq", "/sys/dev/block/" + device + "/../diskseq"}
}

// ofDisk, ofAdapter and ofPCI are files that belong to a disk, to a network adapter and to a PCI device, by its name.
var (
	ofDisk    = regexp.MustCompile(`^/sys/(?:block|class/block|devices/.*/block)/([^/]+)/`)
	ofAdapter = regexp.MustCompile(`^/sys/(?:class/net|devices/.*/net)/([^/]+)/|^/proc/sys/net/ipv[46]/(?:conf|neigh)/([^/]+)/`)
	ofPCI     = regexp.MustCompile(`^(/sys/bus/pci/devices/[^/]+)/`)
)

// identityFiles are the files that tell what the place of a spot is. A disk has a number that no other one gets as long
// as the machine runs, and so has an adapter. Sources: Documentation/ABI/testing/sysfs-block (diskseq),
// Documentation/ABI/testing/sysfs-class-net (ifindex, address).
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
		if m := ofAdapter.FindStringSubmatch(s.Path); m != nil {
			return adapter(m[1] + m[2])
		}
		if m := ofDisk.FindStringSubmatch(s.Path); m != nil {
			return []string{"/sys/class/block/" + m[1] + "/dev", "/sys/class/block/" + m[1] + "/diskseq"}
		}
		if m := ofPCI.FindStringSubmatch(s.Path); m != nil {
			return []string{m[1] + "/vendor", m[1] + "/device", m[1] + "/subsystem_device"}
		}
	}
	return nil
}
