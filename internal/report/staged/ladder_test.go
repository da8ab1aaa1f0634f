package staged

import (
	"math"
	"strings"
	"testing"

	"github.com/headroom/headroom/internal/ceiling"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/ladder"
	"github.com/headroom/headroom/internal/prose"
	"github.com/headroom/headroom/internal/render"
	"github.com/headroom/headroom/internal/report"
)

// sharedLink is a ladder of four drives behind a link that is slower than all four together.
func sharedLink() ladder.Document {
	disks := []string{"nvme0n1", "nvme1n1", "nvme2n1", "nvme3n1"}
	steps := []ladder.Step{{Rung: ladder.Rung{Name: "/dev/shm", Filesystem: "tmpfs", Kind: ladder.Memory,
		Places: []string{"/dev/shm"}, Jobs: 1, Run: "M"}}}
	rates := []float64{9.1e9}
	bound := func(v float64, limiter string) map[string][]ceiling.Ceiling {
		return map[string][]ceiling.Ceiling{
			"read": {{Metric: "read.bandwidth", Value: v, Most: math.Inf(1), Limiter: limiter}}}
	}
	var nodes []string
	for _, d := range disks {
		node := "/dev/" + d
		nodes = append(nodes, node)
		steps = append(steps, ladder.Step{Like: "same", Ceilings: bound(3.4e9, "PCIe 3.0 x4"),
			Rung: ladder.Rung{Name: node, Kind: ladder.Drive, Places: []string{node}, Disks: []string{d}, Jobs: 1,
				Run: strings.ToUpper(d)}})
		rates = append(rates, 3.2e9)
	}
	shared := bound(6.9e9, "PCIe 3.0 x8 uplink 0000:17:00.0")
	for _, r := range []struct {
		rung ladder.Rung
		rate float64
	}{
		{ladder.Rung{Name: "nvme0n1 … nvme3n1", Kind: ladder.DriveGroup, Places: nodes, Run: "ALL"}, 6.7e9},
		{ladder.Rung{Name: "/dev/md0", Kind: ladder.Volume, Places: []string{"/dev/md0"}, Run: "MD"}, 6.6e9},
		{ladder.Rung{Name: "/srv", Filesystem: "ext4", Kind: ladder.Files, Places: []string{"/srv"}, Run: "FS"}, 6.6e9},
	} {
		r.rung.Disks, r.rung.Jobs = disks, 4
		steps, rates = append(steps, ladder.Step{Rung: r.rung, Below: len(steps) - 1, Ceilings: shared}),
			append(rates, r.rate)
	}
	var measured []ladder.Measured
	for block := 1; block <= 6; block++ {
		for i, rate := range rates {
			measured = append(measured, ladder.Measured{Rung: i, Cell: "read", Block: block,
				Values: map[string]float64{"read.bandwidth": rate * (1 + 0.002*float64((block+i)%3))}})
		}
	}
	load := ladder.Load{Title: "read 1m q8",
		Cell: lab.Cell{ID: "read", Params: map[string]string{"rw": "read", "bs": "1m"}}}
	warnings := []ladder.RungWarning{{Rung: 5, CellWarning: lab.Warning{Code: "busy",
		Text: "something else used the disks", Taints: []string{"read.*"}}.In("read", 1, 6)}}
	return ladder.Analyze(steps, []ladder.Load{load}, measured, warnings, []string{"memory was measured with one job"},
		ladder.Terms{Margin: ladder.DefaultMargin, Alpha: ladder.DefaultAlpha, Passes: 6})
}

