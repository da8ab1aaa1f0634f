package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// parseSwaps reads the paths of /proc/swaps that are devices; a swap file lies on a mounted file system, which the
// mounts show. The first line is a heading. Source: the kernel's mm/swapfile.c, swap_show; proc(5).
//
//	Filename				Type		Size		Used		Priority
//	/dev/nvme0n1p2                          partition	8388604		0		-2
//	/dev/disk/by-label/my\040swap           partition	1048572		0		-3
func parseSwaps(text string) ([]string, error) {
	var devices []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "Filename" {
			continue
		}
		if len(fields) < 5 {
			return nil, fmt.Errorf("line %q of /proc/swaps is cut short", strings.TrimSpace(line))
		}
		if fields[1] != "file" {
			devices = append(devices, strings.TrimSuffix(unescape(fields[0]), " (deleted)"))
		}
	}
	return devices, nil
}

// swapping finds the members of a family that are active swap.
func (f *family) swapping() []Use {
	text, err := f.text("proc/swaps")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a kernel without swap
	}
	if err != nil {
		f.fault("can't read the list of swap devices", err)
		return nil
	}
	devices, err := parseSwaps(text)
	if err != nil {
		f.fault("can't read the list of swap devices", err)
		return nil
	}
	var uses []Use
	for _, d := range devices {
		number, ok := f.number(d)
		if !ok {
			number, ok = f.nodeNumber(d)
		}
		if r, member := f.by(number); ok && member {
			uses = append(uses, Use{r.words, "is swap space in use"})
		}
	}
	return uses
}
