package guard

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// signaturePattern is a signature that headroom itself searches for: some that libblkid lacks, and those that remain at
// the end of a device after its beginning was wiped. They would be refused as data as well, but with less information
// for the user.
type signaturePattern struct {
	what string
	// at returns the places of the magic on a device of a size in bytes; places outside the device are skipped.
	at    func(size int64) []int64
	magic []byte
}

// signaturePatterns is the list. Sources are next to the groups.
func signaturePatterns() []signaturePattern {
	return []signaturePattern{
		// UEFI specification 5.3: the header is in the second block, its backup in the last. Both block sizes are
		// tried, because a drive can change its block size on the way from one enclosure to another.
		{"a GPT partition table", places(512, 4096), []byte("EFI PART")},
		{"the backup of a GPT partition table", lastBlocks(512, 4096), []byte("EFI PART")},
		// Windows dynamic disks: linux-ntfs LDM documentation, and block/partitions/ldm.h of the kernel.
		{"a Windows dynamic disk (LDM)", places(0xc00), []byte("PRIVHEAD")},
		{"a Windows dynamic disk (LDM)", fromEnd(512, 512), []byte("PRIVHEAD")},
		{"a Windows dynamic disk (LDM)", fromEnd(512, 1<<20-17*512), []byte("VMDB")},
		// The kernel's block/partitions: bsd.c finds its label by the magic in the second sector, the BSDs also in the
		// first; libblkid finds it only within an MBR. amiga.c searches the first sixteen sectors.
		{"a BSD disk label", places(64, 512), []byte{0x57, 0x45, 0x56, 0x82}},
		{"an Amiga partition table", sectors(0, 16), []byte("RDSK")},
		// lvm2, lib/format_text/layout.h: the label is in one of the first four sectors.
		{"an LVM physical volume", sectors(0, 4), []byte("LABELONE")},
		// md(4): 1.1 at the start, 1.2 at 4 KiB, 1.0 at least 8 KiB from the end, 0.90 in the last 64 KiB block.
		{"a member of a Linux RAID array", places(0, 4096), []byte{0xfc, 0x4e, 0x2b, 0xa9}},
		{"a member of a Linux RAID array", fromEnd(4096, 8192), []byte{0xfc, 0x4e, 0x2b, 0xa9}},
		{"a member of a Linux RAID array", fromEnd(65536, 65536), []byte{0xfc, 0x4e, 0x2b, 0xa9}},
		{"a member of a Linux RAID array", fromEnd(65536, 65536), []byte{0xa9, 0x2b, 0x4e, 0xfc}},
		// ZFS On-Disk Specification 1.2: four labels of 256 KiB, two at each end, each with a ring of uberblocks from
		// 128 KiB on. A pool of drives with large sectors uses only every eighth place of the ring.
		{"a member of a ZFS pool", uberblocks, []byte{0x0c, 0xb1, 0xba, 0, 0, 0, 0, 0}},
		{"a member of a ZFS pool", uberblocks, []byte{0, 0, 0, 0, 0, 0xba, 0xb1, 0x0c}},
		// bcache and bcachefs share a magic UUID: include/uapi/linux/bcache.h; fs/bcachefs/bcachefs_format.h.
		{"a bcache device", places(4096 + 24), []byte{0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca}},
		{"a bcachefs file system", places(4096 + 24), []byte{0xc6, 0x85, 0x73, 0xf6, 0x66, 0xce, 0x90, 0xa9}},
		// drbd-utils, user/shared/drbdmeta.c: internal metadata ends the device, its magic is 60 bytes into a 4 KiB
		// block.
		{"a DRBD device", fromEnd(4096, 4096-60), []byte{0x83, 0x74, 0x02, 0x6b}},
		{"a DRBD device", fromEnd(4096, 4096-60), []byte{0x83, 0x74, 0x02, 0x6c}},
		{"a DRBD device", fromEnd(4096, 4096-60), []byte{0x83, 0x74, 0x02, 0x6d}},
		// Ceph, src/os/bluestore/BlueStore.cc.
		{"a Ceph OSD", places(0), []byte("bluestore block device\n")},
		// cryptsetup, LUKS2 On-Disk Format 1.1: the second header, at one of a few places.
		{"a LUKS encrypted volume", luksBackups, []byte("SKUL\xba\xbe")},
		// VMware's VMFS, as vmfs-tools reads it.
		{"a VMFS volume", places(1 << 20), []byte{0x0d, 0xd0, 0x01, 0xc0}},
		// The kernel's drivers/md/dm-thin-metadata.c and dm-cache-metadata.c.
		{"dm-thin metadata", places(32), []byte{0xba, 0x52, 0x9c, 0x01, 0, 0, 0, 0}},
		{"dm-cache metadata", places(32), []byte{0x03, 0xc4, 0x18, 0, 0, 0, 0, 0}},
		{"dm-integrity metadata", places(0), []byte("integrt\x00")},
		// Disk images kept on a bare device, as oVirt does: QEMU docs/interop/qcow2.txt; Microsoft's VHD and VHDX
		// formats.
		{"a qcow2 disk image", places(0), []byte("QFI\xfb")},
		{"a VHDX disk image", places(0), []byte("vhdxfile")},
		{"a VHD disk image", places(0), []byte("conectix")},
		{"a VHD disk image", fromEnd(1, 512), []byte("conectix")},
		{"a VMDK disk image", places(0), []byte("KDMV")},
	}
}

