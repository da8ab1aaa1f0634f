package fio

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/unit"
)

// Options are additions of Argv to a job's own parameters.
type Options struct {
	// Program is the path of fio; empty for the one on the target's PATH.
	Program string
	// Filename is the file or device to load; it replaces the parameter filename. If it is empty, that is left
	// unchanged.
	Filename string
	// Together are files or devices that are loaded at the same time, each by a job of the same name, so that fio
	// starts them together and adds up their results. Filename is not used then.
	Together []string
	// Output is the file for the JSON; empty is fio's standard output.
	Output string
	// Logs is the prefix of per-second logs: Logs_iops.log and Logs_bw.log with the samples of all jobs. Empty means no
	// logs.
	Logs string
	// Fine is another interval of the logs, whose times are then from the target's clock; 0 means a second, with times
	// from the start of the load.
	Fine time.Duration
	// Progress makes fio print its status line once a second. Up to fio 3.42 it goes to standard output, and fio prints
	// it only if the JSON goes elsewhere: without Output, there is no status line.
	Progress bool
}

// Argv returns the command line of one job in the usual style of fio's users: the most informative parameters come
// first and the others follow by name. Values keep their spelling. A parameter that fio takes without a value
// (time_based, group_reporting) has none if its value is "" or "1".
//
// The logs are averages over a second, computed by fio's helper thread; a log without log_avg_msec would write an entry
// for each I/O. If the parameters request logs, headroom's logs are omitted.
func Argv(name string, params map[string]string, opt Options) []string {
	rest := maps.Clone(params)
	if rest == nil {
		rest = map[string]string{}
	}
	delete(rest, "name")
	first := name
	switch {
	case len(opt.Together) > 0:
		// Options after the name "global" apply to all jobs after it. Source: fio's HOWTO, "Job file format" and name.
		delete(rest, "filename")
		first = "global"
	case opt.Filename != "":
		rest["filename"] = oneFile(opt.Filename)
	}
	program := opt.Program
	if program == "" {
		program = "fio"
	}
	argv := []string{program, "--name=" + first, "--output-format=json+"}
	for _, key := range leading() {
		if value, ok := rest[key]; ok {
			argv = append(argv, argument(key, value))
			delete(rest, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		argv = append(argv, argument(key, rest[key]))
	}
	if opt.Logs != "" && !logs(rest) {
		every := time.Second
		if opt.Fine > 0 {
			every = opt.Fine
		}
		argv = append(argv,
			"--write_iops_log="+opt.Logs, "--write_bw_log="+opt.Logs,
			fmt.Sprintf("--log_avg_msec=%d", every.Milliseconds()), "--per_job_logs=0")
		if opt.Fine > 0 {
			argv = append(argv, "--log_unix_epoch=1")
		}
	}
	if opt.Output != "" {
		argv = append(argv, "--output="+opt.Output)
		if opt.Progress {
			argv = append(argv, "--eta=always", "--eta-newline=1")
		}
	}
	for _, file := range opt.Together {
		argv = append(argv, "--name="+name, "--filename="+oneFile(file))
	}
	return argv
}

// oneFile escapes a file's name. A bare colon separates names: fio would write to a file named by the part before it.
// Source: fio's HOWTO, filename.
func oneFile(name string) string { return strings.ReplaceAll(name, ":", `\:`) }

// leading are the parameters that a reader looks for first.
func leading() []string {
	return []string{
		"filename", "directory", "size", "ioengine", "direct", "rw", "readwrite", "rwmixread", "bs",
		"blocksize", "bssplit",
		"iodepth", "numjobs", "fsync", "fdatasync", "ramp_time", "runtime", "time_based",
	}
}

func argument(key, value string) string {
	if slices.Contains(flags(), key) && (value == "" || value == "1") {
		return "--" + key
	}
	return "--" + key + "=" + value
}

// flags are the options without a value: those of the type "empty or boolean value" in --cmdhelp.
func flags() []string {
	return []string{
		"exitall", "exitall_on_error", "group_reporting", "new_group", "norandommap", "refill_buffers",
		"stonewall", "thread",
		"time_based", "zero_buffers", "hipri", "fixedbufs", "registerfiles", "nonvectored", "sqthread_poll", "uncached",
		"nowait", "force_async", "userspace_reap",
	}
}

// logs reports whether a job requests logs.
func logs(params map[string]string) bool {
	for key := range params {
		if strings.HasPrefix(key, "write_") && strings.HasSuffix(key, "_log") && key != "write_iolog" ||
			key == "log_avg_msec" || key == "per_job_logs" {
			return true
		}
	}
	return false
}

// CheckParams refuses parameters that would not be parameters of a job on fio's command line: an option of fio itself
// (--output=/dev/sda overwrites a disk, --trigger=COMMAND runs one), or a name that is no option.
func CheckParams(params map[string]string) error {
	for _, key := range slices.Sorted(maps.Keys(params)) {
		switch {
		case slices.Contains(commandOptions(), key):
			return &lab.Error{
				Kind:  lab.Usage,
				What:  fmt.Sprintf("%q is an option of fio's command, not a parameter of a job", key),
				Hints: []string{"headroom chooses output, format and progress itself"},
			}
		case key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" || key[0] == '-':
			return &lab.Error{
				Kind:  lab.Usage,
				What:  fmt.Sprintf("%q can't be the name of a fio parameter", key),
				Hints: []string{"fio --cmdhelp lists them"},
			}
		}
		if strings.ContainsAny(params[key], "\n\r\x00") {
			return &lab.Error{Kind: lab.Usage,
				What: fmt.Sprintf("the value of fio's parameter %q goes over several lines", key)}
		}
	}
	return nil
}

// commandOptions are the options that fio --help lists: options of the command, not of a job.
func commandOptions() []string {
	return []string{
		"debug", "parse-only", "merge-blktrace-only", "output", "bandwidth-log", "minimal", "output-format",
		"append-terse",
		"terse-version", "version", "help", "cpuclock-test", "crctest", "cmdhelp", "enghelp", "showcmd",
		"eta", "eta-interval",
		"eta-newline", "status-interval", "readonly", "section", "alloc-size", "warnings-fatal", "max-jobs", "server",
		"daemonize", "client", "remote-config", "idle-prof", "inflate-log", "trigger-file", "trigger-timeout",
		"trigger", "trigger-remote",
		"aux-path", "latency-log",
	}
}

// WantedRuntime returns the requested run time of a job, without its ramp; 0 if it ends by size. Without time_based it
// is an upper limit: a job that reaches the end of its file ends sooner, which deserves a warning.
func WantedRuntime(params map[string]string) time.Duration {
	return duration(params, "runtime", "timeout")
}

// Ramp returns how long a job runs before fio starts to count; it is added to the run time.
func Ramp(params map[string]string) time.Duration { return duration(params, "ramp_time") }

// duration returns the first parameter that is set; 0 if none is, or if its value is one that fio refuses.
func duration(params map[string]string, keys ...string) time.Duration {
	for _, key := range keys {
		if value, ok := params[key]; ok {
			d, err := unit.ParseDuration(value)
			if err != nil {
				return 0
			}
			return d
		}
	}
	return 0
}

// defaultBlock is fio's default block size in bytes.
const defaultBlock = 4096

// BlockSize returns how many bytes each I/O of a job moves; 0 if sizes differ, or if fio refuses the value.
func BlockSize(params map[string]string) int64 {
	for _, differ := range []string{"bssplit", "bsrange", "blocksize_range"} {
		if params[differ] != "" {
			return 0
		}
	}
	text := cmp.Or(params["bs"], params["blocksize"])
	if text == "" {
		return defaultBlock
	}
	// "4k,64k,512" is for reads, writes and trims. A missing size equals the previous direction's, and the default for
	// the first one.
	sizes, last := [3]int64{}, int64(defaultBlock)
	given := strings.Split(text, ",")
	for i := range sizes {
		if i < len(given) && given[i] != "" {
			n, err := unit.ParseBytes(given[i])
			if err != nil || n <= 0 {
				return 0
			}
			last = n
		}
		sizes[i] = last
	}
	block := int64(0)
	for _, d := range Directions(pattern(params)) {
		size := sizes[slices.Index([]string{lab.Read, lab.Write, lab.Trim}, d)]
		if block != 0 && block != size {
			return 0
		}
		block = size
	}
	return block
}

// Trims reports whether a job discards.
func Trims(params map[string]string) bool {
	return slices.Contains(Directions(pattern(params)), lab.Trim)
}

// pattern returns the value of rw, or fio's default.
func pattern(params map[string]string) string {
	return cmp.Or(params["rw"], params["readwrite"], "read")
}

// CountedByKernel reports whether the kernel counts the I/Os of a job for its processes (proc_pid_io(5)). The
// kernel counts neither the null engine nor mapped files, nor libaio through the page cache.
func CountedByKernel(params map[string]string) bool {
	switch params["ioengine"] {
	case "null", "mmap":
		return false
	case "libaio":
		return params["direct"] == "1"
	}
	return true
}

// Directions returns the directions of a pattern (rw), with or without modifiers, in the order in which fio prints
// them; none for other text.
func Directions(rw string) []string {
	pattern, _, _ := strings.Cut(rw, ":")
	switch pattern {
	case "read", "randread":
		return []string{lab.Read}
	case "write", "randwrite":
		return []string{lab.Write}
	case "trim", "randtrim":
		return []string{lab.Trim}
	case "rw", "readwrite", "randrw":
		return []string{lab.Read, lab.Write}
	case "trimwrite", "randtrimwrite":
		return []string{lab.Write, lab.Trim}
	}
	return nil
}
