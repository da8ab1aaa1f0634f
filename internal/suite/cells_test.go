package suite

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/load/fio"
	"github.com/headroom/headroom/internal/testing/golden"
)

// decoded reads a suite that must be valid.
func decoded(t testing.TB, text string) Suite {
	t.Helper()
	s, err := Decode("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// oneJob expands a suite of one job, on a directory.
func oneJob(t testing.TB, job string) []Cell {
	t.Helper()
	cells, err := decoded(t, "version: 1\njobs:\n  - {name: job, "+job+"}\n").Cells(lab.Directory, false)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// describe prints all fields of cells, one cell per line.
func describe(cells []Cell) string {
	var b strings.Builder
	for _, c := range cells {
		steps := make([]string, len(c.Steps))
		for i, s := range c.Steps {
			steps[i] = string(s)
		}
		params := make([]string, 0, len(c.Params))
		for _, k := range slices.Sorted(maps.Keys(c.Params)) {
			params = append(params, k+"="+c.Params[k])
		}
		fmt.Fprintf(&b, "%s | %s | %s | %s | n=%d %v | %s\n", c.ID, c.Job, c.Title(), strings.Join(steps, " "),
			c.Repetitions, c.Runtime, strings.Join(params, " "))
	}
	return b.String()
}

// compareGolden compares with a file of testdata/golden.
func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	golden.Equal(t, filepath.Join("testdata", "golden", name), got)
}

// TestBuiltin compares every built-in suite, expanded for every place that it runs on, with its saved expansion. A
// changed preset makes old runs incomparable, so it must not change by accident.
func TestBuiltin(t *testing.T) {
	listed, err := files.ReadDir("files")
	if err != nil || len(listed) != len(Builtin()) {
		t.Fatalf("%d files are embedded (%v) and %d names listed", len(listed), err, len(Builtin()))
	}
	for _, name := range Builtin() {
		t.Run(name, func(t *testing.T) {
			s, err := Load(name)
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != name || s.Title == "" || s.Source == "" {
				t.Errorf("%q: name %q, title %q, source %q", name, s.Name, s.Title, s.Source)
			}
			for _, place := range []lab.PlaceKind{lab.Device, lab.Directory, lab.NoPlace} {
				if place == lab.NoPlace && s.Place != Network {
					continue // without fio jobs it may run there; nothing depends on it
				}
				if s.Place != Any && s.Place != Place(place) {
					if _, err := s.Cells(place, false); lab.KindOf(err) != lab.Usage {
						t.Errorf("on a %s: %v, want a usage error", place, err)
					}
					continue
				}
				cells, err := s.Cells(place, false)
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range cells {
					if neverWritten(c) || sharesBlocks(c) {
						t.Errorf("%s on a %s reads what was never written, or what another process has just read", c.ID,
							place)
					}
					if complaint := CheckParams(c.Params); c.Engine == lab.EngineFio && complaint != "" {
						t.Errorf("%s could not be gone on with after an import: %s", c.ID, complaint)
					}
					if c.Engine == lab.EngineFio && c.Params["randrepeat"] != "0" {
						t.Errorf("%s repeats the same offsets in every run", c.ID)
					}
				}
				compareGolden(t, name+"-"+string(place)+".txt", describe(cells))
			}
		})
	}
}

// The header of a run from elsewhere may not set more than a suite.
func TestCheckParams(t *testing.T) {
	for _, bad := range []map[string]string{{"exec_prerun": "touch /x"}, {"exec_pre": "touch /x"},
		{"ioengine": "external:/x.so"}, {"write_iolog": "/x"}, {"--exec_prerun": "x"},
		{"rw": "read", "filename": "/etc/shadow\nexec_prerun=x"}} {
		if CheckParams(bad) == "" {
			t.Errorf("%v is let through", bad)
		}
	}
}

func TestAsPublished(t *testing.T) {
	s, err := Load("nvme")
	if err != nil {
		t.Fatal(err)
	}
	cells, err := s.Cells(lab.Device, true)
	if err != nil {
		t.Fatal(err)
	}
	compareGolden(t, "nvme-as-published.txt", describe(cells))
	var unwritten []string
	for _, c := range cells {
		if neverWritten(c) {
			unwritten = append(unwritten, c.ID)
		}
	}
	if want := []string{"randread_fsync", "randread_jobs4", "randread", "read"}; !slices.Equal(unwritten, want) {
		t.Errorf("never written: %v, want %v", unwritten, want)
	}
	if p, err := s.AsPublished(); err != nil || p.Order != Sequential || s.Order != Interleaved {
		t.Errorf("as published the order is %q (%v), else %q", p.Order, err, s.Order)
	}
	s, err = Load("nfs")
	if err != nil {
		t.Fatal(err)
	}
	if cells, err = s.Cells(lab.Directory, true); err != nil || cells[0].Params["direct"] != "0" {
		t.Errorf("nfs as published: %v, %v", cells[0].Params, err)
	}
	if again, _ := s.Cells(lab.Directory, false); again[0].Params["direct"] != "1" {
		t.Error("expanding a suite as published changed the suite")
	}
	s, err = Load("quick")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Cells(lab.Directory, true); lab.KindOf(err) != lab.Usage {
		t.Errorf("quick as published: %v, want a usage error", err)
	}
}

// TestTalosCommands compares the suite nvme with the commands that the report prints.
func TestTalosCommands(t *testing.T) {
	s, err := Load("nvme")
	if err != nil {
		t.Fatal(err)
	}
	cells, err := s.Cells(lab.Device, true)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(fixtures(t, "testdata/talos.txt")["talos.txt"]), "\n")
	if len(lines) != len(cells) || len(lines) != 8 {
		t.Fatalf("the report has %d commands, the suite %d cells", len(lines), len(cells))
	}
	for i, line := range lines {
		want := map[string]string{}
		for _, arg := range strings.Fields(line)[1:] {
			key, value, ok := strings.Cut(strings.TrimLeft(arg, "-"), "=")
			if !ok {
				value = "1"
			}
			want[key] = value
		}
		if want["name"] != cells[i].ID {
			t.Errorf("the report's test %d is %s, the suite's %s", i+1, want["name"], cells[i].ID)
		}
		for _, ours := range []string{"name", "filename", "output-format"} {
			delete(want, ours)
		}
		if !maps.Equal(want, cells[i].Params) {
			t.Errorf("%s: the suite has %v, the report %v", cells[i].ID, cells[i].Params, want)
		}
	}
}

func TestLoadUnknown(t *testing.T) {
	_, err := Load("quik")
	if lab.KindOf(err) != lab.Usage || !strings.Contains(err.Error(), "quik") {
		t.Errorf("got %v", err)
	}
	if _, err = Load("../../etc/passwd"); lab.KindOf(err) != lab.Usage {
		t.Errorf("got %v", err)
	}
}

func TestStepsFor(t *testing.T) {
	for _, c := range []struct {
		place  lab.PlaceKind
		rw     string
		engine string
		want   []lab.Step
	}{
		{lab.Device, "read", "libaio", []lab.Step{lab.Fill, lab.Load}},
		{lab.Device, "randread:8", "libaio", []lab.Step{lab.Fill, lab.Load}},
		{lab.Device, "", "libaio", []lab.Step{lab.Fill, lab.Load}},
		{lab.Device, "write", "libaio", []lab.Step{lab.Discard, lab.Load}},
		{lab.Device, "randwrite", "", []lab.Step{lab.Discard, lab.Load}},
		{lab.Device, "randrw", "libaio", []lab.Step{lab.Fill, lab.Load}},
		{lab.Device, "readwrite", "libaio", []lab.Step{lab.Fill, lab.Load}},
		{lab.Device, "randtrim", "libaio", []lab.Step{lab.Fill, lab.Load}},
		{lab.Directory, "read", "libaio", []lab.Step{lab.Layout, lab.Load, lab.CleanUp}},
		{lab.Directory, "randwrite", "libaio", []lab.Step{lab.Layout, lab.Load, lab.CleanUp}},
		{lab.Device, "read", "null", []lab.Step{lab.Load}},
		{lab.Directory, "write", "null", []lab.Step{lab.Load}},
		{lab.NoPlace, "read", "libaio", []lab.Step{lab.Load}},
	} {
		if got := StepsFor(c.place, map[string]string{"rw": c.rw, "ioengine": c.engine}); !slices.Equal(got, c.want) {
			t.Errorf("%s on a %s with %q: %v, want %v", c.rw, c.place, c.engine, got, c.want)
		}
	}
}

func TestStepsPerPlace(t *testing.T) {
	s := decoded(t, `
version: 1
jobs:
  - {name: a, fio: {rw: randwrite}, steps: {device: [fill, load]}}
`)
	for place, want := range map[lab.PlaceKind][]lab.Step{
		lab.Device:    {lab.Fill, lab.Load},
		lab.Directory: {lab.Layout, lab.Load, lab.CleanUp},
	} {
		cells, err := s.Cells(place, false)
		if err != nil || !slices.Equal(cells[0].Steps, want) {
			t.Errorf("on a %s: %v (%v), want %v", place, cells[0].Steps, err, want)
		}
	}
}

func TestMatrix(t *testing.T) {
	cells := oneJob(t,
		`fio: {bs: 8k}, matrix: {--rw: [randread, randwrite], iodepth: [1, 32], buffer_pattern: ["a/b", "a_b"]}`)
	var ids []string
	for _, c := range cells {
		ids = append(ids, c.ID)
	}
	want := []string{
		"job-randread-q1-buffer_patterna_b", "job-randread-q1-buffer_patterna_b-2",
		"job-randread-q32-buffer_patterna_b", "job-randread-q32-buffer_patterna_b-2",
		"job-randwrite-q1-buffer_patterna_b", "job-randwrite-q1-buffer_patterna_b-2",
		"job-randwrite-q32-buffer_patterna_b", "job-randwrite-q32-buffer_patterna_b-2",
	}
	if !slices.Equal(ids, want) {
		t.Errorf("got %q", ids)
	}
	cells[0].Params["bs"] = "changed"
	cells[0].Steps[0] = "changed"
	if cells[1].Params["bs"] != "8k" || cells[1].Steps[0] != lab.Layout {
		t.Error("cells share their parameters or their steps")
	}
}

func TestDivide(t *testing.T) {
	cells := oneJob(t, `fio: {rw: read}, matrix: {numjobs: [1, 3, 16]}, divide: true`)
	for i, want := range []string{"", "33%", "6%"} {
		p := cells[i].Params
		if p["size"] != want || p["offset_increment"] != want {
			t.Errorf("%s: size %q, offset_increment %q, want %q", cells[i].ID, p["size"], p["offset_increment"], want)
		}
		if sharesBlocks(cells[i]) {
			t.Errorf("%s shares blocks", cells[i].ID)
		}
	}
	if cells = oneJob(t, `fio: {rw: read, numjobs: 2}`); !sharesBlocks(cells[0]) {
		t.Error("two sequential processes on one file share no blocks")
	}
	if cells = oneJob(t, `fio: {rw: randread, numjobs: 2}`); sharesBlocks(cells[0]) {
		t.Error("two random processes on one file share blocks")
	}
}

func TestTitleAndRuntime(t *testing.T) {
	for fio, want := range map[string]struct {
		title   string
		runtime time.Duration
	}{
		"rw: randread": {"randread 4k q1", 0},
		"rw: read, bs: 1M, iodepth: 8, runtime: 5m, ramp_time: 10, startdelay: 500ms": {"read 1m q8", 5*time.Minute +
			10500*time.Millisecond},
		"rw: randrw, rwmixread: 70, bs: 8k, numjobs: 4, runtime: 2500ms": {"randrw 70/30 8k q1 x4",
			2500 * time.Millisecond},
		"rw: rw, rwmixwrite: 10, bsrange: 4k-8k":                     {"rw 90/10 q1", 0},
		"rw: readwrite, bs: 4k":                                      {"readwrite 50/50 4k q1", 0},
		"rw: write, fsync: 8, sync: dsync, fdatasync: 1, runtime: 0": {"write 4k q1 fsync=8 fdatasync sync=dsync", 0},
		"rw: randwrite, rate_iops: 1000, fsync: 0":                   {"randwrite 4k q1 1000/s", 0},
	} {
		c := oneJob(t, "fio: {"+fio+"}")[0]
		if c.Title() != want.title || c.Runtime != want.runtime {
			t.Errorf("%s: %q for %v, want %q for %v", fio, c.Title(), c.Runtime, want.title, want.runtime)
		}
	}
}

func TestDecode(t *testing.T) {
	s := decoded(t, `
version: 1
name: my-suite
title: Mine
source: me
place: directory
order: shuffled
seed: 42
repetitions: 5
interval: 2s
size: 1.5g
defaults: {--blocksize: 4k, direct: true, time_based: false, ioengine: io_uring, runtime: 5}
jobs:
  - {name: a, title: The first, fio: {rw: randread, direct: 0, some_future_option: on}, repetitions: 2}
  - {name: b, fio: {readwrite: readwrite}}
`)
	if s.Name != "my-suite" || s.Title != "Mine" || s.Source != "me" || s.Place != Directory || s.Order != Shuffled ||
		s.Seed != 42 ||
		s.Repetitions != 5 || s.Interval != 2*time.Second || s.Size != 3<<29 || s.Text == "" {
		t.Errorf("got %+v", s)
	}
	cells, err := s.Cells(lab.Directory, false)
	if err != nil {
		t.Fatal(err)
	}
	const want = "a | a | randread 4k q1 | layout load clean-up | n=2 5s | " +
		"bs=4k direct=0 ioengine=io_uring runtime=5 rw=randread some_future_option=on time_based=0\n" +
		"b | b | readwrite 50/50 4k q1 | layout load clean-up | n=5 5s | " +
		"bs=4k direct=1 ioengine=io_uring runtime=5 rw=readwrite time_based=0\n"
	if got := describe(cells); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if cells[0].JobTitle != "The first" || s.Jobs[1].Line != 15 {
		t.Errorf("title %q, line %d", cells[0].JobTitle, s.Jobs[1].Line)
	}
	if s := decoded(t, "version: 1\njobs: [{name: a, fio: {rw: read}}]\n"); s.Name != "test" ||
		s.Order != Interleaved || s.Place != Any {
		t.Errorf("the defaults are %+v", s)
	}
}

func FuzzDecode(f *testing.F) {
	for _, data := range fixtures(f, "testdata/bad/*.yaml") {
		f.Add(data)
	}
	for _, data := range fixtures(f, "files/*.yaml") {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		s, err := Decode("fuzz.yaml", []byte(data))
		if err != nil {
			if lab.KindOf(err) != lab.Usage || err.Error() == "" {
				t.Fatalf("not a usage error: %v", err)
			}
			return
		}
		place := lab.PlaceKind(s.Place)
		if s.Place == Any {
			place = lab.Device
		}
		checkExpansion(t, s, place)
	})
}

