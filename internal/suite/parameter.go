package suite

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/headroom/headroom/internal/unit"
	"github.com/headroom/headroom/internal/yamlfile"
)

// kind is the form of a fio parameter's values, as far as it can be checked without fio.
type kind int

const (
	text     kind = iota // anything; fio itself is the judge
	toggle               // 0 or 1
	number               // 8, 4k, 0x1f; or one each for reads, writes and trims: 700,300
	duration             // 60, 60s, 500ms
	extent               // 1g, 50%, or 4z (zones)
	blocks               // 4k, or one each for reads, writes and trims: 8k,32k
	pattern              // rw=
	engine               // ioengine=
)

// parameters returns the known fio parameters with the kinds of their values. A name that is missing here is passed to
// fio unchanged, since every version of fio adds parameters.
//
// Source: fio --cmdhelp=all and fio --enghelp=ENGINE of fio 3.33, and options.c of fio 3.42.
func parameters() map[string]kind {
	lists := map[kind]string{
		pattern:  `rw`,
		engine:   `ioengine`,
		blocks:   `bs`,
		extent:   `io_size offset offset_increment size`,
		duration: `latency_target latency_window ramp_time runtime steadystate_duration steadystate_ramp_time`,
		toggle: `allrandrepeat atomic block_error_percentiles bs_unaligned buffered create_fsync create_serialize
			dedupe_global direct disable_bw_measurement disable_clat disable_lat disable_slat disk_util do_verify
			end_fsync error_dump experimental_verify fdp fixedbufs fsync_on_close group_reporting gtod_reduce hipri
			ignore_zone_limits invalidate latency_run norandommap nowait overwrite pre_read randrepeat
			rate_ignore_thinktime read_beyond_wp readfua recover_zbd_write_error refill_buffers registerfiles
			scramble_buffers serialize_overlap sprandom sqthread_poll stats thread time_based trim_verify_zero
			userspace_reap verify_dump verify_fatal verify_header_seed verify_only verify_state_load verify_state_save
			verify_write_sequence writefua zero_buffers`,
		number: `apptag apptag_mask ba buffer_compress_chunk buffer_compress_percentage cmdprio cmdprio_class
			cmdprio_percentage cpumask dedupe_percentage dedupe_working_set_percentage fdatasync flow flow_id flow_sleep
			force_async fsync gid gtod_cpu hipri_percentage hugepage-size iodepth iodepth_batch
			iodepth_batch_complete_max iodepth_batch_complete_min iodepth_low job_max_open_zones loops max_open_zones
			md_per_io_size nice nonvectored num_range numjobs offset_align percentage_random pi_act prio prioclass rate
			rate_cycle rate_iops rate_iops_min rate_min rwmixread rwmixwrite spr_num_regions sqthread_poll_cpu stream_id
			thinktime_blocks thp trim_backlog_batch trim_percentage uid uncached verify_async verify_backlog_batch
			verify_interval verify_offset write_barrier`,
		text: `bsrange bssplit buffer_pattern clocksource cmd_type cmdprio_bssplit continue_on_error cpus_allowed
			cpus_allowed_policy dataplacement dedupe_mode description dp_scheme fadvise_hint fallocate fdp_pli
			fdp_pli_select fdp_scheme ignore_error io_submit_mode latency_percentile lockmem max_latency mem
			numa_cpu_nodes numa_mem_policy number_ios pi_chk plid_select plids random_distribution random_generator
			randseed rate_process rw_sequencer sg_write_mode spr_cs spr_op startdelay steadystate sync sync_file_range
			thinktime thinktime_blocks_type thinktime_iotime thinktime_spin trim_backlog unified_rw_reporting unit_base
			verify verify_backlog verify_mode verify_pattern write_hint write_mode zone_reset_frequency
			zone_reset_threshold zonecapacity zonemode zonerange zonesize zoneskip`,
	}
	kinds := map[string]kind{}
	for k, names := range lists {
		for _, name := range strings.Fields(names) {
			kinds[name] = k
		}
	}
	return kinds
}