// places are fixed offsets from the start.
func places(offsets ...int64) func(int64) []int64 {
	return func(int64) []int64 { return offsets }
}

// sectors are the starts of some of the first sectors of 512 bytes.
func sectors(first, count int64) func(int64) []int64 {
	return func(int64) []int64 {
		var offsets []int64
		for i := range count {
			offsets = append(offsets, (first+i)*512)
		}
		return offsets
	}
}

// fromEnd is an offset from the end of a device whose size is first rounded down.
func fromEnd(rounding, distance int64) func(int64) []int64 {
	return func(size int64) []int64 { return []int64{size/rounding*rounding - distance} }
}

// lastBlocks are the starts of the last whole block for each of some block sizes.
func lastBlocks(blocks ...int64) func(int64) []int64 {
	return func(size int64) []int64 {
		var offsets []int64
		for _, b := range blocks {
			offsets = append(offsets, size/b*b-b)
		}
		return offsets
	}
}

// uberblocks are all places where a ZFS pool can have one.
func uberblocks(size int64) []int64 {
	const label = 256 << 10
	end := size / label * label
	var offsets []int64
	for _, start := range []int64{0, label, end - 2*label, end - label} {
		for at := start + label/2; at < start+label; at += 1024 {
			offsets = append(offsets, at)
		}
	}
	return offsets
}

// luksBackups are the places that cryptsetup searches for a second LUKS2 header.
func luksBackups(int64) []int64 {
	var offsets []int64
	for at := int64(0x4000); at <= 0x400000; at *= 2 {
		offsets = append(offsets, at)
	}
	return offsets
}

// findSignatures searches for headroom's own list of signatures. It reads only the places where one can be.
func findSignatures(device io.ReaderAt, size int64) ([]Signature, error) {
	var found []Signature
	for _, m := range signaturePatterns() {
		for _, at := range m.at(size) {
			if at < 0 || at+int64(len(m.magic)) > size {
				continue
			}
			got := make([]byte, len(m.magic))
			if err := readFull(device, got, at); err != nil {
				return found, err
			}
			if bytes.Equal(got, m.magic) {
				found = append(found, Signature{Who: "it", What: m.what, Offset: at})
				break // one is enough: a ZFS pool has hundreds
			}
		}
	}
	boot, err := findBootSector(device, size)
	return append(found, boot...), err
}

// findBootSector parses the first sector as one of the partition tables that have no magic.
func findBootSector(device io.ReaderAt, size int64) ([]Signature, error) {
	sector := make([]byte, 512)
	if size < int64(len(sector)) {
		return nil, nil
	}
	if err := readFull(device, sector, 0); err != nil {
		return nil, err
	}
	var found []Signature
	if sector[510] == 0x55 && sector[511] == 0xaa {
		what := "an MBR boot signature with an empty partition table"
		if !blank(sector[446:510]) {
			what = "an MBR boot signature with a partition table"
		}
		found = append(found, Signature{Who: "it", What: what, Offset: 510})
	}
	if atariTable(sector, size) {
		found = append(found, Signature{Who: "it", What: "an Atari partition table (AHDI)", Offset: atariEntries})
	}
	return found, nil
}

// atariEntries is where the four entries of an Atari table begin.
const atariEntries = 0x1c6

// atariTable reports whether the kernel could take the sector for an Atari partition table. That format has no magic:
// it is recognised by an entry that is marked active, has three letters or digits as its name and fits on the disk. On
// a disk of 2 TB and more, one random sector in forty has such an entry, which is how a benchmark leaves partitions
// behind (fio issue 1942). Source: the kernel's block/partitions/atari.c.
func atariTable(sector []byte, size int64) bool {
	for at := atariEntries; at < atariEntries+4*12; at += 12 {
		entry := sector[at : at+12]
		start, length := int64(binary.BigEndian.Uint32(entry[4:])), int64(binary.BigEndian.Uint32(entry[8:]))
		if entry[0]&1 == 1 && alphanumeric(entry[1]) && alphanumeric(entry[2]) && alphanumeric(entry[3]) &&
			length > 0 && start+length <= size/512 {
			return true
		}
	}
	return false
}

func alphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// readFull reads all of p or fails.
func readFull(device io.ReaderAt, p []byte, at int64) error {
	n, err := device.ReadAt(p, at)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("can't read %d bytes at %#x: %w", len(p), at, err)
}

// blank reports whether all bytes are zero.
func blank(p []byte) bool { return same(p) && (len(p) == 0 || p[0] == 0) }

// same reports whether all bytes are equal. It compares each byte with the next one, at the speed of memory.
func same(p []byte) bool { return len(p) < 2 || bytes.Equal(p[:len(p)-1], p[1:]) }
