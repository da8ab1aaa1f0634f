package staged

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/document"
	"github.com/headroom/headroom/internal/factor/mount"
	"github.com/headroom/headroom/internal/interference"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/layers"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/summary"
	"github.com/headroom/headroom/internal/testing/rendertest"
)

// stackedLayers is a disk, with encryption and a file system above, where memory answered some reads.
func stackedLayers() layers.Document {
	stack := []layers.Layer{{Name: "/dev/disk/by-id/nvme-SERIAL-1", Run: "A"}, {Name: "/dev/mapper/crypt", Run: "B"},
		{Name: "/srv", Run: "C"}}
	cell := layers.Cell{Title: "randread 4k q1",
		Cell: lab.Cell{ID: "r", Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "1"}}}
	var measured []layers.Measured
	for block := 1; block <= 6; block++ {
		for layer, mean := range []float64{100e-6, 130e-6, 128e-6} {
			measured = append(measured, layers.Measured{Layer: layer, Cell: "r", Block: block,
				Values: map[string]float64{"read.latency.mean": mean + 1e-6*float64((block+layer)%3)}})
		}
	}
	cached := layers.LayerWarning{Layer: 2, CellWarning: lab.Warning{Code: "page-cache",
		Text: "memory answered 9% of the reads", Taints: []string{"read.*"}}.In("r", 2, 6)}
	return layers.Compare(stack, []layers.Cell{cell}, measured, []layers.LayerWarning{cached},
		[]string{"2 cells that write were left out"})
}

// sharedCeiling is three loads, of which two share a link.
func sharedCeiling() interference.Document {
	groups := []interference.Group{{Name: "application", Kind: "network", Over: []string{"10.0.1.1"}},
		{Name: "backup", Kind: "network", Over: []string{"10.0.2.1"}},
		{Name: "data", Kind: "storage", Over: []string{"/dev/nvme0n1"}}}
	var measured []interference.Measured
	for block := 1; block <= 8; block++ {
		v := 1 + 0.002*float64(block%3)
		for _, rates := range []map[int]float64{{0: 9e9}, {1: 8e9}, {2: 20e9}, {0: 5e9, 1: 4.5e9}, {0: 9e9, 2: 20e9},
			{1: 8e9, 2: 20e9}, {0: 5e9, 1: 4.5e9, 2: 20e9}} {
			m := interference.Measured{Block: block, Rates: map[int]float64{}}
			for g, rate := range rates {
				m.Rates[g] = rate * v
			}
			measured = append(measured, m)
		}
	}
	lossy := interference.GroupWarning{Groups: []int{0, 1}, About: 0, CountedWarning: lab.Warning{Code: "retransmits",
		Text: "0.2% of the segments were sent again", Taints: []string{"send.*"}}.In("", 3, 8).CountedWarning}
	d := interference.Analyse(groups, measured, []interference.GroupWarning{lossy}, nil,
		interference.Terms{Margin: interference.DefaultMargin, Alpha: interference.DefaultAlpha, Passes: 8})
	d.Run = "7KQ4M2X9TD"
	return d
}

// fastestOfTwo is a mount over two paths.
func fastestOfTwo() FastestMount {
	m, _ := mount.ParseNFS("10.0.1.1,10.0.2.1:/srv vers=4.2,proto=tcp,max_connect=2")
	return FastestMount{Stage: "TCP multipath", Won: 1, Loads: 2, Mounts: 2, Files: m.ConfigFiles(false)}
}

// Readers who must not see the addresses of a mount get no configuration to paste.
func TestMountsForOthers(t *testing.T) {
	for _, b := range NFS(oddStages(), fastestOfTwo(), report.Options{}).Blocks {
		if _, pasted := b.(document.Entries); pasted {
			t.Errorf("%+v", b)
		}
	}
}

// Each kind of result of stages comes in every format.
func TestStagedInEveryFormat(t *testing.T) {
	for name, build := range map[string]func(report.Options) document.Document{
		"layers":       func(o report.Options) document.Document { return Layers(stackedLayers(), o) },
		"interference": func(o report.Options) document.Document { return Interference(sharedCeiling(), o) },
		"ladder":       func(o report.Options) document.Document { return Ladder(sharedLink(), o) },
		"ladder-guest": func(o report.Options) document.Document { return Ladder(throughGuest(), o) },
		"stages":       func(o report.Options) document.Document { return Stages(asPublished(t), o) },
		"stages-odd":   func(o report.Options) document.Document { return Stages(oddStages(), o) },
		"nfs": func(o report.Options) document.Document {
			o.Serials = true
			return NFS(oddStages(), fastestOfTwo(), o)
		},
		"soak":     func(o report.Options) document.Document { return Soak(fullCache(), o) },
		"soak-odd": func(o report.Options) document.Document { return Soak(oddSoak(), o) },
	} {
		rendertest.InEveryFormat(t, name, func(o render.Options) document.Document {
			return build(report.Options{Options: o})
		})
	}
}

// stagedPages are documents with pictures, usual and unusual.
func stagedPages(t *testing.T) map[string]document.Document {
	return map[string]document.Document{
		"stages":     Stages(asPublished(t), report.Options{}),
		"odd stages": Stages(oddStages(), report.Options{}),
	}
}

// Pictures of usual and unusual results stay within their frames.
func TestStagedPictures(t *testing.T) { rendertest.CheckPictures(t, stagedPages(t)) }

// A document without serial numbers has none in any block.
func TestDocumentsForOthersHaveNoSerials(t *testing.T) {
	run := lab.Run{Targets: []lab.RunTarget{
		{Facts: []lab.Fact{{Key: "disk.serial", About: "nvme0n1", Value: "SERIAL-1"}}}}}
	for _, f := range render.Formats() {
		for hidden, d := range map[bool]document.Document{false: Layers(stackedLayers(), report.Options{}),
			true: summary.WithoutSerials(Layers(stackedLayers(), report.Options{}), run)} {
			var b strings.Builder
			if err := f.Write(&b, d, render.Options{Width: 200}); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(b.String(), "SERIAL") == hidden {
				t.Errorf("%s, hidden %t:\n%s", f.Name, hidden, b.String())
			}
		}
	}
}

// A table has no interval that says nothing; its data have it all the same.
func TestAWideIntervalOfAShareIsLeftOut(t *testing.T) {
	kept := 0.63
	for hi, want := range map[float64]string{0.7: "[60%, 70%]", 386: ""} {
		c := keptCell(interference.Kept{Value: &kept, Bounds: stat.BoundsOf(0.6, hi)})
		if c.Interval != want || *c.Hi != hi {
			t.Errorf("%q up to %g, want %q", c.Interval, *c.Hi, want)
		}
	}
}
