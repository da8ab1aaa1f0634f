package factor

import (
	"reflect"
	"testing"

	"github.com/headroom/headroom/internal/factor/scheme"
)

func TestLevelsOfTheLoadChangeACopy(t *testing.T) {
	params := map[string]string{"bs": "4k", "iodepth": "1"}
	levels := map[string]string{"job:iodepth": "32", "job:rate_iops": scheme.Found, "env:LD_PRELOAD": "x.so",
		"sysctl:vm.swappiness": "1"}
	if got := JobParams(params, levels); got["iodepth"] != "32" || got["bs"] != "4k" || len(got) != 2 ||
		params["iodepth"] != "1" {
		t.Errorf("%v, and the original %v", got, params)
	}
	if got := Environment(levels); !reflect.DeepEqual(got, []string{"LD_PRELOAD=x.so"}) {
		t.Errorf("%v", got)
	}
}
