package ceiling

import (
	"math"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func TestParseLinks(t *testing.T) {
	for text, want := range map[string]Links{
		"32 Gbit/s":              {N: 1, Rate: 4e9, Name: "32 Gbit/s"},
		"2x32Gbit/s":             {N: 2, Rate: 4e9, Name: "32 Gbit/s"},
		"QDR":                    {N: 1, Rate: 4e9, Name: "QDR"},
		"2 x qdr":                {N: 2, Rate: 4e9, Name: "QDR"},
		"2 x 40 Gb/sec (4X QDR)": {N: 2, Rate: 4e9, Name: "QDR"},
		"4X EDR":                 {N: 1, Rate: 12.5e9, Name: "EDR"},
		"10 Gb/sec (1X QDR)":     {N: 1, Rate: 1e9, Name: "QDR 1X"},
		"4GB/s":                  {N: 1, Rate: 4e9, Name: "4 GB/s"},
		"2.5 GiB/s":              {N: 1, Rate: 2.5 * (1 << 30), Name: "2.5 GiB/s"},
		"PCIe 3.0 x8":            {N: 1, Rate: 7.2023e9, Most: 7.8769e9, Name: "PCIe 3.0 x8"},
		"2 x pcie 4 x16":         {N: 2, Rate: 28.809e9, Most: 31.508e9, Name: "PCIe 4.0 x16"},
		"PCIe 3.0 x7":            {},
		"PCIe 9.0 x8":            {},
		"65 x PCIe 3.0 x8":       {},
		"0Gbit/s":                {},
		"65x32Gbit/s":            {},
		"x":                      {},
		"fast":                   {},
		"-1 Gbit/s":              {},
		"1e300 Gbit/s":           {},
		"":                       {},
	} {
		l, err := ParseLinks(text)
		if want.N == 0 {
			if err == nil {
				t.Errorf("%q is %+v", text, l)
			}
			continue
		}
		if want.Most == 0 {
			want.Most = want.Rate
		}
		if err != nil || l.N != want.N || math.Abs(l.Rate/want.Rate-1) > 1e-4 || math.Abs(l.Most/want.Most-1) > 1e-4 ||
			l.Name != want.Name || l.Derivation == "" {
			t.Errorf("%q is %+v, %v, want %+v", text, l, err, want)
		}
	}
}

// Two ports of 4 GB/s each: a rate that one of them alone could carry is reported as such, more than both is
// impossible.
func TestWhatLinksCarry(t *testing.T) {
	two, err := ParseLinks("2xQDR")
	if err != nil {
		t.Fatal(err)
	}
	one, err := ParseLinks("QDR")
	if err != nil {
		t.Fatal(err)
	}
	slot, err := ParseLinks("PCIe 3.0 x8")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		links Links
		rate  float64
		want  string
	}{
		{two, 3.81e9, "at-one-of-several"}, {two, 3.5e9, ""}, {two, 4.2e9, ""}, {two, 6.8e9, ""},
		{two, 8.2e9, "above-ceiling"},
		{one, 3.81e9, ""}, {one, 4.2e9, "above-ceiling"}, {slot, 7.0e9, ""}, {slot, 7.5e9, ""},
		{slot, 8.3e9, "above-ceiling"},
	} {
		got := ""
		for _, w := range Check(map[string]float64{"read.bandwidth": c.rate}, nil, c.links.Ceilings()) {
			got += w.Code
		}
		if got != c.want {
			t.Errorf("%g B/s over %s: %q, want %q", c.rate, c.links, got, c.want)
		}
	}
	for _, c := range []struct {
		samples lab.Samples
		want    string
	}{
		{lab.Samples{Max: 14e9, Jobs: 8}, "maxima-above-ceiling"},
		{lab.Samples{Max: 14e9, Jobs: 1}, "samples-above-ceiling"}, {lab.Samples{Max: 8.5e9, Jobs: 8}, ""},
	} {
		got := ""
		for _, w := range CheckExtremes(map[string]lab.Samples{"write.bandwidth": c.samples},
			map[string]float64{"write.bandwidth": 3.3e9}, two.Ceilings()) {
			got += w.Code
			if !w.Tainted("write.iops") || w.Tainted("read.iops") || !strings.Contains(w.Text, "14.0 GB/s") ||
				!strings.Contains(w.Text, "8.00 GB/s") {
				t.Errorf("%+v", w)
			}
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.samples, got, c.want)
		}
	}
	if w := CheckExtremes(map[string]lab.Samples{"write.bandwidth": {Max: 14e9, Jobs: 8}}, nil, nil); w != nil {
		t.Errorf("without links: %v", w)
	}
}

func FuzzParseLinks(f *testing.F) {
	for _, text := range []string{"2x32Gbit/s", "2 x 40 Gb/sec (4X QDR)", "QDR", "4GB/s"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := ParseLinks(text)
		if err != nil {
			return
		}
		if l.N < 1 || l.N > maxLinks || !(l.Rate > 0) || math.IsInf(l.Rate, 0) || l.Name == "" {
			t.Errorf("%q is %+v", text, l)
		}
		for _, c := range l.Ceilings() {
			if !(c.Value > 0) || c.Limiter == "" || c.Derivation == "" {
				t.Errorf("%q: %+v", text, c)
			}
		}
	})
}
