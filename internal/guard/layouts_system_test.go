//go:build system

package guard_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const mib = 1 << 20

// layout is a state of a device.
type layout struct {
	name string
	// size of the device in bytes, 64 MiB if 0; options for losetup.
	size    int64
	options []string
	// make creates the layout and returns the path to judge; "" for the loop device.
	make func(d *disk) string
	// want is a part of the refusal; "" for a device that must be accepted.
	want string
	// inUse is set if naming the drive must not help.
	inUse bool
	// alive is set if the kernel itself continues to write to the device, after the first 4 KiB.
	alive bool
}

// on creates a layout by one command with the device as its last argument.
func on(pkg string, argv ...string) func(*disk) string {
	return func(d *disk) string {
		d.run(pkg, append(argv[:len(argv):len(argv)], d.node)...)
		return ""
	}
}

// ext4 creates a small file system that does not change while it is mounted.
func ext4(d *disk, node string) {
	d.run("e2fsprogs", "mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", node)
}

// imaged runs a command that writes an image file from a folder with a file in it; IMAGE and FOLDER are replaced by
// their paths.
func imaged(pkg string, argv ...string) func(*disk) string {
	return func(d *disk) string {
		folder, image := d.t.TempDir(), filepath.Join(d.t.TempDir(), "made")
		if err := os.WriteFile(filepath.Join(folder, "a"), []byte("something"), 0o600); err != nil {
			d.t.Fatal(err)
		}
		var cmd []string
		for _, a := range argv {
			cmd = append(cmd, strings.NewReplacer("IMAGE", image, "FOLDER", folder).Replace(a))
		}
		d.run(pkg, cmd...)
		d.copyIn(image)
		return ""
	}
}

// bytesAt writes the same bytes at some offsets; a negative one counts from the end.
func bytesAt(data string, places ...int64) func(*disk) string {
	return func(d *disk) string {
		for _, at := range places {
			if at < 0 {
				at += d.size()
			}
			d.write(at, []byte(data))
		}
		return ""
	}
}

func layouts() []layout {
	var all []layout
	for _, group := range [][]layout{fileSystems(), members(), tables(), inUse(), below(), traces(), blanks()} {
		all = append(all, group...)
	}
	return all
}

func fileSystems() []layout {
	return []layout{
		{name: "ext2", make: on("e2fsprogs", "mkfs.ext2", "-q"), want: "an ext2 file system (signature at 0x438)"},
		{name: "ext3", make: on("e2fsprogs", "mkfs.ext3", "-q"), want: "an ext3 file system"},
		{name: "ext4", make: on("e2fsprogs", "mkfs.ext4", "-q"), want: "an ext4 file system"},
		{name: "ext4 external journal", make: on("e2fsprogs", "mke2fs", "-q", "-O", "journal_dev"),
			want: "the journal of an ext4 file system"},
		{name: "xfs", size: 320 * mib, make: on("xfsprogs", "mkfs.xfs", "-q"), want: "an xfs file system"},
		{name: "btrfs", size: 128 * mib, make: on("btrfs-progs", "mkfs.btrfs", "-q"), want: "a btrfs file system"},
		{name: "second device of a btrfs", size: 128 * mib, want: "a btrfs file system", make: func(d *disk) string {
			first := newDisk(d.t, 128*mib)
			d.run("btrfs-progs", "mkfs.btrfs", "-q", "-m", "raid1", first.node, d.node)
			return ""
		}},
		{name: "f2fs", size: 128 * mib, make: on("f2fs-tools", "mkfs.f2fs", "-q"), want: "f2fs"},
		{name: "vfat", make: on("dosfstools", "mkfs.vfat"), want: "a vfat file system"},
		{name: "exfat", make: on("exfatprogs", "mkfs.exfat"), want: "an exfat file system"},
		{name: "ntfs", make: on("ntfs-3g", "mkfs.ntfs", "-Q", "-q"), want: "an ntfs file system"},
		{name: "nilfs2", size: 256 * mib, make: on("nilfs-tools", "mkfs.nilfs2", "-q"), want: "nilfs2"},
		{name: "jfs", make: on("jfsutils", "mkfs.jfs", "-q"), want: "jfs"},
		{name: "udf", make: on("udftools", "mkudffs"), want: "udf"},
		{name: "minix", make: on("util-linux", "mkfs.minix"), want: "minix"},
		{name: "ISO 9660", want: "iso9660", make: imaged("xorriso", "xorriso", "-as", "mkisofs", "-quiet", "-o",
			"IMAGE", "FOLDER")},
		{name: "squashfs", want: "squashfs", make: imaged("squashfs-tools", "mksquashfs", "FOLDER", "IMAGE", "-quiet")},
		{name: "erofs", want: "erofs", make: imaged("erofs-utils", "mkfs.erofs", "IMAGE", "FOLDER")},
		{name: "romfs", want: "romfs", make: imaged("genromfs", "genromfs", "-f", "IMAGE", "-d", "FOLDER")},
		{name: "cramfs", want: "cramfs", make: imaged("util-linux-extra", "mkfs.cramfs", "FOLDER", "IMAGE")},
		{name: "swap, not in use", make: on("util-linux", "mkswap"), want: "swap space"},
		{name: "ext4 without its first superblock", size: 192 * mib, want: "there are data",
			make: func(d *disk) string {
				ext4(d, d.node)
				d.write(0, make([]byte, 16*mib))
				return ""
			}},
	}
}

