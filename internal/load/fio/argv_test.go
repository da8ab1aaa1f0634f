package fio

import (
	"strings"
	"testing"
	"time"
)

func TestArgv(t *testing.T) {
	for _, c := range []struct {
		name   string
		params map[string]string
		opt    Options
		want   string
	}{
		// A test of the Talos report.
		{"randwrite_jobs4", map[string]string{"filename": "/dev/nvme0n1", "ioengine": "libaio", "direct": "1",
			"runtime":    "60",
			"randrepeat": "0", "rw": "randwrite", "bs": "4k", "numjobs": "4", "iodepth": "128", "group_reporting": ""},
			Options{},
			"fio --name=randwrite_jobs4 --output-format=json+ --filename=/dev/nvme0n1 --ioengine=libaio --direct=1 " +
				"--rw=randwrite --bs=4k --iodepth=128 --numjobs=4 --runtime=60 --group_reporting --randrepeat=0"},
		{"a b", map[string]string{"rw": "read", "name": "no", "time_based": "1", "direct": "", "thread": "0",
			"filename": "x"},
			Options{Filename: "/mnt/f", Output: "o.json", Logs: "log", Progress: true},
			"fio --name=a b --output-format=json+ --filename=/mnt/f --direct= --rw=read --time_based --thread=0 " +
				"--write_iops_log=log --write_bw_log=log --log_avg_msec=1000 --per_job_logs=0 " +
				"--output=o.json --eta=always --eta-newline=1"},
		{"own logs", map[string]string{"rw": "read", "write_lat_log": "mine"}, Options{Logs: "log", Progress: true},
			"fio --name=own logs --output-format=json+ --rw=read --write_lat_log=mine"},
		{"read", map[string]string{"rw": "read", "bs": "1m", "filename": "no"},
			Options{Together: []string{"/dev/sda", "/dev/disk/by-path/pci-0:1"}, Output: "o"},
			`fio --name=global --output-format=json+ --rw=read --bs=1m --output=o --name=read --filename=/dev/sda --name=read --filename=/dev/disk/by-path/pci-0\:1`},
		{"nothing", nil, Options{}, "fio --name=nothing --output-format=json+"},
	} {
		if got := strings.Join(Argv(c.name, c.params, c.opt), " "); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// ParseArgv parses the output of Argv.
func TestArgvAndBack(t *testing.T) {
	params := map[string]string{"rw": "randread", "bs": "4KB", "time_based": "1", "runtime": "60",
		"description": "a = b", "stonewall": "0"}
	sections := ParseArgv(Argv("x", params, Options{Output: "o", Progress: true}))
	if len(sections) != 1 || sections[0].Name != "x" || len(sections[0].Params) != len(params) {
		t.Fatalf("got %v", sections)
	}
	for k, v := range params {
		if sections[0].Params[k] != v {
			t.Errorf("%s is %q, want %q", k, sections[0].Params[k], v)
		}
	}
}

func TestRuntimes(t *testing.T) {
	for value, want := range map[string]time.Duration{"60": time.Minute, "1m": time.Minute,
		"500ms": 500 * time.Millisecond, "x": 0, "": 0} {
		if got := WantedRuntime(map[string]string{"runtime": value}); got != want {
			t.Errorf("runtime=%s is %v, want %v", value, got, want)
		}
	}
	if got := WantedRuntime(map[string]string{"timeout": "5", "ramp_time": "9"}); got != 5*time.Second {
		t.Errorf("timeout=5 is %v", got)
	}
	if got := WantedRuntime(nil); got != 0 {
		t.Errorf("without a runtime it is %v", got)
	}
	if got := Ramp(map[string]string{"ramp_time": "2s"}); got != 2*time.Second {
		t.Errorf("the ramp is %v", got)
	}
}

func TestCheckParams(t *testing.T) {
	if err := CheckParams(map[string]string{"rw": "read", "hugepage-size": "4m", "ss_dur": "1"}); err != nil {
		t.Error(err)
	}
	for _, key := range []string{"output", "trigger", "client", "", "-rw", "rw=read", "bs size", "a\nb"} {
		if err := CheckParams(map[string]string{key: "x"}); err == nil {
			t.Errorf("%q is taken for a parameter", key)
		}
	}
	if err := CheckParams(map[string]string{"description": "a\nrw=write"}); err == nil {
		t.Error("a value of two lines is taken")
	}
}
