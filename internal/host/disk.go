package host

// Disk is a disk that a target will have, as described before the target is opened.
type Disk struct {
	// Name is the disk's serial number on the target, which names its link: /dev/disk/by-id/NAME.
	Name string
	// Kind is the kind of device that the target sees: "nvme", "virtio-blk". Backing is where the data is stored:
	// "image", "memory", "null", "file".
	Kind, Backing string
	// File or device of this machine that holds the data; empty if an image is created, or nothing is stored.
	File string
	Size int64
	// Image is set if a sparse image is created for the disk, which grows up to its size. Stored is set if the data is
	// on storage of this machine. Blank is set if the disk is created with space that must be written before reads of
	// it mean anything.
	Image, Stored, Blank bool
	// Queues of the disk, and IOThreads that serve it; 0 for the default.
	Queues, IOThreads int
}
