package host

// Disk is one that a target will have, as its description says before it is opened.
type Disk struct {
	// Name is the disk's serial number there, by which it is found: /dev/disk/by-id/NAME.
	Name string
	// Kind is what the target sees: "nvme", "virtio-blk". Backing is what the data is kept on: "image", "memory",
	// "null", "file".
	Kind, Backing string
	// File or device of this machine that holds the data; empty for an image that is made, and where nothing is stored.
	File string
	Size int64
	// Image says that an image is made for it, which grows to its size. Stored says that its data is on storage of this
	// machine. Blank says that it is made with room for data, which must be written before reading it says anything.
	Image, Stored, Blank bool
	// Queues of the disk and IOThreads that serve it; 0 for the default.
	Queues, IOThreads int
}
