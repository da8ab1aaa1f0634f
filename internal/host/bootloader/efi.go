package bootloader

import (
	"encoding/binary"
	"unicode/utf16"
)

// EFIText parses an EFI variable that contains text: four bytes of attributes, then UTF-16 in little endian with a
// final zero, like 06 00 00 00 67 00 72 00 75 00 62 00 00 00 for "grub".
func EFIText(data []byte) string {
	if len(data) < 4 {
		return ""
	}
	data = data[4:]
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) >= 2; data = data[2:] {
		u := binary.LittleEndian.Uint16(data)
		if u == 0 {
			break
		}
		units = append(units, u)
	}
	return string(utf16.Decode(units))
}

// parseEFINumber parses an EFI variable that contains a 64-bit number after its attributes.
func parseEFINumber(data []byte) uint64 {
	if len(data) < 12 {
		return 0
	}
	return binary.LittleEndian.Uint64(data[4:])
}
