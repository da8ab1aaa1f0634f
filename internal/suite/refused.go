package suite

import "strings"

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
			why: "it runs a command of its own, which headroom can neither check nor undo"},
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
			why: "each job runs alone, in a fio of its own", hint: "delete it", harmless: true},
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
