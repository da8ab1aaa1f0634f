package profile

import "testing"

func TestOperations(t *testing.T) {
	for name, c := range map[string]struct {
		counted Counted
		block   float64
		want    float64
	}{
		"libaio, while fio looks at counters": {
			Counted{Calls: 60, CallBytes: 9000, DeviceBytes: 4096 * 500}, 4096, 500},
		"libaio of short blocks": {
			Counted{Calls: 60, CallBytes: 9000, DeviceBytes: 512 * 9000}, 512, 9000},
		"psync from the page cache": {
			Counted{Calls: 560, CallBytes: 4096*500 + 9000}, 4096, 500 + 9000/4096.},
		"psync, direct": {Counted{Calls: 500, CallBytes: 4096 * 500, DeviceBytes: 4096 * 500}, 4096,
			500},
		"buffered writes of less than a page": {Counted{Calls: 500, CallBytes: 512 * 500, DeviceBytes: 4096 * 500}, 512,
			500},
		"io_uring from the page cache": {Counted{Calls: 60, CallBytes: 9000, Completions: 700}, 4096, 700},
		"trims":                        {Counted{Calls: 60, CallBytes: 9000, TrimmedBytes: 64 << 20}, 1 << 20, 64},
		"blocks that differ, psync":    {Counted{Calls: 500, CallBytes: 5 << 20, DeviceBytes: 5 << 20}, 0, 500},
		"blocks that differ, libaio":   {Counted{Calls: 60, CallBytes: 9000, DeviceBytes: 5 << 20}, 0, 0},
		"nothing":                      {Counted{}, 4096, 0},
	} {
		if got := c.counted.Operations(c.block); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if n := (Counted{Calls: 60, CallBytes: 9000}).Operations(4096); n >= 1 {
		t.Errorf("what fio does in its own affairs is %v I/Os", n)
	}
	if rate := (&Counted{Seconds: 2, DeviceBytes: 4096 * 500}).Rate(4096); rate != 250 {
		t.Errorf("%v a second", rate)
	}
	if rate := (*Counted)(nil).Rate(4096); rate != 0 {
		t.Errorf("of nothing counted %v a second", rate)
	}
}