func members() []layout {
	return []layout{
		{name: "LUKS1", make: luks("luks1"), want: "a LUKS encrypted volume"},
		{name: "LUKS2", make: luks("luks2"), want: "a LUKS encrypted volume"},
		{name: "LUKS2 with only the second header", want: "a LUKS encrypted volume", make: func(d *disk) string {
			luks("luks2")(d)
			d.write(0, make([]byte, 0x4000))
			return ""
		}},
		{name: "LVM", make: pv, want: "an LVM physical volume"},
		{name: "LVM after wipefs", want: "an LVM physical volume", make: func(d *disk) string {
			pv(d)
			d.run("util-linux", "wipefs", "-q", "-a", d.node)
			return ""
		}},
		{name: "LVM with its label overwritten", want: "there are data", make: func(d *disk) string {
			pv(d)
			d.write(0, make([]byte, 2048))
			d.write(4096, []byte("vg0 {\nid = \"8Xk1\"\nseqno = 1\n}\n"))
			return ""
		}},
		{name: "md 0.90", want: "a member of a Linux RAID array", make: func(d *disk) string {
			return md090(d, d.size()/65536*65536-65536)
		}},
		{name: "md 1.0", want: "a member of a Linux RAID array", make: func(d *disk) string {
			return md1(d, d.size()/4096*4096-8192)
		}},
		{name: "md 1.1", want: "a member of a Linux RAID array", make: func(d *disk) string { return md1(d, 0) }},
		{name: "md 1.2", want: "a member of a Linux RAID array", make: func(d *disk) string { return md1(d, 4096) }},
		{name: "ZFS", want: "a member of a ZFS pool", make: func(d *disk) string { return zfs(d, 0, 1, 2, 3) }},
		{name: "ZFS with only the labels at the end", want: "a member of a ZFS pool", make: func(d *disk) string {
			return zfs(d, 2, 3)
		}},
		{name: "bcache backing device", make: on("bcache-tools", "make-bcache", "-B"), want: "bcache"},
		{name: "bcache caching device", make: on("bcache-tools", "make-bcache", "-C"), want: "bcache"},
		{name: "DRBD 8", want: "DRBD", make: bytesAt("\x83\x74\x02\x6b", -4096+60)},
		{name: "DRBD 9", want: "DRBD", make: bytesAt("\x83\x74\x02\x6d", -4096+60)},
		{name: "Ceph OSD", want: "Ceph", make: bytesAt("bluestore block device\n6b7cbb5a-9b0f-4e57-8a4f-1d3d0d9a2b9c\n",
			0)},
		{name: "VMFS", want: "VMFS", make: bytesAt("\x0d\xd0\x01\xc0", mib)},
		{name: "dm-integrity", want: "integrity", make: bytesAt("integrt\x00\x05", 0)},
		{name: "dm-thin metadata", want: "dm-thin", make: bytesAt("\xba\x52\x9c\x01\x00\x00\x00\x00", 32)},
		{name: "qcow2 on the bare device", want: "qcow2", make: bytesAt("QFI\xfb\x00\x00\x00\x03", 0)},
	}
}

