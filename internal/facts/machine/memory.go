package machine

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/facts/collect"
	"github.com/headroom/headroom/internal/lab"
)

func CollectMemory(r collect.Reader, _ collect.Scope) []lab.Fact {
	const source = "/proc/meminfo"
	text, err := r.Text(source)
	info := parseMemInfo(text)
	amount := func(key, name string) lab.Fact {
		bytes, ok := info[name]
		switch {
		case err != nil:
			return collect.Unknown(key, source, collect.Why(err))
		case !ok:
			return collect.Unknown(key, source, "the file does not say "+name)
		}
		return collect.Whole(key, bytes, source)
	}
	return []lab.Fact{
		pageSize(r),
		amount("memory.total", "MemTotal"),
		amount("memory.available", "MemAvailable"),
		amount("memory.swap", "SwapTotal"),
		swapUsed(info, err),
		compressedSwap(r),
		collect.Chosen(r.Fact("memory.transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled")),
		collect.Chosen(r.Fact("memory.transparent_hugepage.defrag", "/sys/kernel/mm/transparent_hugepage/defrag")),
		hugePages(r),
		r.Fact("memory.dirty_ratio", "/proc/sys/vm/dirty_ratio"),
		r.Fact("memory.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"),
		r.Fact("memory.dirty_bytes", "/proc/sys/vm/dirty_bytes"),
		r.Fact("memory.dirty_background_bytes", "/proc/sys/vm/dirty_background_bytes"),
		r.Fact("memory.swappiness", "/proc/sys/vm/swappiness"),
		r.Fact("memory.zone_reclaim", "/proc/sys/vm/zone_reclaim_mode"),
		samePages(r),
		limit(r, "limit.locked_memory", "Max locked memory"),
		limit(r, "limit.open_files", "Max open files"),
	}
}

// pageSize is the size of the pages that processes have, which kernels of arm64 are built for: 4, 16 or 64 KiB. Each
// mapping of a process begins with a line of addresses, and the third after it is
//
//	KernelPageSize:        4 kB
func pageSize(r collect.Reader) lab.Fact {
	const key, source, name = "memory.page_size", "/proc/self/smaps", "KernelPageSize"
	f, err := r.Open(source)
	if err != nil {
		return collect.Unknown(key, source, collect.Why(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 4<<10))
	if bytes, ok := parseMemInfo(string(text))[name]; ok {
		return collect.Whole(key, bytes, source)
	}
	if err != nil {
		return collect.Unknown(key, source, collect.Why(err))
	}
	return collect.Unknown(key, source, "the file does not say "+name)
}

// parseMemInfo reads /proc/meminfo into bytes. Its kB are kibibytes; lines without a unit are counts, and left out.
//
//	MemTotal:       24684084 kB
//	MemAvailable:   24252924 kB
//	HugePages_Total:       0
func parseMemInfo(text string) map[string]int64 {
	values := map[string]int64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) != 3 || f[2] != "kB" {
			continue
		}
		if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			values[strings.TrimSuffix(f[0], ":")] = kib * 1024
		}
	}
	return values
}

func swapUsed(info map[string]int64, err error) lab.Fact {
	const key, source = "memory.swap.used", "/proc/meminfo"
	total, ok := info["SwapTotal"]
	free, freeOK := info["SwapFree"]
	switch {
	case err != nil:
		return collect.Unknown(key, source, collect.Why(err))
	case !ok || !freeOK || free > total:
		return collect.Unknown(key, source, "the file does not say SwapTotal and SwapFree")
	}
	return collect.Whole(key, total-free, source)
}

// compressedSwap reports whether any swap is on zram: memory that looks like a disk.
func compressedSwap(r collect.Reader) lab.Fact {
	const key, source = "memory.zram", "/proc/swaps"
	text, err := r.Text(source)
	if err != nil {
		return collect.Unknown(key, source, collect.Why(err))
	}
	for _, name := range parseSwaps(text) {
		if strings.HasPrefix(name, "/dev/zram") {
			return collect.Known(key, "on", source)
		}
	}
	return collect.Known(key, "off", source)
}

// parseSwaps reads what is swapped to, from /proc/swaps.
//
//	Filename				Type		Size		Used		Priority
//	/dev/nvme0n1p3                          partition	8388604		0		-2
//	/dev/zram0                              partition	4194300		12288		100
func parseSwaps(text string) []string {
	var names []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) == 5 && f[0] != "Filename" {
			names = append(names, f[0])
		}
	}
	return names
}

