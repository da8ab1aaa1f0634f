// Package guard keeps headroom from destroying data: it decides whether a job's steps may write to a block device.
//
// It works in two steps. Inspect gathers evidence: it claims the device (O_EXCL), then examines how it is used, every
// signature on it, and a sample of its contents. If that does not decide, ReadAll reads all of it. Judge weighs the
// evidence and accesses nothing, so every decision can be tested from text.
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
//   - A step that is not known to only read is destructive. Only a load that the caller proved to only read may use a
//     device that is not empty; discards, fills and unknown steps may not.
//   - "Can't tell" is never "empty". A missing tool, a line that can't be parsed and a sector that fails are reasons
//     to refuse.
//   - A device in use (mounted, swap, held by another layer, opened by a program for writing) is refused whatever the
//     user says. A device that holds data can be given up, but only by its serial number, or by its exact size if it
//     has none: after a reboot a path can easily be the wrong one.
//   - The device that is written to is the one that was inspected: the claim holds it open from before the inspection
//     until the run has ended.
//
// A device is empty if nothing uses it, nothing on it has a signature, and all of it was read and is a single repeated
// byte: 00, or FF if the device itself reports that erased blocks read so (NVMe's DLFEAT field). FF among zeros is
// data: a bitmap of a file system looks like that. Only the holes of the file under a loop device need no reading. A
// discard proves nothing: the drive decides what it returns then, so a discarded drive is also read.
package guard
