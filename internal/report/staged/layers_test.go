package staged

import (
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/layers"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/stat"
)

func TestLayersAreTold(t *testing.T) {
	stack := []layers.Layer{{Name: "/dev/sdb", Run: "A"}, {Name: "/dev/dm-1", Run: "B"}, {Name: "/srv", Run: "C"}}
	cell := layers.Cell{Title: "randread 4k q1",
		Cell: lab.Cell{ID: "r", Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "1"}}}
	measured := func(crypt float64) []layers.Measured {
		var all []layers.Measured
		for block := 1; block <= 6; block++ {
			noise := 1e-6 * float64(block%3)
			for layer, mean := range []float64{100e-6, 100e-6 + crypt, 100e-6 + crypt + 1e-6*float64(block%2)} {
				all = append(all, layers.Measured{Layer: layer, Cell: "r", Block: block,
					Values: map[string]float64{"read.latency.mean": mean + noise*float64(1-layer)}})
			}
		}
		return all
	}
	for _, c := range []struct {
		crypt float64
		want  []string
	}{
		{30e-6, []string{"randread 4k q1: from /dev/sdb to /srv +2", "most of it at /dev/dm-1 (+2", "██",
			"the parts add up to", "headroom report A -o page.html"}},
		{0, []string{"does not stand out from the noise"}},
	} {
		var b strings.Builder
		d := layers.Compare(stack, []layers.Cell{cell}, measured(c.crypt), nil,
			[]string{"2 cells that write were left out"})
		if err := render.Text(&b, Layers(d, report.Options{Options: render.Options{Width: 80}}),
			render.Options{Width: 80}); err != nil {
			t.Fatal(err)
		}
		unwrapped := strings.Join(strings.Fields(b.String()), " ")
		for _, w := range append(c.want, "! 2 cells that write were left out") {
			if !strings.Contains(unwrapped, w) {
				t.Errorf("nothing of %q in\n%s", w, b.String())
			}
		}
		for line := range strings.Lines(b.String()) {
			if prose.Columns(strings.TrimRight(line, "\n")) > 80 {
				t.Errorf("wider than the terminal: %q", line)
			}
		}
	}
}

// Two layers add the same, and so neither most of it.
func TestTheLargestPart(t *testing.T) {
	step := func(layer int, added float64) layers.Step {
		return layers.Step{Title: "randread 4k q1", Metric: "read.latency.mean", Unit: lab.Seconds, Layer: layer, N: 6,
			Added: &stat.Estimate{Value: added}, Clear: true}
	}
	d := layers.Document{Layers: []layers.Layer{{Name: "/dev/sdb"}, {Name: "/dev/dm-1"}, {Name: "/srv"}},
		Steps: []layers.Step{step(0, 0), step(1, 31e-6), step(2, 30e-6)}}
	for added, want := range map[float64]string{30e-6: "most of it at /dev/dm-1",
		31e-6: "the largest part of it at /dev/dm-1"} {
		d.Steps[2].Added.Value = added
		if got := layersHeadline(d, nil); !strings.Contains(got, want) {
			t.Errorf("%s: want %s", got, want)
		}
	}
}

// A number's warnings are marked next to it, also in the answer, and explained once below.
func TestWarningsOfLayersAreMarked(t *testing.T) {
	stack := []layers.Layer{{Name: "/dev/loop0", Run: "A"}, {Name: "/srv", Run: "B"}}
	cell := layers.Cell{Title: "randread 4k q1",
		Cell: lab.Cell{ID: "r", Params: map[string]string{"rw": "randread", "bs": "4k", "iodepth": "1"}}}
	var measured []layers.Measured
	for block := 1; block <= 6; block++ {
		for layer, mean := range []float64{7e-6, 30e-6} {
			measured = append(measured, layers.Measured{Layer: layer, Cell: "r", Block: block,
				Values: map[string]float64{"read.latency.mean": mean + 1e-6*float64(block%2), "cpu.per_io": 2e-6}})
		}
	}
	cached := lab.Warning{Code: "page-cache", Text: "memory answered 99% of the reads", Taints: []string{"read.*"}}
	for _, c := range []struct {
		warnings       []layers.LayerWarning
		want, unwanted []string
	}{
		{[]layers.LayerWarning{{Layer: 0, CellWarning: cached.In("r", 2, 6)}},
			[]string{"on average !1", "/dev/loop0 7.50 µs !1", "!1 page-cache: memory answered 99% of the reads " +
				"[randread 4k q1 on /dev/loop0 (2 of 6 repetitions)]", "added"},
			[]string{"2.00 µs !1", "30.5 µs !1", "differs"}},
		{[]layers.LayerWarning{{Layer: 0, CellWarning: cached.In("r", 6, 6)},
			{Layer: 1, CellWarning: cached.In("r", 6, 6)}},
			[]string{"read latency mean !1 layer", "[randread 4k q1 on /dev/loop0 and randread 4k q1 on /srv]"},
			[]string{"!2", "µs !1"}},
		{[]layers.LayerWarning{{Layer: 1, CellWarning: layers.NotStacked("/srv", "/dev/loop0").In("", 0, 0)}},
			[]string{"/srv differs from /dev/loop0 by +23.0 µs on average",
				"!1 not-stacked: /srv is not stored on /dev/loop0, so", "mean differs"},
			[]string{"average !1", "added", "µs !1"}},
	} {
		var b strings.Builder
		d := layers.Compare(stack, []layers.Cell{cell}, measured, c.warnings, nil)
		for _, width := range []int{40, 80, 160} {
			b.Reset()
			if err := render.Text(&b, Layers(d, report.Options{Options: render.Options{Width: width}}),
				render.Options{Width: width}); err !=
				nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(b.String()) {
				if prose.Columns(strings.TrimRight(line, "\n")) > width {
					t.Errorf("wider than a terminal of %d: %q", width, line)
				}
			}
		}
		unwrapped := strings.Join(strings.Fields(b.String()), " ")
		for _, w := range c.want {
			if !strings.Contains(unwrapped, w) {
				t.Errorf("nothing of %q in\n%s", w, b.String())
			}
		}
		for _, w := range c.unwanted {
			if strings.Contains(unwrapped, w) {
				t.Errorf("%q in\n%s", w, b.String())
			}
		}
	}
}
