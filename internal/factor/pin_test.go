package factor

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/factor/scheme"
)

// A load is put beside the adapter, away from it, on a node by its number, or on CPUs.
func TestPlacement(t *testing.T) {
	two := Locality{Node: 1, Nodes: []int{0, 1}}
	for _, c := range []struct {
		factor, level string
		at            Locality
		want          string
	}{
		{"pin:node", "nic", two, "numactl --cpunodebind=1 --membind=1"},
		{"pin:node", "other", two, "numactl --cpunodebind=0 --membind=0"},
		{"pin:node", "3", Locality{Node: -1}, "numactl --cpunodebind=3 --membind=3"},
		{"pin:cpus", "0,1,2,7", two, "taskset -c 0-2,7"},
		{"pin:node", scheme.Found, Locality{Node: -1}, ""},
		{"job:parallel", "8", two, ""},
	} {
		got, err := Placement(map[string]string{c.factor: c.level}, c.at)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s=%s: %q, %v", c.factor, c.level, got, err)
		}
	}
	for level, at := range map[string]Locality{"nic": {Node: -1, Nodes: []int{0}},
		"other": {Node: 0, Nodes: []int{0}}} {
		if got, err := Placement(map[string]string{"pin:node": level}, at); err == nil {
			t.Errorf("%s of %+v: %q", level, at, got)
		}
	}
	for name, level := range map[string]string{"node": "near", "cpus": "a", "memory": "0"} {
		if checkPin(name, level) == nil {
			t.Errorf("pin:%s=%s is taken", name, level)
		}
	}
}
