package reference

import (
	"slices"
	"testing"

	"github.com/headroom/headroom/internal/lab"
)

func find(t *testing.T, name, job string) (Reference, Result) {
	t.Helper()
	r, ok := Find(builtIns(t), Prefix+name)
	if !ok {
		t.Fatalf("no %s", name)
	}
	for _, result := range r.Results {
		if result.Job == job {
			return r, result
		}
	}
	t.Fatalf("%s has no job %s", name, job)
	return r, Result{}
}

// kbenchCell is kbench's job as a measured cell.
func kbenchCell(change map[string]string) lab.Cell {
	params := map[string]string{"rw": "randread", "bs": "4096", "iodepth": "64", "ioengine": "libaio", "direct": "1",
		"size": "10g", "verify": "0"}
	for k, v := range change {
		params[k] = v
	}
	return lab.Cell{Job: "read-rand-iops", Engine: "fio", Params: params}
}

func TestGrade(t *testing.T) {
	r, result := find(t, "kbench/samsung-850-pro", "read-rand-iops")
	drive := lab.Fact{Key: "disk.model", About: "sda", Value: "Samsung SSD 850 PRO 512GB"}
	other := lab.Fact{Key: "disk.model", About: "nvme0n1", Value: "SAMSUNG MZQL27T6HBLA-00A07"}
	place := lab.Place{Kind: lab.Device, Path: "/dev/sda", Disks: []string{"sda"}}
	for _, c := range []struct {
		name  string
		m     Measurement
		grade Grade // empty: nothing to compare
		first string
	}{
		{"the same drive, unknown machine", Measurement{kbenchCell(nil), place, []lab.Fact{drive, other}}, Close,
			"processor not stated"},
		{"another drive", Measurement{kbenchCell(nil), lab.Place{Kind: lab.Device, Disks: []string{"nvme0n1"}},
			[]lab.Fact{drive, other}}, OrderOfMagnitude,
			"drive Samsung 850 PRO 512 GB, here SAMSUNG MZQL27T6HBLA-00A07"},
		{"nothing known of the machine", Measurement{Cell: kbenchCell(nil), Place: place}, OrderOfMagnitude,
			"drive Samsung 850 PRO 512 GB, here not known"},
		{"another depth", Measurement{kbenchCell(map[string]string{"iodepth": "32"}), place, []lab.Fact{drive}},
			OrderOfMagnitude, "iodepth 64, here 32"},
		{"more jobs", Measurement{kbenchCell(map[string]string{"numjobs": "4"}), place, []lab.Fact{drive}},
			OrderOfMagnitude, "numjobs 1, here 4"},
		{"one at a time", Measurement{kbenchCell(map[string]string{"iodepth": "1"}), place, []lab.Fact{drive}}, "", ""},
		{"buffered", Measurement{kbenchCell(map[string]string{"direct": "0"}), place, []lab.Fact{drive}}, "", ""},
		{"flushed", Measurement{kbenchCell(map[string]string{"fsync": "1"}), place, []lab.Fact{drive}}, "", ""},
		{"another engine of fio", Measurement{kbenchCell(map[string]string{"ioengine": "io_uring"}), place,
			[]lab.Fact{drive}}, Close, "ioengine libaio, here io_uring"},
		{"the drive as a run's header has it", Measurement{kbenchCell(nil), place,
			[]lab.Fact{{Key: "disk.under-test.model", Value: drive.Value}}}, Close, "processor not stated"},
		{"writes", Measurement{kbenchCell(map[string]string{"rw": "randwrite"}), place, []lab.Fact{drive}}, "", ""},
		{"other pieces", Measurement{kbenchCell(map[string]string{"bs": "8k"}), place, []lab.Fact{drive}}, "", ""},
		{"another load generator", Measurement{lab.Cell{Engine: "dd", Params: kbenchCell(nil).Params}, place,
			[]lab.Fact{drive}}, "", ""},
	} {
		got, ok := r.Compare(result, c.m)
		if ok != (c.grade != "") || got.Grade != c.grade {
			t.Errorf("%s: %q %v, want %q", c.name, got.Grade, ok, c.grade)
			continue
		}
		if c.first != "" && (len(got.Differences) == 0 || got.Differences[0].String() != c.first) {
			t.Errorf("%s: %v, want %q first", c.name, got.Differences, c.first)
		}
	}
}

// The best grade requires a source that states everything.
func TestGradeSameConditions(t *testing.T) {
	r, result := find(t, "kbench/samsung-850-pro", "read-rand-iops")
	r.Facts = []lab.Fact{{Key: "cpu.model", Value: "A CPU"}, {Key: "kernel.release", Value: "5.4.0"}}
	m := Measurement{kbenchCell(nil), lab.Place{Kind: lab.Device},
		[]lab.Fact{{Key: "disk.model", About: "sda", Value: "Samsung SSD 850 PRO 512GB"},
			{Key: "cpu.model", Value: "A CPU"}, {Key: "kernel.release", Value: "5.4.17-generic"}}}
	if got, ok := r.Compare(result, m); !ok || got.Grade != SameConditions || len(got.Differences) != 0 {
		t.Errorf("%+v", got)
	}
	m.Facts[2].Value = "6.12.1"
	if got, _ := r.Compare(result, m); got.Grade != Close || got.Differences[0].String() != "kernel 5.4, here 6.12" {
		t.Errorf("%+v", got)
	}
}

