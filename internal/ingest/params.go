package ingest

import "strings"

// perRepetition are the fio options in which two repetitions of one load differ without being two loads, with the
// reason. They neither tell cells apart nor appear in a cell's parameters; the raw file has them.
func perRepetition() map[string]string {
	const log = "names a log file; what is logged is the same"
	return map[string]string{
		"name":            "the cell has it as its job",
		"filename":        "a scratch file has another name each time; a device (/dev/…) is the run's place",
		"filename_format": "names scratch files",
		"directory":       "a temporary directory is another each time; where it is known it is the run's place",
		"description":     "a remark",
		"output":          "where fio wrote its result",
		"output-format":   "the form of the result, not the load",
		"eta":             "display",
		"eta-newline":     "display",
		"eta-interval":    "display",
		"status-interval": "display",
		"randseed":        "changed between repetitions so that they do not touch the same offsets",
		"aux-path":        "where fio keeps its own files",
		"trigger-file":    "where fio looks for a trigger",
		"write_bw_log":    log,
		"write_lat_log":   log,
		"write_iops_log":  log,
		"write_hist_log":  log,
		"write_iolog":     log,
		"per_job_logs":    log,
		"client":          "where fio ran; the run has it as its target",
	}
}

// device is the block device among the values of filename; empty when there is none. Several devices (fio separates
// them by colons) are kept as they were given.
func device(filename string) string {
	if strings.HasPrefix(filename, "/dev/") && !strings.HasPrefix(filename, "/dev/shm/") {
		return filename
	}
	return ""
}
