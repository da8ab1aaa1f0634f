// Package facts says what is known of the machine that is measured: the conditions of a run as facts, the place that
// a user points at and the disks underneath it, and the machine's own counters around each load.
//
// Everything is read from an fs.FS rooted at "/", so a live machine, a saved one and a text fixture go through the
// same code. What files can't tell comes from a few read-only commands, whose output is handed to the collectors
// as data. Nothing is changed on the machine, nothing needs root, and a thing that can't be read is a fact with the
// reason why.
//
// The pieces, in the order in which a run meets them:
//
//	ResolvePlace   what the user gave: a directory or a device, and the whole disks underneath
//	InUse          whether somebody else keeps those disks busy
//	Endurance      how much of a drive's life is used, where the drive tells
//	Snapshot       the facts; Collectors is the list behind it, Machine the few that checks need
//	Gauges         counters before and after each load
//	Redact         the same facts without what names a person, a host or a single drive
//
// # Keys and values
//
// A key is a role and a stable path: "disk.under-test.queue.scheduler", never "sda.scheduler", so that two hosts can
// be compared. Several disks under one place are "disk.under-test.1.…", "disk.under-test.2.…". Values are what the
// kernel printed, without the white space around it. Amounts that headroom computes are in base units (bytes,
// seconds, hertz); an attribute that carries its unit in the kernel's own name (read_ahead_kb) keeps both.
// "none" stands for a list that was read and is empty.
//
// # Why not prometheus/procfs
//
// procfs reads most of these files well, but only from a directory of the machine it runs on: NewFS takes a path, and
// the parsers that take text (parseMountInfo, parseProcDiskstats, parseStat, …) are private. A fixture or a machine
// reached over SSH can't be fed to it without being copied to disk first. Its diskstats reader also runs fmt.Sscanf
// with twenty verbs over every line, which is too much beside a load that is being measured. So the handful of
// formats needed here have readers of their own, each with real lines of its input above it and a fuzz test.
package facts
