package linux

// LoopInfo is the backing of a loop device: a file, by its file system and inode, from an offset on; or another device,
// Rdevice.
type LoopInfo struct{ Device, Inode, Rdevice, Offset uint64 }
