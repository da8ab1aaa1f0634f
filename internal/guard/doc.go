// Package guard keeps headroom from destroying data: it decides whether a job's steps may write to a block device.
//
// It works in two halves. Inspect gathers evidence: it takes the device for itself (O_EXCL), then looks at how it is
// used, at every signature on it, and at a sample of its contents; where that leaves it open, ReadAll reads all of
// it. Judge weighs the evidence and touches nothing, so every decision can be tested from text.
//
//	evidence, claim, err := guard.Inspect(ctx, target, "/dev/nvme1n1")
//	defer claim.Close()
//	if guard.MustRead(evidence, steps, loadOnlyReads, consent) {
//		err = claim.ReadAll(ctx, &evidence, progress)
//	}
//	verdict, err := guard.Judge(evidence, steps, loadOnlyReads, consent)
//	...
//	err = claim.StillFree() // before each step that writes
//
// The rules:
//
//   - Whatever is not known to only read destroys. Only a load that the caller proved to read is let near a device that
//     is not empty; discard, fill, and steps that are not known are not.
//   - "Can't tell" is never "empty". A tool that is missing, a line that can't be read and a sector that fails are
//     reasons to refuse.
//   - A device in use (mounted, swap, held by another layer, opened by a program to write) is refused whatever the
//     user says. A device that holds data can be given up, but only by its serial number, or by its exact size where
//     it has none: a path is too easily the wrong one after a reboot.
//   - What was inspected is what is written to: the claim holds the device open from before the first look until the
//     run has ended.
//
// A device counts as empty when nothing uses it, nothing on it has a signature, and all of it was read and is one byte
// value over and over: 00, or FF where the device itself says that erased blocks read so (NVMe's DLFEAT field). FF
// among zeros is data: a bitmap of a file system looks like that. Only the holes of the file under a loop device need
// no reading. That a drive was discarded proves nothing: what it returns then is up to the drive, so that it is read
// all the same.
package guard