func tables() []layout {
	gpt := on("gdisk", "sgdisk", "--new=1:2048:+16M")
	return []layout{
		{name: "GPT", make: gpt, want: "a GPT partition table"},
		{name: "GPT with only the backup left", want: "GPT", make: func(d *disk) string {
			gpt(d)
			d.write(0, make([]byte, mib))
			return ""
		}},
		{name: "GPT for blocks of 4096 bytes", options: []string{"--sector-size", "4096"},
			want: "a GPT partition table",
			make: on("gdisk", "sgdisk", "--new=1:256:+16M")},
		{name: "GPT for blocks of 4096 bytes, read with 512", want: "GPT", make: func(d *disk) string {
			large := newDisk(d.t, 64*mib, "--sector-size", "4096")
			d.run("gdisk", "sgdisk", "--new=1:256:+16M", large.node)
			d.copyIn(large.image)
			d.write(0, make([]byte, 512))
			return ""
		}},
		{name: "MBR", make: table("dos", "start=2048, size=32768"), want: "an MBR partition table"},
		{name: "MBR without partitions", make: table("dos"), want: "an MBR partition table"},
		{name: "boot signature alone", make: bytesAt("\x55\xaa", 510), want: "MBR"},
		{name: "Sun", make: table("sun"), want: "sun"},
		{name: "SGI", make: table("sgi"), want: "sgi"},
		{name: "Mac", make: label("mac"), want: "mac"},
		{name: "BSD", make: label("bsd"), want: "BSD"},
		{name: "Amiga", make: label("amiga"), want: "Amiga"},
		{name: "Atari (AHDI)", make: bytesAt("\x01GEM\x00\x00\x00\x02\x00\x00\x40\x00", 0x1c6), want: "Atari"},
		{name: "Windows dynamic disk", make: bytesAt("PRIVHEAD\x00\x02\x00\x0c", 0xc00, -512), want: "dynamic disk"},
		{name: "partitions in the kernel, table gone", want: "it has partitions: ", make: func(d *disk) string {
			d.addPartition(1, 1, 16)
			return ""
		}},
		{name: "file system in a partition, table gone", want: "partition 1 holds an ext4 file system",
			make: func(d *disk) string {
				ext4(d, d.addPartition(1, 1, 16))
				return ""
			}},
		{name: "partition with a file system", want: "it holds an ext4 file system", make: func(d *disk) string {
			p := d.addPartition(1, 1, 16)
			ext4(d, p)
			return p
		}},
	}
}

