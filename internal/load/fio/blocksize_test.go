package fio

import "testing"

func TestBlockSize(t *testing.T) {
	for _, c := range []struct {
		rw, bs string
		want   int64
	}{
		{"", "", 4096}, {"randread", "8k", 8 << 10}, {"read:8", "1m", 1 << 20}, {"randrw", "4k", 4096},
		{"randrw", "4k,64k", 0}, {"readwrite", "4k,64k", 0}, {"randwrite", "4k,64k", 64 << 10},
		{"write", ",64k", 64 << 10}, {"read", ",64k", 4096}, {"randtrim", "4k,64k,1m", 1 << 20},
		{"trim", "4k,64k", 64 << 10}, {"trimwrite", "4k,64k", 64 << 10}, {"randtrimwrite", "4k,64k,512", 0},
		{"read", "many", 0},
	} {
		if got := BlockSize(map[string]string{"rw": c.rw, "bs": c.bs}); got != c.want {
			t.Errorf("rw=%s bs=%s: %d, want %d", c.rw, c.bs, got, c.want)
		}
	}
	if !Trims(map[string]string{"rw": "randtrimwrite"}) || Trims(map[string]string{"rw": "randrw"}) {
		t.Error("what trims, or does not, is not known")
	}
	for name, want := range map[string]int64{"blocksize": 0, "bssplit": 0, "bsrange": 0, "blocksize_range": 0} {
		value := "4k-8k"
		if got := BlockSize(map[string]string{"rw": "read", name: value}); got != want {
			t.Errorf("%s=%s: %d", name, value, got)
		}
	}
}

func TestCountedByKernel(t *testing.T) {
	for _, c := range []struct {
		engine, direct string
		want           bool
	}{{"", "", true}, {"psync", "0", true}, {"io_uring", "0", true}, {"libaio", "1", true}, {"libaio", "0", false},
		{"libaio", "", false}, {"mmap", "", false}, {"null", "1", false}} {
		if got := CountedByKernel(map[string]string{"ioengine": c.engine, "direct": c.direct}); got != c.want {
			t.Errorf("%s, direct %q: %v", c.engine, c.direct, got)
		}
	}
}
