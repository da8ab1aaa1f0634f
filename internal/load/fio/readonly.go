package fio

import (
	"slices"
	"strings"
)

// OnlyReads reports whether a job can't change a single byte of its file or device. Data may be destroyed if the answer
// is wrong, so it has lists of what is harmless, not of what is harmful: the direction, the engine and every parameter
// must be known to be harmless; a parameter that is new, misspelt or not listed makes the answer false.
//
// The direction must be given: rw=read or randread. The engine must be given too, and must turn reads into nothing but
// reads of the file (not one that runs other programs' code, replays a log, or connects to another host). Not listed,
// each for its reason:
//
//   - verify, experimental_verify, verify_*: may write a state file, and with do_verify a read job checks the data of
//     a write job; verify=0 is allowed
//   - trim_*, zonemode=zbd, zone_reset_*: trims, and zones that are reset
//   - overwrite, create_on_open, file_append, fallocate, fill_device, unlink, allow_file_create: create, grow or remove
//     files
//   - directory, opendir, filename_format, nrfiles, lockfile: files other than the one that was checked
//   - read_iolog, write_iolog, replay_*, merge_blktrace_*: replay writes, or write to a file of any name
//   - mem=mmapshared:FILE: has the buffers in a file; memory without a file is allowed
//   - exec_prerun, exec_postrun, profile, ioscheduler, cgroup*: run programs, change the system
//   - rwmix*, allow_mounted_write: have no effect on a job that reads; a user who sets them intends something else
//
// A job that reads a missing or too short file creates it first. The caller must rule that out; on a device it does not
// happen.
func OnlyReads(params map[string]string) bool {
	rw, named := params["rw"]
	if alias, ok := params["readwrite"]; ok {
		if named {
			return false // which of the two wins depends on their order
		}
		rw, named = alias, true
	}
	if !named || !readsOnly(rw) || !slices.Contains(readingEngines(), params["ioengine"]) {
		return false
	}
	for key, value := range params {
		switch key {
		case "rw", "readwrite", "ioengine":
		case "verify":
			if value != "0" && value != "none" {
				return false
			}
		case "mem", "iomem":
			// With a name after the colon, the buffers are in that file, and the data read is written there.
			if strings.Contains(value, ":") {
				return false
			}
		case "zonemode":
			if value != "none" && value != "strided" {
				return false
			}
		default:
			if !slices.Contains(harmless(), key) {
				return false
			}
		}
	}
	return true
}

// readsOnly accepts read and randread, with the number that fio allows after a colon (rw=randread:8).
func readsOnly(rw string) bool {
	direction, number, colon := strings.Cut(rw, ":")
	if direction != "read" && direction != "randread" {
		return false
	}
	return !colon || number != "" && strings.Trim(number, "0123456789kKmMgG") == ""
}

func readingEngines() []string {
	return []string{"sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "io_uring", "posixaio", "mmap", "null"}
}

// harmless are the parameters that shape, time, report or place a read load, and that can't make it write to its file.
func harmless() []string {
	return []string{
		// Which data are read, and in which order.
		"filename", "size", "io_size", "filesize", "offset", "offset_increment", "offset_align", "number_ios", "loops",
		"bs", "blocksize", "bsrange", "blocksize_range", "bssplit", "ba", "blockalign", "bs_unaligned",
		"blocksize_unaligned",
		"randrepeat", "allrandrepeat", "randseed", "norandommap", "softrandommap", "random_generator",
		"random_distribution",
		"percentage_random", "rw_sequencer", "zonesize", "zonerange", "zoneskip",
		// How: engine and its options, depth, flushing (of data that were never written), caching.
		"iodepth", "iodepth_batch", "iodepth_batch_submit", "iodepth_batch_complete", "iodepth_batch_complete_min",
		"iodepth_batch_complete_max", "iodepth_low", "serialize_overlap", "io_submit_mode", "direct", "buffered",
		"sync",
		"fsync", "fdatasync", "end_fsync", "fsync_on_close", "invalidate", "pre_read", "fadvise_hint",
		"hipri", "hipri_percentage", "fixedbufs", "registerfiles", "nonvectored", "sqthread_poll", "sqthread_poll_cpu",
		"uncached", "nowait", "force_async", "userspace_reap", "cmdprio_percentage", "cmdprio_class",
		"cmdprio", "cmdprio_bssplit",
		// Contents of the buffers: a job that reads fills them and then reads over them.
		"zero_buffers", "refill_buffers", "scramble_buffers", "buffer_pattern", "buffer_compress_percentage",
		"buffer_compress_chunk", "dedupe_percentage", "dedupe_mode", "dedupe_working_set_percentage",
		"iomem_align", "mem_align", "hugepage-size", "lockmem",
		// How long, how fast.
		"runtime", "timeout", "time_based", "ramp_time", "startdelay", "thinktime", "thinktime_spin",
		"thinktime_blocks",
		"thinktime_blocks_type", "thinktime_iotime", "rate", "rate_min", "rate_process", "rate_cycle",
		"rate_ignore_thinktime",
		"rate_iops", "rate_iops_min", "max_latency", "latency_target", "latency_window", "latency_percentile",
		"latency_run",
		"steadystate", "ss", "steadystate_duration", "ss_dur", "steadystate_ramp_time", "ss_ramp",
		// Which processes.
		"name", "description", "numjobs", "thread", "group_reporting", "new_group", "stonewall", "wait_for",
		"wait_for_previous",
		"cpumask", "cpus_allowed", "cpus_allowed_policy", "numa_cpu_nodes", "numa_mem_policy", "nice",
		"prio", "prioclass",
		"exitall", "exitall_on_error", "exit_what", "continue_on_error", "create_serialize",
		// Measurement and output. fio appends a suffix to the names of logs, so that they are never names of devices.
		"clocksource", "gtod_reduce", "gtod_cpu", "disable_lat", "disable_clat", "disable_slat", "disable_bw",
		"disable_bw_measurement", "clat_percentiles", "lat_percentiles", "slat_percentiles", "percentile_list",
		"significant_figures", "disk_util", "unified_rw_reporting", "stats", "kb_base", "unit_base", "write_bw_log",
		"write_iops_log", "write_lat_log", "log_avg_msec", "log_hist_msec", "log_hist_coarseness", "write_hist_log",
		"log_entries", "log_max_value", "log_offset", "log_prio", "log_unix_epoch", "per_job_logs",
		"bwavgtime", "iopsavgtime",
	}
}
