package nfs

import (
	"testing"
	"time"

	"github.com/headroom/headroom/internal/lab"
)

type kept struct{ of lab.Progress }

func (k *kept) Progress(p lab.Progress) error {
	k.of = p
	return nil
}

// What a stage says is of the run, whose end is known when its last stage goes on.
func TestStageProgress(t *testing.T) {
	began := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	x := &Stages{started: began, unmeasured: 2}
	said := lab.Progress{At: began.Add(time.Minute), Count: "1/4", Doing: "randread 4k", Elapsed: 5, Left: 30}
	for unmeasured, left := range map[int]float64{2: 0, 1: 30} {
		x.unmeasured = unmeasured
		var k kept
		if err := (stageKeeper{&k, x, "one path"}).Progress(said); err != nil {
			t.Fatal(err)
		}
		want := said
		want.Count, want.Elapsed, want.Left = "one path, 1/4", 60, left
		if k.of != want {
			t.Errorf("%d stages: %+v, want %+v", unmeasured, k.of, want)
		}
	}
}
