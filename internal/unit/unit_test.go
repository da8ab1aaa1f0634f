package unit

import (
	"math"
	"testing"
	"time"
)

func TestScaling(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{IOPS(812), "812"},
		{IOPS(66137), "66.1k"},
		{IOPS(999_600), "1.00M"},
		{IOPS(1_023_456), "1.02M"},
		{IOPS(0.25), "0.25"},
		{Bandwidth(258 << 20), "258 MiB/s"},
		{Bandwidth(3.98 * (1 << 30)), "3.98 GiB/s"},
		{Bytes(1023.9 * 1024), "1.00 MiB"},
		{Bytes(512), "512 B"},
		{Capacity(7.68e12), "7.68 TB"},
		{Latency(14.2e-6), "14.2 µs"},
		{Latency(0), "0 ns"},
		{Latency(2.3), "2.30 s"},
		{Percent(0.0004), "0.04%"},
		{Percent(0.012), "1.2%"},
		{Percent(-0.622), "-62%"},
		{Duration(400 * time.Millisecond), "0.4s"},
		{Duration(580 * time.Second), "9m 40s"},
		{Duration(65 * time.Minute), "1h 05m"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for in, want := range map[string]int64{"4k": 4096, "4KiB": 4000, "2ki": 2000, "4kb": 4096, "1M": 1 << 20,
		"1.5g": 3 << 29, "512": 512, "0": 0} {
		if got, err := ParseBytes(in); err != nil || got != want {
			t.Errorf("ParseBytes(%q) = %d, %v; want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "k", "4x", "-1", "1e99", "NaN", "9999999p", "4i", "inf"} {
		if got, err := ParseBytes(in); err == nil {
			t.Errorf("ParseBytes(%q) = %d, want an error", in, got)
		}
	}
}

func TestParseIEC(t *testing.T) {
	for in, want := range map[string]float64{"4 KiB": 4096, "4 kB": 4000, "4KB": 4000, "1.0 GiB": 1 << 30,
		"813.8 MiB": 813.8 * (1 << 20), "1 MB": 1e6, "512 B": 512, "0B": 0} {
		if got, err := ParseIEC(in); err != nil || got != want {
			t.Errorf("ParseIEC(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "B", "4", "4k", "4 XB", "-1 MiB", "4 iB", "NaN B", "inf B", "9999999 PB"} {
		if got, err := ParseIEC(in); err == nil {
			t.Errorf("ParseIEC(%q) = %v, want an error", in, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"60": time.Minute, "60s": time.Minute, "5m": 5 * time.Minute,
		"500ms": 500 * time.Millisecond, "20us": 20 * time.Microsecond, "0.5": 500 * time.Millisecond,
		"1h": time.Hour} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "s", "-3", "4x", "NaN"} {
		if got, err := ParseDuration(in); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", in, got)
		}
	}
}

func TestParseShare(t *testing.T) {
	for in, want := range map[string]float64{"3%": 0.03, "0.03": 0.03, " 50% ": 0.5, "1e-6": 1e-6,
		"99.9999%": 0.999999} {
		if got, err := ParseShare(in); err != nil || math.Abs(got-want) > 1e-15 {
			t.Errorf("ParseShare(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "%", "0", "-3%", "100%", "1", "NaN", "NaN%", "Inf", "-Inf", "1e-17", "1e-300%",
		"9e-7", "0x1p-60"} {
		if got, err := ParseShare(in); err == nil {
			t.Errorf("ParseShare(%q) = %v, want an error", in, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"4k", "1.5GiB", "60s", "500ms", "1e5", "kib", "NaN"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := ParseBytes(s); err == nil && n < 0 {
			t.Errorf("ParseBytes(%q) = %d", s, n)
		}
		if v, err := ParseIEC(s); err == nil && !(v >= 0) {
			t.Errorf("ParseIEC(%q) = %v", s, v)
		}
		if d, err := ParseDuration(s); err == nil && d < 0 {
			t.Errorf("ParseDuration(%q) = %v", s, d)
		}
	})
}

func TestValue(t *testing.T) {
	for want, got := range map[string]string{
		"66.1k": Value("1/s", 66_100), "12": Value("count", 12), "1.00 GiB/s": Value("B/s", 1<<30),
		"9.41 Gbit/s": Value("bit/s", 9.41e9), "14.2 µs": Value("s", 14.2e-6), "14.2 µs/op": Value("s/op", 14.2e-6),
		"3.00 mJ/op": Value("J/op", 0.003), "62%": Value("1", 0.62), "512 MiB": Value("B", 512<<20),
		"123500 tx": Value("tx", 123_456), "3%": RoundPercent(0.03), "1.2%": RoundPercent(0.012),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
