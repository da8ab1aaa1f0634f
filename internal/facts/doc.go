// Package facts says what is known of the machine that is measured: its conditions as facts. The packages below it have
// the collectors, the place that a user points at with the disks underneath, and the machine's own counters around each
// load.
//
// # What it reads
//
// Everything is read from an fs.FS rooted at "/", and from the printed output of a few read-only commands. A collector
// sees nothing else: it does not know whether the machine is this one, a saved one, a text fixture or one behind SSH,
// so that all of them go through the same code. Nothing is changed on the machine, nothing needs root, no device is
// opened for writing, nothing waits for a disk or a server that does not answer, and a thing that can't be read is a
// fact with the reason why.
//
// That is also why no library does the reading. prometheus/procfs reads many of these files well, but only from a
// directory of the machine it runs on, its parsers that take text are private, and the one for diskstats runs
// fmt.Sscanf with twenty verbs over every line, which is too much beside a load that is being measured. A netlink or
// ethtool library asks the running kernel through a socket, which neither a fixture nor a machine behind SSH offers;
// `ip -json` and `ethtool` print the same everywhere. So the formats needed here have readers of their own, each with
// real lines of its input above it and a fuzz test.
//
// # The pieces
//
//	catalogue      the list of all keys, with the kind, the unit and the mark of each; its Index finds one of them
//	Snapshot       the facts of a machine; Collectors is the list behind it, Machine the few that checks need
//	Document       a snapshot as it is stored; Brief is it without the families that have thousands of members
//	Changes        the settings that differ between two snapshots of one boot
//	Redact         the same facts without what names a person, a host or a single drive
//	catalogue.Show a value for people
//
// and, in the order in which a run meets them:
//
//	undertest.Resolve   what the user gave: a directory or a device, and the whole disks underneath
//	counters.InUse      whether somebody else keeps those disks busy
//	storage.Endurance   how much of a drive's life is used, where the drive tells
//	counters.Reader     counters before and after each load
//
// Collectors of one area are a package: kernel, hardware, process, nfs, network, storage. They stand on collect.
//
// What several collectors need (all block devices, all processes, /proc/interrupts) is read once for a snapshot.
//
// # Keys and values
//
// A key is a stable path, never with the name of a thing in it, so that two machines can be compared: a fact about one
// thing of several has the thing's name in About ("disk.queue.scheduler" of "nvme1n1"), one about the machine as a
// whole has none. Classes names the first parts of the keys of the former.
//
// The place of a run is described once more by its role, because "sda" on one machine is "nvme0n1" on another:
// "disk.under-test.queue.scheduler" is the same setting as "disk.queue.scheduler", of the disk that is measured.
// Several disks under one place are "disk.under-test.1.…", "disk.under-test.2.…". Devices of its stack that are made of
// others (LVM, LUKS, md, loop devices) are "volume.under-test.…" from the top, "volume.under-test.2.…" and so on. The
// device and the file system of the place are "device.under-test.…" and "filesystem.…".
//
// Values are what the kernel printed, on one line. Amounts that headroom computes are in base units (bytes, seconds,
// hertz); an attribute that carries its unit in the kernel's own name (read_ahead_kb) keeps both. "none" stands for a
// list that was read and is empty.
package facts