// hugePages are the bytes in reserved huge pages of every size: the folders are called hugepages-2048kB.
func hugePages(r collect.Reader) lab.Fact {
	const key, dir = "memory.hugepages", "/sys/kernel/mm/hugepages"
	entries, err := r.Entries(dir)
	if err != nil {
		return collect.Unknown(key, dir, collect.Why(err))
	}
	var total int64
	for _, e := range entries {
		size, ok := strings.CutPrefix(e.Name(), "hugepages-")
		kib, serr := strconv.ParseInt(strings.TrimSuffix(size, "kB"), 10, 64)
		pages, perr := r.Number(dir + "/" + e.Name() + "/nr_hugepages")
		if !ok || serr != nil || perr != nil || kib < 1 || pages < 0 || pages > math.MaxInt64/1024/kib {
			return collect.Unknown(key, dir+"/"+e.Name(), "the size or the number of pages can't be read")
		}
		total += kib * 1024 * pages
	}
	return collect.Whole(key, total, dir)
}

// samePages reports whether pages of equal content are being merged; 2 means that merging is being undone.
func samePages(r collect.Reader) lab.Fact {
	f := r.Fact("memory.ksm", "/sys/kernel/mm/ksm/run")
	if f.Unknown == "" {
		f = collect.OnOff(f.Key, f.Value == "1", f.Source)
	}
	return f
}

// limit is what this process may use of something, or "unlimited". Of memory it may lock, io_uring needs some before
// 5.12, and fio's option mem= does.
//
//	Limit                     Soft Limit           Hard Limit           Units
//	Max locked memory         8388608              8388608              bytes
//	Max open files            20000                20000                files
func limit(r collect.Reader, key, name string) lab.Fact {
	const source = "/proc/self/limits"
	text, err := r.Text(source)
	if err != nil {
		return collect.Unknown(key, source, collect.Why(err))
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				return collect.Known(key, f[0], source)
			}
		}
	}
	return collect.Unknown(key, source, "the file has no line "+name)
}

const (
	// maxSlabs bounds the caches that are looked at; a large machine has 300, and links to them.
	maxSlabs = 2000
	// maxSlabNames is how many caches are named in full.
	maxSlabNames = 20
)

// CollectSlab names the slab caches whose objects are checked on every allocation. That is set for all by slab_debug=
// (slub_debug= before 6.9) or for some by name, and only root may look. Source: the kernel's
// Documentation/admin-guide/mm/slab.rst, Documentation/mm/slub.rst before 6.14.
func CollectSlab(r collect.Reader, _ collect.Scope) []lab.Fact {
	const key, dir = "memory.slab_debug", "/sys/kernel/slab"
	entries, err := r.Entries(dir)
	// Caches of equal layout are merged, and the other names are links.
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() })
	entries = entries[:min(len(entries), maxSlabs)]
	type cache struct {
		name string
		err  error // why it is unknown
	}
	caches := collect.Spread(len(entries), func(i int) []cache {
		on, err := slabDebugged(r, dir+"/"+entries[i].Name())
		if err == nil && !on {
			return nil
		}
		return []cache{{entries[i].Name(), err}}
	})
	var debugged []string
	var closed error
	for _, c := range caches {
		if closed = c.err; closed != nil {
			break
		}
		debugged = append(debugged, c.name)
	}
	if err == nil && len(entries) > 0 && closed == nil {
		if more := len(debugged) - maxSlabNames; more > 0 {
			debugged = append(debugged[:maxSlabNames], fmt.Sprintf("and %d more", more))
		}
		return []lab.Fact{collect.ListOf(key, debugged, dir)}
	}
	for _, name := range []string{"slab_debug", "slub_debug"} {
		if value, ok := BootArgument(r, name); ok {
			return []lab.Fact{collect.Known(key, "all ("+name+"="+value+")", CmdlinePath)}
		}
	}
	switch {
	case closed != nil:
		err = closed
	case err == nil:
		err = fs.ErrNotExist
	}
	return []lab.Fact{collect.Unknown(key, dir, collect.Why(err))}
}

// slabDebugged reports whether any check is on for a cache. An error means that it is unknown; a kernel without
// SLUB_DEBUG has neither the files nor the checks.
func slabDebugged(r collect.Reader, dir string) (bool, error) {
	for _, attribute := range []string{"sanity_checks", "red_zone", "poison", "store_user"} {
		text, err := r.Text(dir + "/" + attribute)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
		if text == "1" {
			return true, nil
		}
	}
	return false, nil
}
