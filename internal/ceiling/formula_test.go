package ceiling

import (
	"math"
	"strings"
	"testing"
)

// agree reports whether two rates agree within a share.
func agree(got, want, share float64) bool { return math.Abs(got/want-1) <= share }

// Published: a lane after encoding is 0.25, 0.5, 0.985, 1.969, 3.938 and 7.563 GB/s (PCI-SIG's tables, flit mode last);
// the Talos report's kind of drive on x4 of generation 4 reaches 7.0 to 7.2 GB/s at best; 100 Gbit/s Ethernet does not
// fit x8 of generation 3.
func TestPCIe(t *testing.T) {
	for _, c := range []struct {
		gt             float64
		lanes, payload int
		value, most    float64
	}{
		{2.5, 1, 128, 0.25e9 * 128 / 152, 0.25e9 * 128 / 148},
		{5, 1, 0, 0.5e9 * 256 / 280, 0.5e9},
		{8, 1, 0, 0.9846e9 * 256 / 280, 0.9846e9},
		{8, 8, 256, 7.20e9, 7.306e9},
		{8, 8, 128, 6.633e9, 6.816e9},
		{8, 8, 512, 7.524e9, 7.581e9},
		{8, 16, 256, 14.40e9, 14.61e9},
		{16, 4, 256, 7.20e9, 7.306e9},
		{32, 4, 256, 14.40e9, 14.61e9},
		{64, 16, 0, 118e9 * 256 / 272, 118e9},
	} {
		value, most, derivation := PCIe(c.gt, c.lanes, c.payload)
		if !agree(value, c.value, 0.001) || !agree(most, c.most, 0.001) {
			t.Errorf("PCIe(%g, %d, %d) = %g, %g, want %g, %g", c.gt, c.lanes, c.payload, value, most, c.value, c.most)
		}
		if assumed := strings.Contains(derivation, "assumed"); assumed != (c.payload == 0) {
			t.Errorf("payload %d: %s", c.payload, derivation)
		}
		if !strings.Contains(derivation, figure(value)) {
			t.Errorf("the derivation lacks its result: %s", derivation)
		}
	}
	for _, bad := range []struct {
		gt    float64
		lanes int
	}{{0, 4}, {8, 0}, {9, 4}, {math.NaN(), 4}} {
		if v, _, _ := PCIe(bad.gt, bad.lanes, 256); v != 0 {
			t.Errorf("PCIe(%g, %d) = %g", bad.gt, bad.lanes, v)
		}
	}
}

// Published: 949 Mbit/s (MTU 1500 without timestamps), 941 with, 990 with jumbo frames.
func TestEthernet(t *testing.T) {
	for _, c := range []struct {
		bits        float64
		mtu         int
		value, most float64
	}{
		{1e9, 1500, 941.5e6 / 8, 949.3e6 / 8},
		{10e9, 9000, 9900.4e6 / 8, 9913.7e6 / 8},
		{200e9, 0, 188.3e9 / 8, 200e9 / 8},
	} {
		value, most, _ := Ethernet(c.bits, c.mtu)
		if !agree(value, c.value, 0.0005) || !agree(most, c.most, 0.0005) {
			t.Errorf("Ethernet(%g, %d) = %g, %g, want %g, %g", c.bits, c.mtu, value, most, c.value, c.most)
		}
	}
	if v, _, _ := Ethernet(-1, 1500); v != 0 {
		t.Errorf("an unknown speed of -1 gives %g", v)
	}
}

// Published: the table of effective rates of infiniband.jp; advancedclustering.com's "InfiniBand Types and Speeds".
func TestInfiniBand(t *testing.T) {
	for text, want := range map[string]float64{
		"10 Gb/sec (4X)": 8, "10 Gb/sec (4X SDR)": 8, "2.5 Gb/sec (1X)": 2, "20 Gb/sec (4X DDR)": 16,
		"40 Gb/sec (4X QDR)":   32,
		"40 Gb/sec (4X FDR10)": 40, "56 Gb/sec (4X FDR)": 54.545, "100 Gb/sec (4X EDR)": 100,
		"200 Gb/sec (4X HDR)": 200,
		"100 Gb/sec (2X HDR)": 100, "400 Gb/sec (4X NDR)": 400, "800 Gb/sec (4X XDR)": 800, "120 Gb/sec (12X QDR)": 96,
	} {
		p, ok := ParsePortRate(text)
		got, derivation := InfiniBand(p, false)
		if !ok || !agree(got*8/1e9, want, 0.0001) {
			t.Errorf("%s carries %g Gbit/s, want %g (%s)", text, got*8/1e9, want, derivation)
		}
	}
	p, _ := ParsePortRate("40 Gb/sec (4X QDR)")
	if got, _ := InfiniBand(p, true); got != 5e9 {
		t.Errorf("a RoCE port of 40 Gbit/s carries %g", got)
	}
}

