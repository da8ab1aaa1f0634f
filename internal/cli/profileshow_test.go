package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/profile"
	"github.com/headroom/headroom/internal/profile/difference"
	"github.com/headroom/headroom/internal/report/profiled"
	"github.com/headroom/headroom/internal/store"
)

// countedCalls are calls of kernel functions in guests, by what was set there: "lazy1", "strict2".
func countedCalls(t *testing.T) map[string][]profile.CallCount {
	t.Helper()
	f, err := os.Open("../profile/layer/testdata/calls.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.Comment = '\t', '#'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string][]profile.CallCount{}
	for i, guest := range rows[0][1:] {
		for _, row := range rows[1:] {
			n, err := strconv.ParseUint(row[i+1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			calls[guest] = append(calls[guest], profile.CallCount{Function: row[0], Context: profile.InLoad, Count: n})
		}
	}
	return calls
}

// profiledGuests are loads of two arms with the calls of emulated guests, and stacks, stages and waits as one had.
func profiledGuests(t *testing.T) []profile.Load {
	t.Helper()
	calls := countedCalls(t)
	var loads []profile.Load
	for n := range 4 {
		for _, arm := range []string{"lazy", "strict"} {
			cell := lab.CellIn("randread", arm)
			recording := profile.Recording{Kernel: "6.1.0-56-amd64", Architecture: "x86_64", CPUs: 2}
			counted, timed := recording, recording
			counted.Traced = &profile.Traced{Seconds: 0.6, Bursts: 6, Functions: true,
				Calls: calls[arm+strconv.Itoa(1+n%2)]}
			flushes := uint64(5 + n)
			if arm == "strict" {
				flushes = uint64(400 + 10*n)
			}
			submit := []string{"fio:io_queue_event", "entry_SYSCALL_64_after_hwframe", "do_syscall_64", "submit_bio",
				"blk_mq_submit_bio", "nvme_queue_rq"}
			timed.Sampled = &profile.Sampled{Event: "cpu-clock", Hz: 199, Seconds: 4, Samples: 1592,
				Stacks: []profile.Stack{
					{Context: profile.InLoad, Task: "fio", Frames: submit, Count: uint64(500 - n)},
					{Context: profile.InLoad, Task: "fio", Frames: submit[:3], Count: uint64(200 + n)},
					{Context: profile.InHardirq, Task: "fio", Frames: []string{"asm_common_interrupt", "nvme_irq",
						"iommu_dma_unmap_page", "qi_submit_sync"}, Count: flushes},
					{Context: profile.InIdle, Task: "swapper", Frames: []string{"default_idle"}, Count: 800 - flushes}}}
			timed.Stages = &profile.Stages{Seconds: 1, Groups: []profile.StageGroup{{Device: "259:0",
				Direction: lab.Read, Bytes: 4096, Count: 900,
				InDevice: lab.Histogram{Nanoseconds: []int64{80_000, 90_000}, Counts: []uint64{600, 300}}}}}
			for _, l := range []profile.Load{{Part: profile.Calls, Recording: counted},
				{Part: profile.Time, Recording: timed}} {
				l.Cell, l.Arm, l.Number, l.Values = cell, arm, n+1, map[string]float64{"read.iops": 4000}
				loads = append(loads, l)
			}
		}
	}
	return loads
}

// profiledRunIn saves a run of two arms with its profiled loads in a store.
func profiledRunIn(t *testing.T, dir string) (id string) {
	t.Helper()
	run := lab.Run{ID: "PRF7KQ4M2X", Status: lab.Complete, Source: lab.Measured, Suite: "quick", Repetitions: 4,
		Created: time.Unix(1_700_000_000, 0),
		Targets: []lab.RunTarget{{Role: app.StorageRole, Target: "qemu:guest.yaml",
			Place: lab.Place{Kind: lab.Device, Path: "/dev/nvme0n1"},
			Facts: []lab.Fact{{Key: "vm.emulated", Value: "on"}}}}}
	for _, arm := range []string{"lazy", "strict"} {
		run.Arms = append(run.Arms, lab.Arm{ID: arm, Role: app.StorageRole,
			Levels: map[string]string{"cmdline:iommu.strict": arm}})
		run.Cells = append(run.Cells, lab.Cell{ID: lab.CellIn("randread", arm), Arm: arm, Job: "randread",
			Engine: lab.EngineFio, Params: map[string]string{"rw": "randread", "bs": "4k"}})
	}
	w, err := store.Open(dir).Create(run)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range run.Cells {
		for n := range 4 {
			if err := w.Repetition(lab.Repetition{Cell: c.ID, Number: n + 1,
				Values: map[string]float64{"read.iops": 4100 + float64(10*n)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	for _, l := range profiledGuests(t) {
		if err := w.Profile(l); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(func(*lab.Run) {}); err != nil {
		t.Fatal(err)
	}
	return run.ID
}

// headroomIn runs a command on a store.
func headroomIn(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), app.Environment{Args: append(append([]string{"headroom"}, args...), "--store", dir),
		Stdout: &out, Stderr: &errs})
	return out.String(), errs.String(), code
}

// A run's profiles are shown by arm and cell, for people and for programs.
func TestProfileShow(t *testing.T) {
	dir := t.TempDir()
	id := profiledRunIn(t, dir)
	out, errs, code := headroomIn(t, dir, "profile", "show", id)
	for _, want := range []string{"randread (lazy), kernel 6.1.0-56-amd64", "randread (strict)", "CPU per I/O !1",
		"DMA mapping and IOMMU", "read IOPS -", "headroom profile diff PRF7:lazy PRF7:strict", "!1 emulated-guest:",
		"not with times of hardware"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Fatalf("%d, no %q in\n%s%s", code, want, out, errs)
		}
	}
	out, errs, code = headroomIn(t, dir, "profile", "show", id+":strict", "--json")
	var d profiled.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Cells) != 1 ||
		d.Cells[0].Arm != "strict" ||
		d.Cells[0].Cell != "randread" || d.Cells[0].CallLoads != 4 || d.Cells[0].CPU == nil ||
		d.Cells[0].Requests[0].Count != 3600 || d.Warnings[0].Code != "emulated-guest" || d.Run != id {
		t.Errorf("%v, %d: %s%s", err, code, out, errs)
	}
}

// Stacks come in the formats of other programs.
func TestProfileShowStacks(t *testing.T) {
	dir := t.TempDir()
	id := profiledRunIn(t, dir)
	out, errs, code := headroomIn(t, dir, "profile", "show", id+":lazy", "--format", "folded")
	if code != 0 || !strings.HasPrefix(out, "fio;fio:io_queue_event;entry_SYSCALL_64_after_hwframe;") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	name := filepath.Join(dir, "both.pb.gz")
	if out, errs, code = headroomIn(t, dir, "profile", "show", id, "-o", name); code != 0 || out != "" {
		t.Fatalf("%d: %s%s", code, out, errs)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := pprof.ParseData(data)
	if err != nil || len(p.Sample) != 6 || p.Sample[5].Label["arm"][0] != "strict" {
		t.Errorf("%v: %v", err, p)
	}
	if out, errs, code = headroomIn(t, dir, "profile", "show", id, "--format", "speedscope"); code != 0 ||
		strings.Count(out, `"type":"sampled"`) != 2 {
		t.Errorf("%d: %s%s", code, out, errs)
	}
}

// What is not there is said, with what there is.
func TestProfileShowNothing(t *testing.T) {
	dir := t.TempDir()
	id := profiledRunIn(t, dir)
	for _, c := range []struct{ args, want string }{
		{id + " --cell randwrite", "there are randread"},
		{id + ":off", "it has lazy, strict"},
		{id + " --functions none", "--functions takes another value"},
		{id + " -o page.pdf", "end it in one of"},
	} {
		if _, errs, code := headroomIn(t, dir,
			append([]string{"profile", "show"}, strings.Fields(c.args)...)...); code == 0 ||
			!strings.Contains(errs, c.want) {
			t.Errorf("%s: %d, %s", c.args, code, errs)
		}
	}
}

// Two arms differ by the layer that was changed, which stands first.
func TestProfileDiff(t *testing.T) {
	dir := t.TempDir()
	id := profiledRunIn(t, dir)
	out, errs, code := headroomIn(t, dir, "profile", "diff", id+":lazy", id+":strict")
	for _, want := range []string{"A is PRF7:lazy, B is PRF7:strict\nOnly DMA mapping and IOMMU differs",
		"qi_submit_sync",
		"fq_ring_free", "appeared", "vanished", "!1 emulated-guest"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Fatalf("%d, no %q in\n%s%s", code, want, out, errs)
		}
	}
	if arms, errs, code := headroomIn(t, dir, "profile", "diff", id); code != 0 || arms != out {
		t.Errorf("%d: %s%s", code, arms, errs)
	}
	out, errs, code = headroomIn(t, dir, "profile", "diff", id+":lazy", id+":lazy")
	if code != 0 || !strings.Contains(out, "\nNothing differs: of ") {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	out, errs, code = headroomIn(t, dir, "profile", "diff", id, "--json")
	var d difference.Document
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Schema != difference.Schema ||
		d.Cells[0].Layers[0].ID != "dma" {
		t.Errorf("%v, %d: %s%s", err, code, out, errs)
	}
	page := filepath.Join(dir, "diff.html")
	if _, errs, code = headroomIn(t, dir, "profile", "diff", id, "-o", page); code != 0 {
		t.Fatal(errs)
	}
	data, err := os.ReadFile(page)
	if err != nil || !bytes.Contains(data, []byte(`<figure class="flame"`)) {
		t.Errorf("%v: no graph", err)
	}
	for _, c := range []struct{ args, want string }{
		{id + " " + id, "name one: " + id + ":lazy"}, {id + ":lazy", "name what to compare it with"},
		{id + " --alpha 2", "--alpha 2 is no probability"}, {id + " --format pprof", "there is no format pprof"}} {
		if _, errs, code := headroomIn(t, dir,
			append([]string{"profile", "diff"}, strings.Fields(c.args)...)...); code == 0 ||
			!strings.Contains(errs, c.want) {
			t.Errorf("%s: %d, %s", c.args, code, errs)
		}
	}
}

// A run says that it has profiled loads, on the terminal and on its page.
func TestShowNamesProfiles(t *testing.T) {
	dir := t.TempDir()
	id := profiledRunIn(t, dir)
	const want = "headroom profile show PRF7"
	if out, errs, code := headroomIn(t, dir, "show", id); code != 0 || !strings.Contains(out, want) {
		t.Errorf("%d: %s%s", code, out, errs)
	}
	page := filepath.Join(dir, "page.html")
	if _, errs, code := headroomIn(t, dir, "report", id, "-o", page); code != 0 {
		t.Fatal(errs)
	}
	if data, err := os.ReadFile(page); err != nil || !bytes.Contains(data, []byte(want)) {
		t.Errorf("%v: the page does not say it", err)
	}
}
