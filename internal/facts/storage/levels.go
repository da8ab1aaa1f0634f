package storage

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// StackLevel is a block device of the stack under a place.
type StackLevel struct {
	// Path is its node: "/dev/nvme0n1", "/dev/mapper/vg-data".
	Path string
	// Kind is "disk", "partition", "md", "loop", "bcache", "drbd", or for a device of device mapper who made it: "lvm",
	// "crypt", "dm".
	Kind string
	Size int64
	// Disks are the nodes of the levels of kind "disk" under it, sorted; of a disk its own.
	Disks []string
}

// StackLevels are the block devices under a place from the bottom up, each once: first its disks, by name. The paths of
// a multipath device are one disk, which is reached through that device. There are none under a file system in memory
// or on a server.
func StackLevels(ctx context.Context, t host.Target, place lab.Place) ([]StackLevel, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := NewStack(collect.Reader{FS: t.FS()})
	found := map[string]*layerHeight{}
	for _, top := range s.Tops(place) {
		heightOf(s, top, found)
	}
	var names []string
	for name := range found {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := found[a].height - found[b].height; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	levels := make([]StackLevel, 0, len(names))
	for _, name := range names {
		levels = append(levels, found[name].StackLevel)
	}
	return levels, nil
}

// DevicesUnder are the block devices under a place by the kernel's names ("dm-0", "nvme0n1"), from the top down. There
// are none under a file system in memory, on a server, or one that hides them (ZFS, overlay).
func DevicesUnder(ctx context.Context, t host.Target, place lab.Place) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := NewStack(collect.Reader{FS: t.FS()})
	var names []string
	for _, l := range s.Layers(s.Tops(place)...) {
		names = append(names, l.Name)
	}
	return names, nil
}

// layerHeight is a level with how far it is above the disks.
type layerHeight struct {
	StackLevel
	height int
}

// heightOf finds a device and all below it. A device that changes while it is looked at could seem to be below itself;
// it is found once.
func heightOf(s Stack, name string, found map[string]*layerHeight) *layerHeight {
	if r := found[name]; r != nil {
		return r
	}
	l := s.Layer(name)
	r := &layerHeight{StackLevel: StackLevel{Path: nodePath(s, name), Kind: l.Kind, Size: s.Size(name)}}
	found[name] = r
	switch l.Kind {
	case "dm":
		r.Kind = DmType(s.Reader, name)
	case "disk":
		if k := VirtualKind(name); k == "drbd" || k == "zfs" {
			r.Kind = k
		}
	}
	if r.Kind == "mpath" || len(l.Below) == 0 {
		if r.Kind != "drbd" && r.Kind != "zfs" {
			r.Kind = "disk"
		}
		r.Disks = []string{r.Path}
		return r
	}
	for _, b := range l.Below {
		under := heightOf(s, b, found)
		r.height = max(r.height, under.height+1)
		r.Disks = append(r.Disks, under.Disks...)
	}
	slices.Sort(r.Disks)
	r.Disks = slices.Compact(r.Disks)
	return r
}

// nodePath is the path by which people know a device.
func nodePath(s Stack, name string) string {
	if mapped, err := s.Text(Class(name) + "/dm/name"); err == nil && mapped != "" {
		return path.Join("/dev/mapper", mapped)
	}
	return "/dev/" + strings.ReplaceAll(name, "!", "/")
}