// Published: 600 MB/s of SATA 3 and 1200 of SAS 3 after encoding, 2400 of SAS 4; SATA drives are sold with up to 560.
func TestDiskLink(t *testing.T) {
	for text, want := range map[string][2]float64{
		"6.0 Gbps": {594.1e6, 600e6}, "3.0 Gbps": {297.1e6, 300e6}, "1.5 Gbps": {148.5e6, 150e6},
		"6.0 Gbit": {579.3e6, 600e6}, "12.0 Gbit": {1158.7e6, 1200e6}, "22.5 Gbit": {2317.3e6, 2400e6},
	} {
		l, ok := ParseDiskLink(text)
		value, most, _ := l.Rate()
		if !ok || !agree(value, want[0], 0.001) || !agree(most, want[1], 0.001) {
			t.Errorf("%s carries %g, at most %g, want %v", text, value, most, want)
		}
	}
}

func TestTextForms(t *testing.T) {
	for text, want := range map[string]float64{
		"16.0 GT/s PCIe": 16, "2.5 GT/s PCIe": 2.5, "8 GT/s": 8, "64.0 GT/s PCIe": 64, "Unknown": 0, "Unknown speed": 0,
		"": 0, "133 MHz PCI-X": 0, "7 GT/s": 0, "8.0 GT/second": 0, "-8 GT/s": 0,
	} {
		if got, ok := ParseSpeed(text); ok != (want > 0) || ok && got != want {
			t.Errorf("ParseSpeed(%q) = %g, %v", text, got, ok)
		}
	}
	for text, want := range map[string]int{"4": 4, "16\n": 16, "0": 0, "255": 0, "63": 0, "": 0, "3": 0} {
		if got, ok := ParseWidth(text); ok != (want > 0) || ok && got != want {
			t.Errorf("ParseWidth(%q) = %d, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "Unknown", "40 Gb/sec", "40 Gb/sec (4X ZDR)", "0 Gb/sec (4X QDR)",
		"40 Gb/sec (X QDR)",
		"40 Gb/sec (-4X QDR)", "NaN Gb/sec (4X QDR)", "40 Gb/sec (4X QDR"} {
		if p, ok := ParsePortRate(text); ok {
			t.Errorf("ParsePortRate(%q) = %v", text, p)
		}
	}
	for _, text := range []string{"", "<unknown>", "Unknown", "6.0", "6.0 GB/s", "12.0 Gbps", "7 Gbit"} {
		if l, ok := ParseDiskLink(text); ok {
			t.Errorf("ParseDiskLink(%q) = %v", text, l)
		}
	}
}

// From any input, the result is a finite positive rate or nothing.
func FuzzTextForms(f *testing.F) {
	for _, seed := range []string{"16.0 GT/s PCIe", "Unknown", "40 Gb/sec (4X QDR)", "6.0 Gbps", "22.5 Gbit",
		"8 GT/s", "1e400 GT/s",
		"259:0 rbps=2097152 wbps=max riops=max wiops=120; 8:16 rbps=1",
		"blkio.throttle.read_bps_device 8:16 1048576; 8:0 1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		sound := func(what string, v float64) {
			if !(v > 0) || math.IsInf(v, 0) {
				t.Errorf("%s of %q is %g", what, text, v)
			}
		}
		if gt, ok := ParseSpeed(text); ok {
			value, most, _ := PCIe(gt, 4, 256)
			sound("PCIe", value)
			sound("PCIe", most)
		}
		if p, ok := ParsePortRate(text); ok {
			value, _ := InfiniBand(p, false)
			sound("InfiniBand", value)
			value, _ = InfiniBand(p, true)
			sound("RoCE", value)
		}
		if l, ok := ParseDiskLink(text); ok {
			value, _, _ := l.Rate()
			sound("disk link", value)
		}
		for _, l := range parseGroupLimits(text) {
			sound("limit", l.value)
		}
	})
}