// parameterAliases returns the other names that fio has for its parameters. Cells use one name each, so that the
// parameters of two suites can be compared. Source: the aliases that fio --cmdhelp=NAME prints (fio 3.33).
func parameterAliases() map[string]string {
	return map[string]string{
		"readwrite": "rw", "blocksize": "bs", "blockalign": "ba", "blocksize_range": "bsrange",
		"blocksize_unaligned": "bs_unaligned", "iodepth_batch_submit": "iodepth_batch",
		"iodepth_batch_complete": "iodepth_batch_complete_min", "io_limit": "io_size", "fill_fs": "fill_device",
		"fileoffset": "offset", "nr_files": "nrfiles", "timeout": "runtime", "iomem": "mem", "ratemin": "rate_min",
		"ratecycle": "rate_cycle", "wait_for_previous": "stonewall", "disable_bw": "disable_bw_measurement",
		"ss": "steadystate", "ss_dur": "steadystate_duration", "ss_ramp": "steadystate_ramp_time",
	}
}

// CanonicalName removes the dashes of a parameter as typed on a command line, and replaces an alias.
func CanonicalName(typed string) string {
	name := strings.TrimLeft(typed, "-")
	if s, ok := parameterAliases()[name]; ok {
		return s
	}
	return name
}

// parameterName checks that a parameter may be set and returns its canonical name; complaint is empty if it may.
func parameterName(typed string) (name, complaint, hint string) {
	name = CanonicalName(typed)
	if refused, ok := refusalOf(name); ok {
		return "", typed + " can't be set: " + refused.why, refused.hint
	}
	known := parameters()
	if _, ok := known[name]; ok {
		return name, "", ""
	}
	names := slices.Concat(slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(parameterAliases())))
	if full := abbreviated(name, names); full != "" {
		return "", yamlfile.Quoted(typed) + " may be short for " + full, "write the name in full"
	}
	if lower := strings.ToLower(name); slices.Contains(names, lower) {
		hint = "did you mean " + lower + "?"
	} else {
		hint = yamlfile.DidYouMean(name, names)
	}
	switch {
	case hint != "":
		// Another version of fio may have it. But a name that nearly equals the name of a common parameter is likely a
		// typing error.
		return "", "fio has no parameter " + yamlfile.Quoted(typed), hint
	case name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "":
		return "", yamlfile.Quoted(typed) + " is no name of a fio parameter", "fio --cmdhelp=all lists them"
	}
	return name, "", ""
}

// parameterValue checks a value as far as its kind allows and returns it in fio's form; complaint is empty if the value
// is valid.
func parameterValue(name, value string) (canonical, complaint, hint string) {
	switch {
	case strings.ContainsAny(value, "\n\r\x00"):
		return "", name + " holds a line break", ""
	case strings.Contains(value, "$"):
		return "", name + "=" + value + " holds a variable, which would mean something else on each machine",
			"write the value"
	}
	k, known := parameters()[name]
	if !known {
		return value, "", ""
	}
	canonical = value
	ok := true
	switch k {
	case toggle:
		// fio takes only 0 and 1; in YAML one writes true and false.
		switch strings.ToLower(value) {
		case "1", "true":
			canonical = "1"
		case "0", "false":
			canonical = "0"
		default:
			ok, hint = false, "write 0 or 1"
		}
	case number:
		ok, hint = eachPart(value, isNumber), "write a number"
		if least := leastValue(name); ok && least > 0 {
			n, err := strconv.Atoi(value)
			ok, hint = err == nil && n >= least, "write a whole number from "+strconv.Itoa(least)
		}
		if ok && strings.HasPrefix(name, "rwmix") {
			n, err := strconv.Atoi(value)
			ok, hint = err == nil && n >= 0 && n <= 100, "write a percentage, 0 to 100"
		}
	case blocks:
		ok, hint = eachPart(value, isPositiveSize), "write 4k, 1m, or 8k,32k for reads and writes"
	case extent:
		ok, hint = isExtent(value), "write 1g or 50%"
	case duration:
		_, err := unit.ParseDuration(value)
		ok, hint = err == nil, "write 60s, 5m or 1h"
	case pattern:
		base, _, _ := strings.Cut(value, ":")
		ok, hint = slices.Contains(patterns(), base), yamlfile.DidYouMean(base, patterns())
		if hint == "" {
			hint = "write one of " + strings.Join(patterns(), ", ")
		}
	case engine:
		ok, hint = slices.Contains(engines(), value), yamlfile.DidYouMean(value, engines())
		if hint == "" {
			hint = "headroom runs the engines that reach a file or a block device and nothing else: " +
				strings.Join(engines(), ", ")
		}
	}
	if ok && name == "stats" && canonical == "0" {
		ok, hint = false, "without statistics there is nothing to report"
	}
	if !ok {
		return "", name + " can't be " + yamlfile.Quoted(value), hint
	}
	return canonical, "", ""
}

