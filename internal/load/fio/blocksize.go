package fio

import (
	"cmp"
	"slices"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// defaultBlock is fio's default block size in bytes.
const defaultBlock = 4096

// BlockSize returns how many bytes each I/O of a job moves; 0 if sizes differ, or if fio refuses the value.
func BlockSize(params map[string]string) int64 {
	for _, differ := range []string{"bssplit", "bsrange", "blocksize_range"} {
		if params[differ] != "" {
			return 0
		}
	}
	text := cmp.Or(params["bs"], params["blocksize"])
	if text == "" {
		return defaultBlock
	}
	// "4k,64k,512" is for reads, writes and trims. A missing size equals the previous direction's, and the default for
	// the first one.
	sizes, last := [3]int64{}, int64(defaultBlock)
	given := strings.Split(text, ",")
	for i := range sizes {
		if i < len(given) && given[i] != "" {
			n, err := unit.ParseBytes(given[i])
			if err != nil || n <= 0 {
				return 0
			}
			last = n
		}
		sizes[i] = last
	}
	block := int64(0)
	for _, d := range Directions(pattern(params)) {
		size := sizes[slices.Index([]string{lab.Read, lab.Write, lab.Trim}, d)]
		if block != 0 && block != size {
			return 0
		}
		block = size
	}
	return block
}

// Trims reports whether a job discards.
func Trims(params map[string]string) bool {
	return slices.Contains(Directions(pattern(params)), lab.Trim)
}

// pattern returns the value of rw, or fio's default.
func pattern(params map[string]string) string {
	return cmp.Or(params["rw"], params["readwrite"], "read")
}

// CountedByKernel reports whether the kernel counts the I/Os of a job for its processes (proc_pid_io(5)). The
// kernel counts neither the null engine nor mapped files, nor libaio through the page cache.
func CountedByKernel(params map[string]string) bool {
	switch params["ioengine"] {
	case "null", "mmap":
		return false
	case "libaio":
		return params["direct"] == "1"
	}
	return true
}
