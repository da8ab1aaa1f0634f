package factor

import (
	"reflect"
	"testing"

	"github.com/headroom/headroom/internal/factor/scheme"
	"github.com/headroom/headroom/internal/factor/spot"
	"github.com/headroom/headroom/internal/host"
)

func TestLevelsOfABootBecomeItsSpec(t *testing.T) {
	got := BootSpec(map[string]string{
		"cmdline:slub_debug": "FZPU", "cmdline:quiet": "", "cmdline:mitigations": spot.Absent,
		"cmdline:audit": scheme.Found,
		"kernel:":       "6.1.0-47-amd64", "guest:iothreads": "4", "sysctl:vm.dirty_ratio": "10",
	})
	want := host.BootSpec{
		Arguments: []string{"quiet", "slub_debug=FZPU"}, Without: []string{"mitigations"}, Kernel: "6.1.0-47-amd64",
		Machine: map[string]string{"iothreads": "4"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if got := BootSpec(map[string]string{"sysctl:vm.dirty_ratio": "10"}); !reflect.DeepEqual(got, host.BootSpec{}) {
		t.Errorf("%+v", got)
	}
}