func inUse() []layout {
	return []layout{
		{name: "mounted", inUse: true, want: "it is mounted on ", make: func(d *disk) string {
			ext4(d, d.node)
			d.mount(d.node)
			return ""
		}},
		{name: "mounted, asked for by a link", inUse: true, want: "it is mounted on ", make: func(d *disk) string {
			ext4(d, d.node)
			d.mount(d.node)
			dir := d.t.TempDir()
			if err := os.Symlink(d.node, filepath.Join(dir, "one")); err != nil {
				d.t.Fatal(err)
			}
			link := filepath.Join(dir, "ata-Something_S123")
			if err := os.Symlink("one", link); err != nil {
				d.t.Fatal(err)
			}
			return link
		}},
		{name: "mounted, asked for by a node made by hand", inUse: true, want: "it is mounted on ",
			make: func(d *disk) string {
				ext4(d, d.node)
				d.mount(d.node)
				return byHand(d)
			}},
		{name: "bind mount of a folder", inUse: true, want: "it is mounted on ", make: func(d *disk) string {
			ext4(d, d.node)
			from, to := d.t.TempDir(), d.t.TempDir()
			d.run("mount", "mount", d.node, from)
			d.run("mount", "mount", "--bind", filepath.Join(from, "lost+found"), to)
			d.run("mount", "umount", from)
			d.t.Cleanup(func() { d.run("mount", "umount", to) })
			return ""
		}},
		{name: "mounted in another namespace only", inUse: true, want: "in the mount namespace of process ",
			make: func(d *disk) string {
				ext4(d, d.node)
				d.background("util-linux", "unshare", "--mount", "--propagation", "private", "sh", "-c",
					`mount "$1" "$2" && echo ready && exec sleep 600`, "sh", d.node, d.t.TempDir())
				return ""
			}},
		{name: "unmounted lazily, still alive", inUse: true, want: "can't be opened exclusively",
			make: func(d *disk) string {
				ext4(d, d.node)
				point := d.t.TempDir()
				d.run("mount", "mount", d.node, point)
				f, err := os.Create(filepath.Join(point, "open"))
				if err != nil {
					d.t.Fatal(err)
				}
				d.t.Cleanup(func() { f.Close() })
				d.run("mount", "umount", "--lazy", point)
				return ""
			}},
		{name: "mounted btrfs", size: 128 * mib, inUse: true, want: "it is mounted on ", make: func(d *disk) string {
			d.run("btrfs-progs", "mkfs.btrfs", "-q", d.node)
			d.mount(d.node, "-o", "ro") // otherwise the kernel continues to write to it
			return ""
		}},
		{name: "second device of a mounted btrfs", size: 128 * mib, inUse: true,
			want: "it belongs to a mounted btrfs file system", make: func(d *disk) string {
				first := newDisk(d.t, 128*mib)
				d.run("btrfs-progs", "mkfs.btrfs", "-q", "-m", "raid1", first.node, d.node)
				d.run("btrfs-progs", "btrfs", "device", "scan", d.node, first.node)
				first.mount(first.node, "-o", "ro") // like above
				return ""
			}},
		{name: "disk with a mounted partition", inUse: true, want: "partition 2 is mounted on ",
			make: func(d *disk) string {
				d.addPartition(1, 1, 16)
				p := d.addPartition(2, 20, 32)
				ext4(d, p)
				d.mount(p)
				return ""
			}},
		{name: "partition of a disk mounted as a whole", inUse: true, want: "the whole disk ",
			make: func(d *disk) string {
				ext4(d, d.node)
				p := d.addPartition(1, 1, 16)
				d.mount(d.node)
				return p
			}},
		{name: "mounted through a loop device over the same file", inUse: true,
			want: "(over the same file) is mounted on ", make: func(d *disk) string {
				ext4(d, d.node)
				d.mount(d.attach(d.image, "again"))
				return ""
			}},
		{name: "blank, held through a loop device over the same file", inUse: true,
			want: "(over the same file) can't be opened exclusively", make: func(d *disk) string {
				hold(d, d.attach(d.image, "again"))
				return ""
			}},
		{name: "loop device over one that is held exclusively", inUse: true, want: "can't be opened exclusively",
			make: func(d *disk) string {
				upper := d.attach(d.node)
				hold(d, d.node)
				return upper
			}},
		{name: "blank, with a loop device over it", inUse: true, want: "is built on it", make: func(d *disk) string {
			d.attach(d.node)
			return ""
		}},
		{name: "mounted through a loop device over it", inUse: true, want: "(loop device over ",
			make: func(d *disk) string {
				ext4(d, d.node)
				d.mount(d.attach(d.node))
				return ""
			}},
		{name: "loop device over a mounted one", inUse: true, want: "is mounted on ", make: func(d *disk) string {
			ext4(d, d.node)
			upper := d.attach(d.node)
			d.mount(d.node)
			return upper
		}},
		{name: "swap in use", inUse: true, alive: true, want: "it is swap space in use", make: func(d *disk) string {
			d.run("util-linux", "mkswap", d.node)
			d.run("mount", "swapon", d.node)
			d.t.Cleanup(func() { d.run("mount", "swapoff", d.node) })
			return ""
		}},
		{name: "blank, held exclusively by another", inUse: true, want: "can't be opened exclusively",
			make: func(d *disk) string {
				hold(d, d.node)
				return ""
			}},
		{name: "blank, with a partition held exclusively", inUse: true, want: "can't be opened exclusively",
			make: func(d *disk) string {
				hold(d, d.addPartition(1, 1, 16))
				return ""
			}},
		{name: "blank, locked by another program", inUse: true, want: "holds its lock", make: func(d *disk) string {
			d.background("util-linux", "flock", d.node, "sh", "-c", "echo ready; exec sleep 600")
			return ""
		}},
		{name: "blank, open for writing in another process", inUse: true, want: "is open for writing in process ",
			make: func(d *disk) string {
				d.background("dash", "sh", "-c", `exec 3<>"$1"; echo ready; exec sleep 600`, "sh", d.node)
				return ""
			}},
		{name: "blank, open for writing through a node elsewhere than in /dev", inUse: true,
			want: "is open for writing in process ", make: func(d *disk) string {
				d.background("dash", "sh", "-c", `exec 3<>"$1"; echo ready; exec sleep 600`, "sh", byHand(d))
				return ""
			}},
		{name: "blank, open for writing through a node that was removed", inUse: true,
			want: "is open for writing in process ", make: func(d *disk) string {
				d.background("dash", "sh", "-c", `exec 3<>"$1"; rm "$1"; echo ready; exec sleep 600`, "sh", byHand(d))
				return ""
			}},
		{name: "blank, open for writing through a node in another mount namespace", inUse: true,
			want: "is open for writing in process ", make: func(d *disk) string {
				number := strings.Fields(d.run("coreutils", "stat", "-c", "%Hr %Lr", d.node))
				d.background("util-linux", "unshare", "--mount", "--propagation", "private", "sh", "-c",
					`mount -t tmpfs none "$1" && mknod "$1/memfd:x" b $2 $3 && exec 3>"$1/memfd:x"; echo ready; exec sleep 600`, "sh", d.t.TempDir(), number[0], number[1])
				return ""
			}},
		{name: "blank, mapped by another process", inUse: true, want: "is open for writing in process ",
			make: func(d *disk) string {
				return mapped(d, byHand(d))
			}},
		{name: "blank, with a partition open for writing", inUse: true,
			want: "partition 1 is open for writing in process ", make: func(d *disk) string {
				d.background("dash", "sh", "-c", `exec 3>"$1"; echo ready; exec sleep 600`, "sh",
					d.addPartition(1, 1, 16))
				return ""
			}},
		{name: "blank, held through a loop device over a part of the same file", inUse: true,
			want: "(over the same file) can't be opened exclusively", make: func(d *disk) string {
				hold(d, d.attach(d.image, "again", "--offset", fmt.Sprint(32*mib)))
				return ""
			}},
		{name: "blank, read-only", options: []string{"--read-only"}, inUse: true, want: "it is read-only",
			make: func(*disk) string { return "" }},
	}
}