// leastValue returns the smallest sensible value of a parameter that counts something; 0 if it has none.
func leastValue(name string) int {
	switch name {
	case "iodepth", "numjobs", "loops":
		return 1
	}
	return 0
}

// patterns returns the values of rw=, without the ":8" that some can have. Source: fio --cmdhelp=rw.
func patterns() []string {
	return []string{"read", "write", "randread", "randwrite", "rw", "readwrite", "randrw", "trim", "randtrim",
		"trimwrite", "randtrimwrite"}
}

// engines returns the values of ioengine= that headroom runs. The others bypass the place that the destruction guard
// has checked (rbd, http, nbd, exec, …), or move no data.
func engines() []string {
	return []string{"libaio", "io_uring", "psync", "sync", "vsync", "pvsync", "pvsync2", "posixaio", "mmap", "splice",
		"sg", "null"}
}

// touchesStorage reports whether an engine reads or writes anything.
func touchesStorage(params map[string]string) bool { return params["ioengine"] != "null" }

// reads reports whether a load reads, alone or mixed with writes. Blocks must have been written before they are read.
func reads(params map[string]string) bool {
	base, _, _ := strings.Cut(params["rw"], ":")
	switch base {
	case "", "read", "randread", "rw", "readwrite", "randrw": // fio reads when rw= is missing
		return true
	}
	return false
}

// trims reports whether a load discards blocks itself. That is work only for blocks that were written before.
func trims(params map[string]string) bool { return strings.Contains(params["rw"], "trim") }

// eachPart reports whether a value of up to three parts, for reads, writes and trims, has only good parts. Parts may be
// missing ("8k,,"), but not all of them.
func eachPart(value string, good func(string) bool) bool {
	parts := strings.Split(value, ",")
	found := false
	for _, p := range parts {
		if p == "" {
			continue
		}
		if !good(p) {
			return false
		}
		found = true
	}
	return found && len(parts) <= 3
}

func isNumber(s string) bool {
	if _, err := strconv.ParseInt(s, 0, 64); err == nil {
		return true
	}
	_, err := unit.ParseBytes(s)
	return err == nil
}

func isPositiveSize(s string) bool {
	n, err := unit.ParseBytes(s)
	return err == nil && n > 0
}

func isExtent(s string) bool {
	if share, ok := strings.CutSuffix(s, "%"); ok {
		n, err := strconv.Atoi(share)
		return err == nil && n >= 0 && n <= 100
	}
	if zones, ok := strings.CutSuffix(s, "z"); ok {
		_, err := strconv.ParseUint(zones, 10, 32)
		return err == nil
	}
	_, err := unit.ParseBytes(s)
	return err == nil
}

// abbreviated returns a parameter that begins with name, refused ones first. fio accepts any unambiguous prefix, so
// exec_pre would run a command as exec_prerun does. Source: getopt_long(3), and fio 3.33.
func abbreviated(name string, known []string) string {
	plain := func(s string) string { return strings.ReplaceAll(s, "-", "_") }
	var all []string
	for _, r := range refusals() {
		all = append(all, strings.Fields(r.names)...)
	}
	for _, full := range append(all, known...) {
		if name != "" && len(full) > len(name) && strings.HasPrefix(plain(full), plain(name)) {
			return full
		}
	}
	return ""
}

// CheckParams describes a fault of fio parameters that come from another machine's run, and so were not checked with a
// suite file here. It is empty if a suite may have them.
func CheckParams(params map[string]string) string {
	for _, typed := range slices.Sorted(maps.Keys(params)) {
		name, complaint, _ := parameterName(typed)
		if complaint == "" {
			_, complaint, _ = parameterValue(name, params[typed])
		}
		if complaint != "" {
			return complaint
		}
	}
	return ""
}

// refusal is a group of fio parameters that a suite can't set, and why.
type refusal struct {
	why, hint string
	names     string
	// harmless parameters control fio's reports; headroom sets them itself. A fio job file was not written for
	// headroom, so there they are left out with a note instead of being refused.
	harmless bool
}