func TestALadderIsTold(t *testing.T) {
	for _, width := range []int{80, 160} {
		var b strings.Builder
		if err := render.Text(&b, Ladder(sharedLink(), report.Options{Options: render.Options{Width: width}}),
			render.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		unwrapped := strings.Join(strings.Fields(b.String()), " ")
		for _, w := range []string{"read 1m q8: nvme0n1 … nvme3n1 together reach 52%", "of the sum of each alone",
			"PCIe 3.0 x8 uplink 0000:17:00.0",
			"which they share !1", "at ceiling", "reaches", "!1 busy: something else used the disks",
			"! memory was measured with one job", "headroom report M -o page.html"} {
			if !strings.Contains(unwrapped, w) {
				t.Errorf("at %d nothing of %q in\n%s", width, w, b.String())
			}
		}
		for line := range strings.Lines(b.String()) {
			if prose.Columns(strings.TrimRight(line, "\n")) > width {
				t.Errorf("wider than the terminal of %d: %q", width, line)
			}
		}
		t.Log("\n" + b.String())
	}
}

// throughGuest is a file system, and two disks of a guest above it: one that is slow because of virtio, and one that is
// not.
func throughGuest() ladder.Document {
	places := []ladder.Rung{{Name: "/srv", Filesystem: "ext4", Kind: ladder.Files, Places: []string{"/srv"}, Run: "FS"}}
	for _, disk := range [][2]string{{"none", "null"}, {"data", "image"}} {
		places = append(places, ladder.Rung{Name: disk[0] + " in guest.yaml", Kind: ladder.Guest,
			Target: "qemu:/etc/guest.yaml", Interface: "virtio-blk", Backing: disk[1],
			Places: []string{"/dev/vda"}, Run: disk[0]})
	}
	rates := map[string][]float64{"read": {3e9, 9e9, 1e9}, "randread": {4e8, 1e8, 1e8}}
	var steps []ladder.Step
	var measured []ladder.Measured
	for i, r := range places {
		r.Jobs = 1
		s := ladder.Step{Rung: r, Below: -1}
		if r.Kind == ladder.Guest {
			s.Below, s.Like = 0, "virtio-blk"
		}
		steps = append(steps, s)
		for block := 1; block <= 6; block++ {
			for cell, of := range rates {
				v := of[i] * (1 + 0.002*float64((block+i)%3))
				measured = append(measured, ladder.Measured{Rung: i, Cell: cell, Block: block,
					Values: map[string]float64{"read.bandwidth": v, "read.iops": v / 4096}})
			}
		}
	}
	loads := []ladder.Load{
		{Title: "read 1m q8", Cell: lab.Cell{ID: "read", Params: map[string]string{"rw": "read", "bs": "1m"}}},
		{Title: "randread 4k q1",
			Cell: lab.Cell{ID: "randread", Params: map[string]string{"rw": "randread", "bs": "4k"}}}}
	warnings := []ladder.RungWarning{{Rung: 2,
		CellWarning: lab.Warning{Code: "emulated-guest", Text: "the guest is emulated"}.In("", 0, 0)}}
	return ladder.Analyze(steps, loads, measured, warnings, nil,
		ladder.Terms{Margin: ladder.DefaultMargin, Alpha: ladder.DefaultAlpha, Passes: 6})
}

// A warning about the whole run names no rung.
func TestAWarningAboutAWholeLadderIsSaidOfNoRung(t *testing.T) {
	d := sharedLink()
	d.Warnings = append(d.Warnings, ladder.RungWarning{Rung: ladder.WholeRun,
		CellWarning: lab.Warning{Code: "whole", Text: "of all that was measured", Taints: []string{"*"}}.In("", 0, 0)})
	var b strings.Builder
	if err := render.Text(&b, Ladder(d, report.Options{}), render.Options{Width: 160}); err != nil {
		t.Fatal(err)
	}
	if want := "whole: of all that was measured [the whole run]"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}

// The rungs of a guest are distinguished from the host's, each load has its cause, and nothing is repeated.
func TestALadderThroughAGuestIsTold(t *testing.T) {
	for _, width := range []int{80, 160} {
		var b strings.Builder
		if err := render.Text(&b, Ladder(throughGuest(), report.Options{Options: render.Options{Width: width}}),
			render.Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		unwrapped := strings.Join(strings.Fields(b.String()), " ")
		for _, w := range []string{"randread 4k q1: none in guest.yaml reaches 25%",
			"so it is virtio-blk itself, as QEMU carries it out",
			"read 1m q8: data in guest.yaml reaches 33%",
			"it is the storage behind it: virtio-blk itself is enough, for none in guest.yaml reaches 30",
			"short: virtio-blk", "short: storage", "emulated-guest: the guest is emulated"} {
			if !strings.Contains(unwrapped, w) {
				t.Errorf("at %d nothing of %q in\n%s", width, w, b.String())
			}
		}
		for _, w := range []string{"none in guest.yaml (virtio-blk, null)", "data in guest.yaml (virtio-blk, image)"} {
			if width == 160 && !strings.Contains(unwrapped, w) ||
				!strings.Contains(unwrapped, w[:len("none in guest.yaml (virtio-blk, ")]) {
				t.Errorf("at %d nothing of %q in\n%s", width, w, b.String())
			}
		}
		if n := strings.Count(unwrapped, "read 1m q8: data in guest.yaml reaches"); n != 1 {
			t.Errorf("said %d times:\n%s", n, b.String())
		}
		for line := range strings.Lines(b.String()) {
			if prose.Columns(strings.TrimRight(line, "\n")) > width {
				t.Errorf("wider than the terminal of %d: %q", width, line)
			}
		}
		t.Log("\n" + b.String())
	}
}