// Buffered loads are the same only if the page cache holds, or can't hold, the data on both sides.
func TestGradeBuffered(t *testing.T) {
	r, result := find(t, "nfs-rdma-report/rdma-multipath", "randread_q8t8_8k")
	cell := lab.Cell{Engine: "fio", Params: map[string]string{"rw": "randread", "bs": "8k", "iodepth": "8",
		"numjobs": "8", "ioengine": "io_uring", "size": "1g"}}
	has := func(memory string) bool {
		c, ok := r.Compare(result, Measurement{cell, lab.Place{Kind: lab.Directory, Filesystem: "nfs4"},
			[]lab.Fact{{Key: "memory.total", Value: memory}}})
		if !ok {
			t.Fatal("the same load is not compared")
		}
		for _, d := range c.Differences {
			if d.Condition == "buffered data" {
				return true
			}
		}
		return false
	}
	if has("34359738368") || !has("4294967296") || !has("") {
		t.Error("8 GiB of data in 32 GiB, in 4 GiB, and in unknown memory")
	}
}

func TestRun(t *testing.T) {
	for _, r := range builtIns(t) {
		run, repetitions := r.Run()
		if run.Source != lab.Imported || run.Format != "reference" || run.Label != r.Name ||
			len(run.Cells) != len(r.Results) ||
			len(run.Targets) != 1 || len(run.Arms) != 1 {
			t.Errorf("%s: %+v", r.Name, run)
		}
		i := 0
		for rep, err := range repetitions {
			if err != nil || rep.Cell != run.Cells[i].ID || rep.Number != 1 || len(rep.Values) == 0 {
				t.Errorf("%s: %+v, %v", r.Name, rep, err)
			}
			i++
		}
		if i != len(r.Results) {
			t.Errorf("%s: %d repetitions of %d cells", r.Name, i, len(r.Results))
		}
	}
}

func TestStandings(t *testing.T) {
	references := builtIns(t)
	m := Measurement{kbenchCell(nil), lab.Place{Kind: lab.Device},
		[]lab.Fact{{Key: "disk.model", About: "sda", Value: "Samsung SSD 850 PRO 512GB"}}}
	got := Standings(references, m, map[string]float64{"read.iops": 48915.5, "read.bandwidth": 2e8})
	if len(got) < 2 || got[0].Reference != "kbench/samsung-850-pro" || got[0].Grade != Close || got[0].Ratio != 0.5 ||
		got[0].Metric != "read.iops" {
		t.Errorf("%+v", got)
	}
	for i := 1; i < len(got); i++ {
		if rank(got[i].Grade) < rank(got[i-1].Grade) {
			t.Errorf("%s stands before %s", got[i-1].Grade, got[i].Grade)
		}
	}
	// A figure without a stated direction is compared with the only measured one, and carries its doubts.
	m.Cell.Params["iodepth"] = "128"
	found := false
	for _, s := range Standings(references, m, map[string]float64{"read.iops": 260_000}) {
		if s.Reference == "talos-report/debian-12" {
			found = s.Metric == "read.iops" && s.Ratio == 0.5 && s.Grade == OrderOfMagnitude && len(s.Doubts) == 1
		}
	}
	if !found {
		t.Error("the Talos report's figure is not held against a random read")
	}
	if none := Standings(references, Measurement{Cell: lab.Cell{Engine: "iperf3"}},
		map[string]float64{"read.iops": 1}); len(none) > 0 {
		t.Errorf("%+v", none)
	}
}

// TestGradePartial checks that a parameter that an import does not state is unknown, and does not have fio's default.
func TestGradePartial(t *testing.T) {
	r, result := find(t, "kbench/samsung-850-pro", "read-rand-iops")
	for lacks, want := range map[string]string{
		"bs": "", "rw": "", // of no kind
		"iodepth": "iodepth 64, here not known", "direct": "direct 1, here not known",
	} {
		cell := kbenchCell(nil)
		delete(cell.Params, lacks)
		cell.Partial = true
		c, ok := r.Compare(result, Measurement{Cell: cell})
		if ok != (want != "") {
			t.Errorf("without %s: %v", lacks, c)
		}
		if ok && (c.Grade != OrderOfMagnitude || !slices.ContainsFunc(c.Differences, func(d Difference) bool {
			return d.String() == want
		})) {
			t.Errorf("without %s: %s, %v", lacks, c.Grade, c.Differences)
		}
	}
}
