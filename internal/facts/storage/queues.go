package storage

import (
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
)

// Queue is a block device of a stack that has a request queue.
type Queue struct {
	// Device is its name in /sys: "dm-3", "nvme0n1", "cciss!c0d0".
	Device string
	// UnderTest is true if loads address the device, Disk if no other device is under it. Both are true for a plain
	// disk.
	UnderTest, Disk bool
}

// Queues returns the queues of a place, from the top down. A partition uses the queue of its disk, so for a load on a
// partition the disk is under test.
func (s Stack) Queues(place lab.Place) []Queue {
	tops := s.Tops(place)
	for i, name := range tops {
		if l := s.Layer(name); l.Kind == "partition" && len(l.Below) > 0 {
			tops[i] = l.Below[0]
		}
	}
	var queues []Queue
	for _, l := range s.Layers(tops...) {
		if l.Kind == "partition" {
			continue
		}
		queues = append(queues,
			Queue{Device: l.Name, UnderTest: slices.Contains(tops, l.Name), Disk: len(l.Below) == 0})
	}
	return queues
}

// Named returns the kernel's name of a device that a user names: "md0", "/dev/md0", "vg0-data", "/dev/mapper/vg0-data",
// "/dev/vg0/data".
func (s Stack) Named(typed string) (device string, ok bool) {
	if typed == "" {
		return "", false
	}
	node := typed
	if !strings.HasPrefix(node, "/dev/") {
		node = "/dev/" + strings.ReplaceAll(node, "!", "/")
	}
	if full, err := s.Resolve(node); err == nil {
		if name, ok := s.ByInode(full); ok {
			return name, true
		}
	}
	if name, ok := s.byNode(node); ok {
		return name, true
	}
	return s.byNode("/dev/mapper/" + typed)
}
