package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/headroom/headroom/internal/app"
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stages"
	"github.com/headroom/headroom/internal/store"
)

// Stages that were measured as a run each stand side by side, whichever of them is named: more paths against one, RDMA
// against TCP.
func TestStagesOfSeveralRuns(t *testing.T) {
	dir := t.TempDir()
	pair := store.NewID()
	names := []string{"server memory", "TCP single path", "TCP multipath", "RDMA multipath",
		"RDMA multipath, in a guest"}
	var last string
	for i, name := range names {
		run := lab.Run{ID: store.NewID(), Pair: pair, Status: lab.Complete, Source: lab.Measured,
			Created: time.Unix(1700000000+int64(60*i), 0), Suite: "nfs", Repetitions: 2,
			Arms: []lab.Arm{{ID: lab.OnlyArm, Role: app.StorageRole,
				Levels: map[string]string{lab.StageLevel: name}}},
			Cells: []lab.Cell{{ID: "read", Arm: lab.OnlyArm, Job: "read", Engine: lab.EngineFio,
				Params: map[string]string{"rw": "randread", "bs": "8k", "direct": "1"}}},
			Targets: []lab.RunTarget{{Role: app.StorageRole, Target: "local",
				Place: lab.Place{Kind: lab.Directory, Path: "/mnt"}}}}
		w, err := store.Open(dir).Create(run)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 2; n++ {
			iops := float64(1000 * (len(names) - i) * (n + 99))
			if err := w.Repetition(lab.Repetition{Cell: "read", Number: n, Block: n,
				Values: map[string]float64{"read.iops": iops, "read.bandwidth": 8192 * iops}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(func(*lab.Run) {}); err != nil {
			t.Fatal(err)
		}
		last = run.ID
	}
	var out, errs bytes.Buffer
	if code := Run(t.Context(), app.Environment{Args: []string{"headroom", "stages", last, "--store", dir, "--json"},
		Stdout: &out, Stderr: &errs}); code != 0 {
		t.Fatalf("%d\n%s", code, &errs)
	}
	var d stages.Document
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range d.Stages {
		got = append(got, s.Name)
	}
	if fmt.Sprint(got) != fmt.Sprint(names) {
		t.Errorf("stages %q", got)
	}
	want := "[{RDMA multipath, in a guest RDMA multipath} {TCP multipath TCP single path} {RDMA multipath TCP " +
		"multipath}]"
	if fmt.Sprint(d.Against) != want || len(d.Rows) != 5 {
		t.Fatalf("%v, %d rows", d.Against, len(d.Rows))
	}
	for _, r := range d.Rows {
		ratio := map[string]float64{"TCP multipath": 3.0 / 4, "RDMA multipath": 2.0 / 3,
			"RDMA multipath, in a guest": 1.0 / 2}[r.Stage]
		if len(r.Efficiency) != map[bool]int{true: 1}[ratio > 0] || ratio > 0 && (r.Efficiency[0].Ratio < 0.999*ratio ||
			r.Efficiency[0].Ratio > 1.001*ratio) || r.N != 2 {
			t.Errorf("%s: %d repetitions, %+v", r.Stage, r.N, r.Efficiency)
		}
	}
}