// refusals returns the parameters that headroom sets itself, those that would bypass the destruction guard, and those
// that would break the measurement of the cells that follow.
func refusals() []refusal {
	return []refusal{
		{names: `filename directory`,
			why:  "the place is not part of a suite: the destruction guard looks at it first",
			hint: "name it on the command line: headroom run SUITE DEVICE, or headroom run SUITE DIRECTORY"},
		{names: `filename_format unique_filename opendir lockfile nrfiles openfiles file_service_type filesize file_append`,
			why:  "all cells work on one scratch file, or on the whole device",
			hint: "use size, offset and offset_increment to work on a part of it"},
		{names: `name`, why: "fio's name for the job is the job's own", hint: "delete it"},
		{names: `output output-format append-terse minimal terse-version eta eta-newline eta-interval status-interval`,
			why: "headroom sets how fio reports, and reads it", hint: "delete it", harmless: true},
		{names: `write_bw_log write_lat_log write_iops_log write_hist_log bandwidth-log latency-log bwavgtime iopsavgtime
			per_job_logs log_avg_msec log_hist_msec log_hist_coarseness log_max_value log_offset log_prio log_issue_time
			log_entries log_compression log_compression_cpus log_store_compressed log_unix_epoch log_alternate_epoch
			log_alternate_epoch_clock_id`,
			why: "headroom has fio log, and turns the logs into per-second series", hint: "delete it", harmless: true},
		{names: `clat_percentiles lat_percentiles slat_percentiles percentile_list significant_figures`,
			why: "headroom computes percentiles from all of fio's latency bins", hint: "delete it", harmless: true},
		{names: `readonly allow_file_create`,
			why: "headroom sets it, by what the load does", hint: "delete it", harmless: true},
		{names: `write_iolog`, why: "it writes a file beside the load", hint: "delete it"},
		{names: `read_iolog read_iolog_chunked replay_no_stall replay_redirect replay_scale replay_align replay_time_scale
			replay_skip merge_blktrace_file merge_blktrace_scalars merge_blktrace_iters merge-blktrace-only`,
			why: "a replayed log chooses what it writes to, past the destruction guard"},
		{names: `exec_prerun exec_postrun trigger trigger-file trigger-timeout trigger-remote`,
			why: "it runs another command, which headroom can neither check nor undo"},
		{names: `server client remote-config daemonize`,
			why: "headroom starts fio itself, once on each target"},
		{names: `include profile`, why: "it brings in a load that is not written here", hint: "write its parameters"},
		{names: `allow_mounted_write`,
			why: "whether a device may be written to is for the destruction guard to say", hint: "delete it"},
		{names: `create_on_open create_only`,
			why: "the load would find a file without data, and read holes", hint: "leave the file to the step layout"},
		{names: `unlink unlink_each_loop`,
			why: "the scratch file is needed by the cells that follow", hint: "leave its removal to the step clean-up"},
		{names: `fill_device`, why: "it writes until nothing is left", hint: "use the step fill"},
		{names: `stonewall new_group wait_for exitall exit_what exitall_on_error`,
			why: "each job runs alone, in a separate fio", hint: "delete it", harmless: true},
		{names: `ioscheduler cgroup cgroup_weight cgroup_nodelete`,
			why: "it changes a setting of the machine and leaves it changed"},
		{names: `mem iomem`, why: "it can put fio's buffers into a file or a device (mmapshared:FILE), and so write " +
			"to it", hint: "delete it"},
		{names: `kb_base`, why: "headroom reads sizes as fio does by default: 1k is 1024", hint: "delete it"},
		{names: `parse-only showcmd cmdhelp enghelp crctest cpuclock-test version help debug section warnings-fatal max-jobs
			alloc-size inflate-log aux-path idle-prof`,
			why: "it is an argument of the fio command, not a parameter of a job", hint: "delete it"},
	}
}

// refusalOf returns the reason why a parameter can't be set; ok is false if it can.
func refusalOf(name string) (r refusal, ok bool) {
	for _, r := range refusals() {
		for _, n := range strings.Fields(r.names) {
			if n == name {
				return r, true
			}
		}
	}
	return refusal{}, false
}
