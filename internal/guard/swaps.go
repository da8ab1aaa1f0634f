package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// swap is a line of /proc/swaps.
type swap struct {
	path   string
	isFile bool
}

// parseSwaps reads /proc/swaps. The first line is a heading. Source: the kernel's mm/swapfile.c, swap_show; proc(5).
//
//	Filename				Type		Size		Used		Priority
//	/dev/nvme0n1p2                          partition	8388604		0		-2
//	/dev/disk/by-label/my\040swap           partition	1048572		0		-3
//	/swapfile                               file		1048572		0		-4
func parseSwaps(text string) ([]swap, error) {
	var swaps []swap
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "Filename" {
			continue
		}
		if len(fields) < 5 {
			return nil, fmt.Errorf("line %q of /proc/swaps is cut short", strings.TrimSpace(line))
		}
		swaps = append(swaps, swap{strings.TrimSuffix(unescape(fields[0]), " (deleted)"), fields[1] == "file"})
	}
	return swaps, nil
}

// swapping finds the members of a family that are active swap space, and files under them that are. The kernel keeps
// fio from writing to such a file, but does not keep a loop device from discarding its blocks.
func (f *family) swapping() []Use {
	text, err := f.text("proc/swaps")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a kernel without swap
	}
	if err != nil {
		f.fault("can't read the list of swap devices", err)
		return nil
	}
	swaps, err := parseSwaps(text)
	if err != nil {
		f.fault("can't read the list of swap devices", err)
		return nil
	}
	var uses []Use
	for _, s := range swaps {
		if s.isFile {
			uses = append(uses, f.swapFile(s.path)...)
			continue
		}
		number, ok := f.number(s.path)
		if !ok {
			number, ok = f.nodeNumber(s.path)
		}
		if r, member := f.by(number); ok && member {
			uses = append(uses, Use{r.words, "is swap space in use"})
		}
	}
	return uses
}

// swapFile finds the files under a family that are a swap file. A swap file that can't be examined could be any of
// them, unless it belongs to a host whose files a container does not see.
func (f *family) swapFile(name string) []Use {
	var uses []Use
	for _, who := range f.usesOfFile(name) {
		uses = append(uses, Use{who, "is swap space in use"})
	}
	if gone := !f.exists(strings.TrimPrefix(name, "/")); gone && len(f.filesBelow()) > 0 && !f.programsHidden() {
		f.fault("can't tell which file is swap space", fmt.Errorf("%s is not there any more", name))
	}
	return uses
}