// checkExpansion checks the properties that the cells of every valid suite have.
func checkExpansion(t *testing.T, s Suite, place lab.PlaceKind) {
	t.Helper()
	cells, err := s.Cells(place, false)
	if err != nil || len(cells) == 0 || len(cells) > maxCells {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	taken := map[string]bool{}
	for _, c := range cells {
		if taken[c.ID] || len(c.ID) > 200 || fileName(c.ID) != strings.ReplaceAll(c.ID, "-", "_") {
			t.Fatalf("the id %q is taken, or no file name", c.ID)
		}
		taken[c.ID] = true
		if !slices.Contains(c.Steps, lab.Load) || c.Repetitions < 1 || c.Title() == "" {
			t.Fatalf("not a cell to carry out: %+v", c)
		}
		if err := fio.CheckParams(c.Params); c.Engine == lab.EngineFio && err != nil {
			t.Fatalf("fio's command line would misread %v: %v", c.Params, err)
		}
	}
	w := EstimateWrites(cells, 1<<30, takes(Bandwidth{Most: 1e9}))
	if EstimateTime(cells, s.Interval) < 0 || !(w.Total() >= 0) {
		t.Fatalf("%v and %+v", EstimateTime(cells, s.Interval), w)
	}
	if _, err := s.Commands(place, false); err != nil {
		t.Fatal(err)
	}
}

// neverWritten reports whether the cell reads blocks that its own steps leave unwritten, so that its reads measure less
// than the drive: the warning "never-written".
func neverWritten(c Cell) bool {
	return lab.ByFio(c.Engine) && reads(c.Params) && c.LayoutKind() == layoutDiscarded
}

// sharesBlocks reports whether several processes access the same blocks in order, so that all but the first find them
// in some cache (fio #1501, #1416): 55 GB/s from a PCIe 3 drive. The key divide, or offset_increment, separates them.
func sharesBlocks(c Cell) bool {
	return lab.ByFio(c.Engine) && touchesStorage(c.Params) && sequential(c.Params) && processes(c.Params) > 1 &&
		c.Params["offset_increment"] == ""
}

// sequential reports whether each process of a load accesses its blocks in order.
func sequential(params map[string]string) bool {
	base, _, _ := strings.Cut(params["rw"], ":")
	switch base {
	case "", "read", "write", "rw", "readwrite", "trim", "trimwrite":
		return true
	}
	return false
}

// TestTitleOfPartialParameters checks that parameters that an import does not state have no default.
func TestTitleOfPartialParameters(t *testing.T) {
	for want, c := range map[string]lab.Cell{
		"randread 4k q1":     {Params: map[string]string{"rw": "randread"}},
		"randread":           {Partial: true, Params: map[string]string{"rw": "randread"}},
		"randrw 50/50 4k q1": {Params: map[string]string{"rw": "randrw"}},
		"randrw 8k":          {Partial: true, Params: map[string]string{"rw": "randrw", "bs": "8k"}},
		"randrw 70/30 q8": {Partial: true, Params: map[string]string{"rw": "randrw", "rwmixread": "70",
			"iodepth": "8"}},
		"seqwrite": {Partial: true, Job: "seqwrite"},
	} {
		if got := TitleOf(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
