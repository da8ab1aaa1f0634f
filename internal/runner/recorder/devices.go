package recorder

import (
	"context"
	"strings"

	"github.com/headroom/headroom/internal/facts/storage"
	"github.com/headroom/headroom/internal/host"
	"github.com/headroom/headroom/internal/lab"
)

// deviceNumbers returns the numbers of the block devices under a place, from the top down, as far as they can be found:
// partitions are part of their disks.
func deviceNumbers(ctx context.Context, t host.Target, place lab.Place) []string {
	var files []string
	for _, p := range places(place) {
		found, err := storage.DevicesUnder(ctx, t, p)
		if err != nil {
			return nil
		}
		for _, name := range found {
			files = append(files, "/sys/class/block/"+name+"/dev", "/sys/class/block/"+name+"/partition")
		}
	}
	read, err := t.ReadFiles(ctx, files...)
	if err != nil {
		return nil
	}
	var numbers []string
	for i := 0; i < len(files); i += 2 {
		if read[files[i]].Err == nil && read[files[i+1]].Err != nil {
			numbers = append(numbers, strings.TrimSpace(string(read[files[i]].Data)))
		}
	}
	return numbers
}

// places are the one, or those that are loaded together.
func places(p lab.Place) []lab.Place {
	if p.Kind == lab.NoPlace {
		return nil
	}
	if p.Members == nil {
		return []lab.Place{p}
	}
	var all []lab.Place
	for _, device := range p.Members {
		all = append(all, lab.Place{Kind: lab.Device, Path: device, Resolved: device})
	}
	return all
}
