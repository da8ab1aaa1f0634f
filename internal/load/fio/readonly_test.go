package fio

import (
	"maps"
	"testing"
)

func TestOnlyReads(t *testing.T) {
	base := map[string]string{"rw": "randread", "ioengine": "libaio", "filename": "/dev/x", "bs": "4k", "direct": "1"}
	with := func(pairs ...string) map[string]string {
		p := maps.Clone(base)
		for i := 0; i < len(pairs); i += 2 {
			p[pairs[i]] = pairs[i+1]
		}
		return p
	}
	without := func(key string) map[string]string {
		p := maps.Clone(base)
		delete(p, key)
		return p
	}
	aliased := without("rw")
	aliased["readwrite"] = "read"
	for _, p := range []map[string]string{
		base, aliased,
		with("rw", "read"), with("rw", "read:8"), with("rw", "randread:4k"),
		// The four read tests of the Talos report.
		with("iodepth", "1", "numjobs", "1", "fsync", "1", "randrepeat", "0", "runtime", "60"),
		with("iodepth", "128", "numjobs", "4", "group_reporting", "", "randrepeat", "0", "runtime", "60"),
		with("ioengine", "io_uring", "sqthread_poll", "1", "hipri", "1", "pre_read", "1"),
		with("verify", "0"), with("zonemode", "none"), with("mem", "mmap"), with("time_based", "1", "ramp_time", "2"),
	} {
		if !OnlyReads(p) {
			t.Errorf("%v is not taken for a job that only reads", p)
		}
	}
	for _, p := range []map[string]string{
		nil, {}, without("rw"), without("ioengine"),
		with("readwrite", "read"), with("readwrite", "write"),
		with("rw", ""), with("rw", "write"), with("rw", "randwrite"), with("rw", "randrw"), with("rw", "rw"),
		with("rw", "trim"),
		with("rw", "randtrim"), with("rw", "trimwrite"), with("rw", "readwrite"), with("rw", "READ"),
		with("rw", " read"),
		with("rw", "read,write"), with("rw", "read:"), with("rw", "read:8:write"), with("rw", "read\nrw=write"),
		with("rwmixwrite", "10"), with("rwmixread", "100"), with("rwmixread", "0"),
		with("verify", "crc32c"), with("verify", "1"), with("do_verify", "1"), with("experimental_verify", "1"),
		with("verify_state_save", "1"), with("verify_only", ""), with("trim_percentage", "10"),
		with("trim_backlog", "1"),
		with("zonemode", "zbd"), with("zone_reset_threshold", "0.1"), with("zone_reset_frequency", "1"),
		with("exec_prerun", "true"), with("exec_postrun", "true"), with("profile", "act"), with("ioscheduler", "none"),
		with("allow_mounted_write", "1"), with("allow_mounted_write", "0"), with("overwrite", "1"),
		with("create_on_open", "1"),
		with("fill_device", "1"), with("unlink", "1"), with("file_append", "1"), with("fallocate", "native"),
		with("directory", "/mnt"), with("opendir", "/"), with("filename_format", "$jobname"), with("nrfiles", "2"),
		with("lockfile", "none"),
		with("read_iolog", "trace"), with("write_iolog", "/dev/x"), with("replay_redirect", "/dev/x"),
		with("merge_blktrace_file", "/dev/x"),
		with("mem", "mmapshared:/dev/x"), with("iomem", "mmaphuge:/huge/x"),
		with("cgroup", "x"), with("uid", "0"), with("output", "/dev/x"), with("trigger", "true"), with("aux-path", "/"),
		with("ioengine", "sg"), with("ioengine", "io_uring_cmd"), with("ioengine", "external:/x.so"),
		with("ioengine", "exec"),
		with("ioengine", "net"), with("ioengine", "libaio,psync"), with("ioengine", "splice"),
		with("ioengine", "LIBAIO"),
		with("ioengine", "falloc"), with("ioengine", "filedelete"), with("ioengine", "ftruncate"),
		with("ioengine", "rdma"),
		with("BS", "4k"), with("brand_new_option", "1"), with("", "1"), with(" bs", "4k"), with("bs ", "4k"),
		with("--rw", "write"),
		with("RW", "write"), with("rw ", "write"), with("rw=write", ""),
	} {
		if OnlyReads(p) {
			t.Errorf("%v is taken for a job that only reads", p)
		}
	}
}

// No parameter that is known to write may be added to the list.
func TestHarmlessIsHarmless(t *testing.T) {
	for _, key := range harmless() {
		for _, c := range []string{"verify", "trim", "exec", "replay", "unlink", "write_iolog", "fallocate",
			"overwrite", "create_on"} {
			if len(key) >= len(c) && key[:len(c)] == c {
				t.Errorf("%s is among the harmless options", key)
			}
		}
	}
}
