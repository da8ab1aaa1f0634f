package guard

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Commands of linux/nvme_ioctl.h: _IO('N', 0x40) and _IOWR('N', 0x41, struct nvme_admin_cmd).
const (
	nvmeIoctlID    = 0x4e40
	nvmeIoctlAdmin = 0xc0484e41
)

// adminCommand is struct nvme_passthru_cmd of linux/nvme_ioctl.h.
type adminCommand struct {
	opcode, flags              uint8
	_                          uint16
	nsid                       uint32
	cdw2, cdw3                 uint32
	metadata, address          uint64
	metadataLength, dataLength uint32
	cdw10, cdw11, cdw12, cdw13 uint32
	cdw14, cdw15               uint32
	timeoutMS, result          uint32
}

// From the NVMe Base Specification 2.0: Identify is opcode 06h; CNS 00h in its command dword 10 requests the 4096 bytes
// that describe a namespace.
const (
	identifyOpcode    = 0x06
	identifyNamespace = 0x00
	identifyLength    = 4096
)

// erasedReadsOnes reports whether the device itself states that erased blocks read as FF. Only NVMe can state it; if it
// can't be queried, the result is false.
func (c *Claim) erasedReadsOnes() bool {
	if !strings.HasPrefix(c.identity.Name, "nvme") {
		return false
	}
	data, err := identify(c.file)
	return err == nil && readsOnes(data)
}

// identify requests the description of its namespace from an NVMe device.
func identify(device *os.File) ([]byte, error) {
	nsid, _, errno := unix.Syscall(unix.SYS_IOCTL, device.Fd(), nvmeIoctlID, 0)
	if errno != 0 {
		return nil, errno
	}
	// Go never moves this memory
	data, err := unix.Mmap(-1, 0, identifyLength, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	defer unix.Munmap(data)
	command := adminCommand{opcode: identifyOpcode, nsid: uint32(nsid),
		address: uint64(uintptr(unsafe.Pointer(&data[0]))), dataLength: identifyLength,
		cdw10: identifyNamespace, timeoutMS: 10_000}
	status, _, errno := unix.Syscall(unix.SYS_IOCTL, device.Fd(), nvmeIoctlAdmin, uintptr(unsafe.Pointer(&command)))
	if errno != 0 {
		return nil, errno
	}
	if status != 0 {
		return nil, fmt.Errorf("the device answers Identify Namespace with status %#x", status)
	}
	return slices.Clone(data), nil
}

// readsOnes evaluates byte 33 of Identify Namespace, DLFEAT: its bits 2:0 are 001b if erased blocks read as 00, 010b
// for FF, and 000b if the device does not report it. The higher bits have other meanings. Source: NVM Command Set
// Specification 1.0, figure 97.
//
//	0000: 0000 0200 0000 0000 0000 0200 0000 0000
//	0010: 0000 0200 0000 0000 1407 0003 1f00 0000
//	0020: 0001 0000 0000 0000 0000 0000 0000 0000
func readsOnes(identified []byte) bool {
	return len(identified) == identifyLength && identified[33]&0b111 == 0b010
}
