//go:build system

package ceiling

import (
	"os/exec"
	"testing"
)

// fio must be there and say how fast this machine copies.
func TestFioMeasuresRungs(t *testing.T) {
	measured := 0
	for _, r := range Rungs(-1) {
		if r.Name != "memcpy" && r.Name != "crc32c" {
			continue
		}
		out, err := exec.Command(r.Command[0], r.Command[1:]...).Output()
		if err != nil {
			t.Fatalf("%v: %v", r.Command, err)
		}
		r, err = r.Measured(ParseCopySpeeds(string(out)))
		if err != nil || r.Value <= 0 || r.Value > 1e13 {
			t.Errorf("%v: %v, %v", r.Command, r.Value, err)
		}
		t.Logf("%s: %s", r.Name, figure(r.Value))
		measured++
	}
	if measured != 2 {
		t.Fatalf("%d rungs measured", measured)
	}
}
