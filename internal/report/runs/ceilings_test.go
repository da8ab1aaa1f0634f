package runs

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
	"github.com/headroom/headroom/internal/summary"
)

// sweepBelow is a run of reads at several depths on a drive of PCIe 3.0 x4 (3.60 GB/s), with the bandwidth of each.
func sweepBelow(bandwidth map[string]float64, samples ...float64) (lab.Run, []lab.Repetition) {
	run := lab.Run{ID: "5KQ4M2ZD9A", Suite: "sweep", Status: lab.Complete, Arms: []lab.Arm{{ID: "a1", Role: "storage"}}}
	run.Targets = []lab.RunTarget{{Role: "storage", Target: "local",
		Place: lab.Place{Kind: lab.Device, Path: "/dev/nvme0n1", Disks: []string{"nvme0n1"}},
		Facts: []lab.Fact{
			{Key: "disk.under-test.name", Value: "nvme0n1"},
			{Key: "disk.under-test.pci.address", Value: "0000:41:00.0"},
			{Key: "disk.under-test.pci.link.speed", Value: "8.0 GT/s PCIe"},
			{Key: "disk.under-test.pci.link.width", Value: "4"},
			{Key: "pci.payload", About: "0000:41:00.0", Value: "256"},
		}}}
	var all []lab.Repetition
	for _, depth := range slices.Sorted(maps.Keys(bandwidth)) {
		id := "c" + depth
		run.Cells = append(run.Cells, lab.Cell{ID: id, Arm: "a1", Job: "read",
			Params: map[string]string{"rw": "read", "bs": "1M", "iodepth": depth, "direct": "1"}})
		for n := range 3 {
			v := bandwidth[depth] * (1 + float64(n)/500)
			rep := lab.Repetition{Cell: id, Number: n + 1,
				Values: map[string]float64{"read.bandwidth": v, "read.iops": v / (1 << 20)}}
			if n == 0 {
				rep.Series = []lab.Series{{Metric: "read.bandwidth", Interval: 1, Values: samples}}
			}
			all = append(all, rep)
		}
	}
	return run, all
}

func summarizeAll(t *testing.T, run lab.Run, all []lab.Repetition) summary.Run {
	t.Helper()
	s, err := summary.Of(run, func(yield func(lab.Repetition, error) bool) {
		for _, r := range all {
			if !yield(r, nil) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestCeilingsOfARun(t *testing.T) {
	run, all := sweepBelow(map[string]float64{"1": 1.2e9, "8": 3.42e9, "32": 3.45e9, "64": 3.44e9})
	s := summarizeAll(t, run, all)
	m := s.Cells[0].Metrics["read.bandwidth"]
	if m.Ceiling == nil || math.Abs(m.Ceiling.Value-3.6009e9) > 1e6 || m.Ceiling.Limiter != "PCIe 3.0 x4 of nvme0n1" ||
		m.Headroom == nil ||
		math.Abs(*m.Headroom-(1-1.2024e9/3.6009e9)) > 0.001 {
		t.Fatalf("%+v", m)
	}
	if iops := s.Cells[0].Metrics["read.iops"]; iops.Ceiling == nil || math.Abs(iops.Ceiling.Value-3434) > 1 {
		t.Errorf("%+v", iops.Ceiling)
	}
	if len(s.Plateaus) != 1 || !slices.Equal(s.Plateaus[0].Cells, []string{"c32", "c64", "c8"}) ||
		!s.Plateaus[0].Reached {
		t.Fatalf("%+v", s.Plateaus)
	}
	for _, format := range []string{"table", "html", "markdown", "json"} {
		text := strings.Join(
			strings.Fields(written(t, format, []summary.Run{s}, report.Options{Options: render.Options{Width: 200}})),
			" ")
		for _, want := range []string{"PCIe 3.0 x4 of nvme0n1", "8 GT/s x 4 lanes x 128/130",
			"Reads stop at 3.46 GB/s in 3 of 4 cells, whatever iodepth: 96% of the 3.60 GB/s"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", format, want)
			}
		}
	}
	if table := written(t, "table", []summary.Run{s},
		report.Options{Options: render.Options{Width: 120}}); !strings.Contains(
		table, "ceiling") ||
		!strings.Contains(table, "33%") {
		t.Errorf("no column of shares:\n%s", table)
	}
}

func TestImpossibleResultsAreMarked(t *testing.T) {
	for name, c := range map[string]struct {
		mean    float64
		samples []float64
		want    []string
	}{
		"possible":           {3.5e9, []float64{3.4e9, 3.9e9}, nil},
		"impossible samples": {2e9, []float64{1e8, 9e9, 8e9}, []string{"samples-above-ceiling 1"}},
		"impossible":         {9e9, []float64{9e9}, []string{"above-ceiling 3", "samples-above-ceiling 1"}},
	} {
		run, all := sweepBelow(map[string]float64{"8": c.mean}, c.samples...)
		s := summarizeAll(t, run, all)
		var got []string
		for _, w := range s.Cells[0].Warnings {
			got = append(got, fmt.Sprintf("%s %d", w.Code, w.Repetitions))
			if !w.Tainted("read.bandwidth") {
				t.Errorf("%s: %s taints %v", name, w.Code, w.Taints)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