func traces() []layout {
	return []layout{
		{name: "one byte in the middle", make: bytesAt("x", 33*mib+12345), want: "there are data at 0x2103039"},
		{name: "one byte in the last sector", make: bytesAt("x", -1), want: "there are data"},
		{name: "one byte in the first sector", make: bytesAt("x", 5), want: "there are data at 0x5 "},
		{name: "one byte at the end of an odd size", size: 64*mib + 3*512, make: bytesAt("x", -1),
			want: "there are data"},
		{name: "one block of FF among zeros", make: func(d *disk) string {
			return bytesAt(strings.Repeat("\xff", 4096), 40*mib)(d)
		}, want: "there are data at 0x2800000"},
		{name: "zeros among FF", make: func(d *disk) string {
			fill(d, "\xff")
			return bytesAt(strings.Repeat("\x00", 4096), 40*mib)(d)
		}, want: "there are data at 0x0 "},
		{name: "one byte in the ends of a large sparse device", size: 8 << 30, make: bytesAt("x", -15*mib),
			want: "there are data"},
		{name: "8 MiB of data in a large sparse device", size: 8 << 30, make: func(d *disk) string {
			return bytesAt(strings.Repeat("0123456789abcdef", 8*mib/16), 5<<30)(d)
		}, want: "there are data at 0x140"},
		{name: "FF throughout", make: func(d *disk) string {
			fill(d, "\xff")
			return ""
		}, want: "bytes of FF, and the device does not say"},
		{name: "AA throughout", make: func(d *disk) string {
			fill(d, "\xaa")
			return ""
		}, want: "there are data at 0x0 "},
		{name: "SQLite file at 1 GiB of 3 GiB", size: 3 << 30, want: "there are data at 0x40000000 ",
			make: func(d *disk) string {
				return sqliteAt(d, 1<<30)
			}},
		{name: "SQLite file, and the file underneath was removed", size: 1<<30 + 64*mib,
			want: "there are data at 0x40000000 ", make: func(d *disk) string {
				sqliteAt(d, 1<<30)
				d.removeImage()
				return ""
			}},
		{name: "data in a file of which the device is a part", size: 3 << 30, want: "there are data at 0x20000000 ",
			make: func(d *disk) string {
				d.write(1<<30, []byte("something"))
				return d.attach(d.image, "again", "--offset", fmt.Sprint(512*mib), "--sizelimit", fmt.Sprint(2<<30))
			}},
		{name: "data, and a blank file in the place of the one underneath", size: 1<<30 + 64*mib,
			want: "there are data at 0x40000000 ", make: func(d *disk) string {
				d.write(1<<30, []byte("something"))
				place := d.image
				d.image = filepath.Join(d.t.TempDir(), "kept")
				d.run("coreutils", "ln", place, d.image)
				d.run("mount", "mount", "-t", "tmpfs", "none", filepath.Dir(place))
				d.t.Cleanup(func() { d.run("mount", "umount", filepath.Dir(place)) })
				d.run("coreutils", "truncate", "--size", fmt.Sprint(d.size()), place)
				return ""
			}},
		{name: "quick format of 1 TiB with 32 MiB wiped at each end", size: 1 << 40, want: "there are data",
			make: func(d *disk) string {
				d.run("xfsprogs", "mkfs.xfs", "-q", "-K", d.node)
				d.run("util-linux", "fallocate", "--punch-hole", "--offset", "0", "--length", "32MiB", d.image)
				d.run("util-linux", "fallocate", "--punch-hole", "--offset", fmt.Sprint(int64(1<<40-32*mib)),
					"--length", "32MiB", d.image)
				return ""
			}},
		{name: "headers of a file system wiped on a large device", size: 8 << 30, want: "there are data",
			make: func(d *disk) string {
				d.run("e2fsprogs", "mkfs.ext4", "-q", "-E", "nodiscard", d.node)
				d.run("util-linux", "fallocate", "--punch-hole", "--offset", "0", "--length", "16MiB", d.image)
				return ""
			}},
	}
}

