package facts

import (
	"io/fs"
	"strconv"
	"strings"

	"headroom/internal/lab"
)

func collectMemory(fsys fs.FS, _ Scope) []lab.Fact {
	r := reader{fsys}
	const source = "/proc/meminfo"
	text, err := r.text(source)
	info := parseMemInfo(text)
	amount := func(key, name string) lab.Fact {
		bytes, ok := info[name]
		switch {
		case err != nil:
			return unknown(key, source, why(err))
		case !ok:
			return unknown(key, source, "the file does not say "+name)
		}
		return known(key, strconv.FormatInt(bytes, 10), source)
	}
	return []lab.Fact{
		amount("memory.total", "MemTotal"),
		amount("memory.available", "MemAvailable"),
		amount("memory.swap", "SwapTotal"),
		chosen(r.fact("memory.transparent_hugepage", "/sys/kernel/mm/transparent_hugepage/enabled")),
		r.fact("memory.dirty_ratio", "/proc/sys/vm/dirty_ratio"),
		r.fact("memory.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio"),
		r.fact("memory.dirty_bytes", "/proc/sys/vm/dirty_bytes"),
		r.fact("memory.dirty_background_bytes", "/proc/sys/vm/dirty_background_bytes"),
		nodes(r),
		r.fact("numa.balancing", "/proc/sys/kernel/numa_balancing"),
		lockedMemory(r),
	}
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

// chosen reduces a choice that the kernel prints with all its options to the one in use: "always [madvise] never".
func chosen(f lab.Fact) lab.Fact {
	if _, rest, ok := strings.Cut(f.Value, "["); ok {
		f.Value, _, _ = strings.Cut(rest, "]")
	}
	return f
}

func nodes(r reader) lab.Fact {
	const pattern = "/sys/devices/system/node/node[0-9]*"
	if n := len(r.glob(pattern)); n > 0 {
		return known("numa.nodes", strconv.Itoa(n), pattern)
	}
	return unknown("numa.nodes", pattern, "the kernel shows no nodes; it may be built without NUMA")
}

// lockedMemory is how much memory this process may lock, in bytes or "unlimited"; io_uring needs it before 5.12, and
// so does fio's option mem=.
//
//	Limit                     Soft Limit           Hard Limit           Units
//	Max locked memory         8388608              8388608              bytes
//	Max open files            20000                20000                files
func lockedMemory(r reader) lab.Fact {
	const key, source = "limit.locked_memory", "/proc/self/limits"
	text, err := r.text(source)
	if err != nil {
		return unknown(key, source, why(err))
	}
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "Max locked memory"); ok {
			if f := strings.Fields(rest); len(f) > 0 {
				return known(key, f[0], source)
			}
		}
	}
	return unknown(key, source, "the file has no line Max locked memory")
}
