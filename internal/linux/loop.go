package linux

// LoopInfo is over what a loop device lies: a file, by its file system and inode, from an offset on; or another device,
// Rdevice.
type LoopInfo struct{ Device, Inode, Rdevice, Offset uint64 }