func blanks() []layout {
	nothing := func(*disk) string { return "" }
	return []layout{
		{name: "blank, sparse", make: nothing},
		{name: "blank, zeros written", make: func(d *disk) string { fill(d, "\x00"); return "" }},
		{name: "blank after discard", make: func(d *disk) string {
			ext4(d, d.node)
			d.run("util-linux", "blkdiscard", "-f", d.node)
			return ""
		}},
		{name: "blank, odd number of sectors", size: 64*mib + 3*512, make: nothing},
		{name: "blank, 7 KiB", size: 7 << 10, make: nothing},
		{name: "blank, one sector", size: 512, make: nothing},
		{name: "blank, blocks of 4096 bytes", options: []string{"--sector-size", "4096"}, make: nothing},
		{name: "blank, direct I/O to the file", options: []string{"--direct-io=on"}, make: nothing},
		{name: "blank, large and sparse", size: 8 << 30, make: nothing},
		{name: "blank, 4 TiB and sparse", size: 4 << 40, make: nothing},
		{name: "blank, just over the size that is read whole", size: 1<<30 + 512, make: nothing},
		{name: "blank, by a link", make: func(d *disk) string {
			link := filepath.Join(d.t.TempDir(), "by-id")
			if err := os.Symlink(d.node, link); err != nil {
				d.t.Fatal(err)
			}
			return link
		}},
		{name: "blank, by a node made by hand", make: byHand},
		{name: "blank partition of a blank disk", make: func(d *disk) string { return d.addPartition(1, 1, 16) }},
		{name: "blank partition beside a mounted one", make: func(d *disk) string {
			other := d.addPartition(1, 1, 16)
			ext4(d, other)
			blank := d.addPartition(2, 20, 16)
			d.mount(other)
			return blank
		}},
		{name: "blank, open for reading in another process", make: func(d *disk) string {
			d.background("dash", "sh", "-c", `exec 3<"$1"; echo ready; exec sleep 600`, "sh", d.node)
			return ""
		}},
	}
}

// sqliteAt copies a database of some pages to an offset.
func sqliteAt(d *disk, at int64) string {
	file := filepath.Join(d.t.TempDir(), "some.db")
	d.run("sqlite3", "sqlite3", file, "create table t (x); insert into t values (randomblob(45000));")
	data, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Logf("a database of %d bytes", len(data))
	d.write(at, data)
	return ""
}

// mapped lets another process map a device and close it.
func mapped(d *disk, node string) string {
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	d.background("coreutils", "env", "GUARD_MAP="+node, self, "-test.run", "^TestMapping$", "-test.v")
	return ""
}

// byHand creates another node for the device, outside of /dev.
func byHand(d *disk) string {
	number := strings.Fields(d.run("coreutils", "stat", "-c", "%Hr %Lr", d.node))
	node := filepath.Join(d.t.TempDir(), "node")
	d.run("coreutils", "mknod", node, "b", number[0], number[1])
	return node
}

// hold opens a device exclusively, as a mount or an array does.
func hold(d *disk, node string) {
	f, err := os.OpenFile(node, os.O_RDONLY|exclusive, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { f.Close() })
}

