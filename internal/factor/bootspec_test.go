package factor

import (
	"reflect"
	"testing"

	"headroom/internal/target"
)

func TestLevelsOfABootBecomeItsSpec(t *testing.T) {
	got := BootSpec(map[string]string{
		"cmdline:slub_debug": "FZPU", "cmdline:quiet": "", "cmdline:mitigations": Absent, "cmdline:audit": Found,
		"kernel:": "6.1.0-47-amd64", "guest:iothreads": "4", "sysctl:vm.dirty_ratio": "10",
	})
	want := target.BootSpec{
		Arguments: []string{"quiet", "slub_debug=FZPU"}, Without: []string{"mitigations"}, Kernel: "6.1.0-47-amd64",
		Machine: map[string]string{"iothreads": "4"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := BootSpec(map[string]string{"sysctl:vm.dirty_ratio": "10"}); !reflect.DeepEqual(got, target.BootSpec{}) {
		t.Errorf("%+v", got)
	}
}

func TestLevelsOfTheLoadChangeACopy(t *testing.T) {
	params := map[string]string{"bs": "4k", "iodepth": "1"}
	levels := map[string]string{"job:iodepth": "32", "job:rate_iops": Found, "env:LD_PRELOAD": "x.so",
		"sysctl:vm.swappiness": "1"}
	if got := LoadParams(params, levels); got["iodepth"] != "32" || got["bs"] != "4k" || len(got) != 2 ||
		params["iodepth"] != "1" {
		t.Errorf("%v, and the original %v", got, params)
	}
	if got := LoadEnvironment(levels); !reflect.DeepEqual(got, []string{"LD_PRELOAD=x.so"}) {
		t.Errorf("%v", got)
	}
}
