package compare

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/suite"
	"github.com/headroom/headroom/internal/unit"
)

// notTheLoad returns parameters that change the output or the duration, but not the requests to the storage. Those that
// could still matter (timing) are listed among the differences of the runs instead.
func notTheLoad() map[string]bool {
	names := `allow_mounted_write clat_percentiles description directory disk_util eta exitall filename filename_format
		group_reporting log_avg_msec log_compression log_hist_coarseness log_hist_msec log_max_value log_offset
		log_store_compressed log_unix_epoch name new_group opendir output output-format per_job_logs percentile_list randseed
		slat_percentiles status-interval stonewall unlink unlink_each_loop wait_for wait_for_previous write_bw_log
		write_hist_log write_iolog write_iops_log write_lat_log`
	set := map[string]bool{}
	for _, n := range slices.Concat(strings.Fields(names), timing()) {
		set[n] = true
	}
	return set
}

// timing returns the parameters that set when and how long a load runs.
func timing() []string {
	return []string{"runtime", "time_based", "ramp_time", "loops", "startdelay", "randrepeat", "steadystate",
		"steadystate_duration",
		"steadystate_ramp_time"}
}

// defaults returns fio's defaults on Linux. Source: fio's HOWTO and fio --cmdhelp=all (3.33).
func defaults() map[string]string {
	return map[string]string{
		"rw": "read", "bs": "4k", "iodepth": "1", "numjobs": "1", "direct": "0", "ioengine": "psync",
		"fsync": "0", "fdatasync": "0",
		"sync": "0", "rwmixread": "50", "norandommap": "0", "invalidate": "1", "end_fsync": "0", "fsync_on_close": "0",
		"create_fsync": "1", "thread": "0", "rate": "0", "rate_iops": "0", "rate_min": "0", "rate_iops_min": "0",
		"thinktime":      "0",
		"refill_buffers": "0", "scramble_buffers": "1", "zero_buffers": "0", "buffer_compress_percentage": "0",
		"dedupe_percentage": "0", "offset": "0", "gtod_reduce": "0", "hipri": "0", "fixedbufs": "0",
		"registerfiles": "0",
		"sqthread_poll": "0", "iodepth_batch": "1", "nrfiles": "1", "overwrite": "0", "percentage_random": "100",
		"unified_rw_reporting": "none", "random_distribution": "random", "random_generator": "tausworthe",
		"lat_percentiles": "0",
		"create_on_open":  "0", "fadvise_hint": "1", "io_submit_mode": "inline", "allrandrepeat": "0",
		"latency_target": "0",
	}
}

// unset is the printed value of a parameter that was not set and whose default is not in the list.
const unset = "not set"

// load returns the parameters of a cell that determine its requests to the storage, by fio's names, with values
// unchanged. The parameters of a command have the meaning that their suite gives them.
func load(c Cell) map[string]string {
	if !lab.ByFio(c.Engine) {
		return c.Params
	}
	params, skip := c.Params, notTheLoad()
	out := map[string]string{}
	for typed, value := range params {
		name := suite.CanonicalName(typed)
		switch name {
		case "buffered":
			name, value = "direct", inverted(value)
		case "rwmixwrite":
			if n, err := strconv.Atoi(value); err == nil {
				name, value = "rwmixread", strconv.Itoa(100-n)
			}
		}
		if !skip[name] {
			out[name] = value
		}
	}
	return out
}

func inverted(toggle string) string {
	if toggle == "0" {
		return "1"
	}
	return "0"
}

// defaultsOf returns the defaults of a cell's parameters. A command has no defaults.
func defaultsOf(c Cell) map[string]string {
	if !lab.ByFio(c.Engine) {
		return map[string]string{}
	}
	return defaults()
}

// normalOf returns a function that writes equal values of a cell's parameters alike. For a command it is unknown which
// values are equal.
func normalOf(c Cell) func(string) string {
	if !lab.ByFio(c.Engine) {
		return func(value string) string { return value }
	}
	return normal
}

// normal writes equal values alike: 4k, 4096 and 4k,4k.
func normal(value string) string {
	words := map[string]string{"": "1", "none": "0", "readwrite": "rw", "true": "1", "false": "0"}
	var parts []string
	for part := range strings.SplitSeq(strings.ToLower(value), ",") {
		if w, ok := words[part]; ok {
			part = w
		}
		if n, err := unit.ParseBytes(part); err == nil {
			part = strconv.FormatInt(n, 10)
		}
		parts = append(parts, part)
	}
	return strings.Join(slices.Compact(parts), ",")
}

// parameterDifferences returns the parameters that differ between two loads, and those that one side does not report.
func parameterDifferences(base, next Cell, baseSaysAll, nextSaysAll bool) (differ []Pair, unchecked []string) {
	a, b, standard := load(base), load(next), defaultsOf(base)
	both := maps.Clone(a)
	if both == nil {
		both = map[string]string{}
	}
	maps.Copy(both, b)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		va, inA := a[name]
		vb, inB := b[name]
		if !inA && !baseSaysAll || !inB && !nextSaysAll {
			unchecked = append(unchecked, name)
			continue
		}
		va, vb = orDefault(va, inA, standard[name]), orDefault(vb, inB, standard[name])
		if same := normalOf(base); same(va) != same(vb) {
			differ = append(differ, Pair{Name: name, Base: va, New: vb})
		}
	}
	return differ, unchecked
}

func orDefault(value string, set bool, standard string) string {
	switch {
	case set:
		return value
	case standard != "":
		return standard
	}
	return unset
}

// param returns the effective value of a parameter; empty if it is not known.
func param(c Cell, saysAll bool, name string) string {
	value, set := load(c)[name]
	if !set && !saysAll {
		return ""
	}
	return orDefault(value, set, defaultsOf(c)[name])
}

// key returns the same text for two loads that are the same.
func key(c Cell) string {
	standard := defaultsOf(c)
	var parts []string
	if !lab.ByFio(c.Engine) {
		// a command never equals a fio job, and its name identifies it
		parts = append(parts, c.Engine+"\x00"+c.Job)
	}
	for name, value := range load(c) {
		if same := normalOf(c); same(value) != same(standard[name]) || standard[name] == "" {
			parts = append(parts, name+"="+same(value))
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, "\x00")
}