func fill(d *disk, b string) {
	chunk := []byte(strings.Repeat(b, mib))
	for at := int64(0); at < d.size(); at += mib {
		d.write(at, chunk)
	}
}

// table creates a partition table with sfdisk from its script language.
func table(label string, lines ...string) func(*disk) string {
	return func(d *disk) string {
		script := filepath.Join(d.t.TempDir(), "script")
		text := "label: " + label + "\n" + strings.Join(lines, "\n") + "\n"
		if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
			d.t.Fatal(err)
		}
		d.run("fdisk", "sh", "-c", `sfdisk --quiet --no-reread --no-tell-kernel "$1" < "$2"`, "sh", d.node, script)
		return ""
	}
}

// label creates an empty partition table of a kind that sfdisk does not write.
func label(kind string) func(*disk) string {
	return func(d *disk) string {
		d.run("parted", "parted", "--script", d.node, "mklabel", kind)
		return ""
	}
}

func luks(kind string) func(*disk) string {
	return func(d *disk) string {
		key := filepath.Join(d.t.TempDir(), "key")
		if err := os.WriteFile(key, []byte("not a secret"), 0o600); err != nil {
			d.t.Fatal(err)
		}
		d.run("cryptsetup-bin", "cryptsetup", "luksFormat", "--batch-mode", "--type", kind, "--pbkdf", "pbkdf2",
			"--pbkdf-force-iterations", "1000", "--key-file", key, d.node)
		return ""
	}
}

func pv(d *disk) string {
	d.run("lvm2", "pvcreate", "--quiet", "--force", "--yes", "--config",
		"devices{use_devicesfile=0} activation{udev_sync=0 udev_rules=0}", d.node)
	return ""
}

// md1 writes the superblock of a version 1 array as described in md(4): mdadm can't create an array on a kernel without
// md. Fields and checksum are from struct mdp_superblock_1 in the kernel's include/uapi/linux/raid/md_p.h.
func md1(d *disk, at int64) string {
	sb := make([]byte, 256+2*2)
	le := binary.LittleEndian
	le.PutUint32(sb[0:], 0xa92b4efc)
	le.PutUint32(sb[4:], 1)
	copy(sb[16:], "0123456789abcdef") // the array's UUID
	copy(sb[32:], "host:0")
	le.PutUint64(sb[64:], 1_700_000_000)
	le.PutUint32(sb[72:], 1)                              // level: RAID1
	le.PutUint64(sb[80:], uint64(d.size()/512-4096))      // size of the component
	le.PutUint32(sb[92:], 2)                              // disks in the array
	le.PutUint64(sb[128:], 2048)                          // where the data begin
	le.PutUint64(sb[136:], uint64(d.size()/512-4096))     // how many there are
	le.PutUint64(sb[144:], uint64(at/512))                // where this superblock is
	copy(sb[168:], fmt.Sprintf("device %s", "012345678")) // the device's UUID
	le.PutUint32(sb[220:], 2)                             // entries in the table of roles
	le.PutUint16(sb[258:], 1)
	sum := uint64(0)
	for i := 0; i < len(sb); i += 4 {
		sum += uint64(le.Uint32(sb[i:]))
	}
	le.PutUint32(sb[216:], uint32(sum)+uint32(sum>>32))
	d.write(at, sb)
	return ""
}

// md090 writes the superblock of a version 0.90 array: struct mdp_superblock_s.
func md090(d *disk, at int64) string {
	sb := make([]byte, 4096)
	for i, v := range []uint32{0xa92b4efc, 0, 90, 0, 0, 0x12345678, 1_700_000_000, 1, uint32(d.size() / 1024), 2, 2} {
		binary.LittleEndian.PutUint32(sb[4*i:], v)
	}
	d.write(at, sb)
	return ""
}

// zfs writes uberblocks into some of the four labels: ZFS On-Disk Specification 1.2.
func zfs(d *disk, labels ...int64) string {
	const label = 256 << 10
	starts := []int64{0, label, d.size()/label*label - 2*label, d.size()/label*label - label}
	uberblock := make([]byte, 1024)
	for i, v := range []uint64{0x00bab10c, 5000, 4, 0x1234, 1_700_000_000} {
		binary.LittleEndian.PutUint64(uberblock[8*i:], v)
	}
	for _, l := range labels {
		for slot := int64(4); slot < 12; slot++ {
			d.write(starts[l]+label/2+slot*1024, uberblock)
		}
	}
	return ""
}
