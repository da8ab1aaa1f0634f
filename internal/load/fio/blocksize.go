package fio

import (
	"strings"

	"headroom/internal/unit"
)

// defaultBlock is how long I/Os are of which nothing is said.
const defaultBlock = 4096

// BlockSize is how many bytes each I/O of a job moves; 0 where they differ, or fio will refuse the value.
func BlockSize(params map[string]string) int64 {
	for _, differ := range []string{"bssplit", "bsrange", "blocksize_range"} {
		if params[differ] != "" {
			return 0
		}
	}
	text := params["bs"]
	if text == "" {
		text = params["blocksize"]
	}
	if text == "" {
		return defaultBlock
	}
	// "4k,64k,512" is for reads, writes and trims. What is left out is as before it, and first the default.
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
	for i, used := range directionsOf(params) {
		switch {
		case !used:
		case block == 0:
			block = sizes[i]
		case block != sizes[i]:
			return 0
		}
	}
	return block
}

// Trims says whether a job discards.
func Trims(params map[string]string) bool { return directionsOf(params)[2] }

// CountedByKernel reports whether the kernel counts the I/Os of a job for its processes (proc_pid_io(5)). It counts
// none of an engine that does nothing or maps its file, and none of libaio's that the page cache answers.
func CountedByKernel(params map[string]string) bool {
	switch engine := params["ioengine"]; engine {
	case "null", "mmap":
		return false
	case "libaio":
		return params["direct"] == "1"
	}
	return true
}

// directionsOf says whether a job reads, writes and trims.
func directionsOf(params map[string]string) [3]bool {
	rw := params["rw"]
	if rw == "" {
		rw = params["readwrite"]
	}
	rw, _, _ = strings.Cut(rw, ":")
	rw = strings.TrimPrefix(rw, "rand")
	trims := strings.HasPrefix(rw, "trim")
	rw = strings.TrimPrefix(rw, "trim")
	writes := rw == "rw" || strings.HasSuffix(rw, "write")
	return [3]bool{rw == "" && !trims || strings.HasPrefix(rw, "r"), writes, trims}
}
