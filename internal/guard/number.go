package guard

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/headroom/headroom/internal/linux"
)

// Number identifies a block device to the kernel. Paths are only names for it: links, by-id names and nodes made by
// hand lead to the same number, so the guard compares numbers.
type Number struct {
	Major uint32 `json:"major"`
	Minor uint32 `json:"minor"`
}

// String returns the notation of /sys and mountinfo: "259:0".
func (n Number) String() string { return fmt.Sprintf("%d:%d", n.Major, n.Minor) }

// parseNumber reads "259:0".
func parseNumber(s string) (Number, error) {
	major, minor, ok := strings.Cut(s, ":")
	if !ok {
		return Number{}, fmt.Errorf("%q is not a device number", s)
	}
	a, err := strconv.ParseUint(major, 10, 32)
	if err != nil {
		return Number{}, fmt.Errorf("%q is not a device number", s)
	}
	b, err := strconv.ParseUint(minor, 10, 32)
	if err != nil {
		return Number{}, fmt.Errorf("%q is not a device number", s)
	}
	return Number{uint32(a), uint32(b)}, nil
}

// numberOf returns the device number of a block device's node; false for anything else.
func numberOf(info fs.FileInfo) (Number, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Mode&syscall.S_IFMT != syscall.S_IFBLK {
		return Number{}, false
	}
	major, minor := linux.Device(st)
	return Number{major, minor}, true
}
