// Package facts describes the machine that is measured: its conditions as facts. The packages below it have the
// collectors, the place that a user names with the disks underneath, and the machine's counters around each load.
//
// # What it reads
//
// Everything is read from an fs.FS rooted at "/", and from the output of a few read-only commands. A collector has no
// other input: it does not know whether the machine is this one, a saved one, a text fixture or one behind SSH, so all
// of them use the same code. Nothing is changed on the machine, nothing needs root, no device is opened for writing,
// and nothing waits for a disk or a server that does not answer. An unreadable value becomes a fact with the reason.
//
// That is also why no library does the reading. prometheus/procfs reads many of these files well, but only from a
// directory of the machine it runs on, its parsers for text are private, and the one for diskstats runs fmt.Sscanf with
// twenty verbs on every line, which is too slow next to a load that is being measured. A netlink or ethtool library
// queries the running kernel through a socket, which neither a fixture nor a machine behind SSH offers; `ip -json` and
// `ethtool` print the same everywhere. So the package has its own parsers for the formats that it needs, each with real
// lines of its input in the comment above it, and a fuzz test.
//
// # The pieces
//
//	catalogue      the list of all keys, with the kind, the unit and the mark of each; its Index finds one of them
//	Snapshot       the facts of a machine; Collectors is the list behind it, Machine the few that checks need
//	Document       a snapshot as it is stored; Brief is it without the families that have thousands of members
//	Changes        the settings that differ between two snapshots of one boot
//	Redact         the same facts without names of people, hosts or single drives
//	catalogue.Show a value for people
//
// and, in the order in which a run uses them:
//
//	storage.ResolvePlace   the path from the user: a directory or a device, and the whole disks underneath
//	counters.InUse      whether another process keeps those disks busy
//	storage.Endurance   how much of a drive's life is used, if the drive reports it
//	counters.Reader     counters before and after each load
//
// Collectors of one area are a package: kernel, hardware, process, nfs, network, storage. They are built on collect.
//
// Inputs of several collectors (all block devices, all processes, /proc/interrupts) are read once for a snapshot.
//
// # Keys and values
//
// A key is a stable path that never contains the name of an object, so that two machines can be compared: a fact about
// one of several objects has the object's name in About ("disk.queue.scheduler" of "nvme1n1"), and a fact about the
// whole machine has none. Classes lists the first parts of the keys of the former.
//
// The place of a run is described a second time by its role, because "sda" on one machine is "nvme0n1" on another:
// "disk.under-test.queue.scheduler" is the same setting as "disk.queue.scheduler", of the disk that is measured.
// Several disks under one place are "disk.under-test.1.…", "disk.under-test.2.…". Devices of its stack that are made of
// others (LVM, LUKS, md, loop devices) are "volume.under-test.…" from the top, "volume.under-test.2.…" and so on. The
// device and the file system of the place are "device.under-test.…" and "filesystem.…".
//
// Values are the kernel's output, on one line. Amounts that headroom computes are in base units (bytes, seconds,
// hertz); an attribute whose kernel name contains the unit (read_ahead_kb) keeps both. "none" means a list that was
// read and is empty.
package facts
