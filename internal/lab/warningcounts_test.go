package lab

import (
	"errors"
	"slices"
	"testing"
)

// A code that one repetition has twice marks one repetition.
func TestWarningsAreCountedByRepetition(t *testing.T) {
	var c WarningCounts
	c.AddRepetition([]Warning{
		{Code: "clock-below", Text: "first", Taints: []string{"read.iops"}},
		{Code: "clock-below", Text: "second", Taints: []string{"read.iops", "write.iops"}},
	})
	c.AddRepetition(nil)
	c.AddRepetition([]Warning{{Code: "clock-below", Text: "third"}, {Code: "outage", Text: "stood"}})
	c.AddWhole([]Warning{{Code: "position", Text: "of the cell"}})
	list := c.Counted()
	if len(list) != 3 || list[0].Repetitions != 2 || list[0].Text != "first" || list[0].N != 3 ||
		!slices.Equal(list[0].Taints, []string{"read.iops", "write.iops"}) ||
		list[1].Repetitions != 1 || list[2].Repetitions != 0 {
		t.Errorf("%+v", list)
	}
}

func TestWarningsCanChangeANumberByTheLargestShare(t *testing.T) {
	for _, test := range []struct{ first, second, want float64 }{{0.1, 0.3, 0.3}, {0.3, 0.1, 0.3}, {0, 0.3, 0},
		{0.3, 0, 0}} {
		var c WarningCounts
		c.AddRepetition([]Warning{{Code: "busy-device", MostError: test.first}})
		c.AddRepetition([]Warning{{Code: "busy-device", MostError: test.second}})
		if got := c.List[0].MostError; got != test.want {
			t.Errorf("%v and %v: %v, want %v", test.first, test.second, got, test.want)
		}
	}
}

func TestWarningsOfARun(t *testing.T) {
	all := OfRun([]Warning{{Code: "position", Text: "of a"}, {Code: "position", Text: "of b"},
		{Code: "position", Text: "of a"}})
	if len(all) != 2 || all[0].Text != "of a" || all[1].Text != "of b" {
		t.Errorf("%+v", all)
	}
}

func TestReadingEndsAtTheFirstError(t *testing.T) {
	run := Run{ID: "7KQ4M2X9TD", Cells: []Cell{{ID: "randread@a", Arm: "a"}}}
	var read []string
	keep := func(c Cell, r Repetition) error {
		read = append(read, c.Load())
		if r.Number == 3 {
			return errors.New("enough")
		}
		return nil
	}
	all := []Repetition{{Cell: "randread@a", Number: 1}, {Cell: "randread@b", Number: 2}}
	if err := run.Read(Repetitions(all), keep); err == nil || !slices.Equal(read, []string{"randread"}) {
		t.Errorf("a repetition of an unknown cell: %v, read %v", err, read)
	}
	all = []Repetition{{Cell: "randread@a", Number: 3}, {Cell: "randread@a", Number: 4}}
	if err := run.Read(Repetitions(all), keep); err == nil || len(read) != 2 {
		t.Errorf("%v, read %v", err, read)
	}
}

func TestLoadOfCell(t *testing.T) {
	var got []string
	for _, c := range []Cell{{ID: "read@a", Arm: "a"}, {ID: "read"}, {ID: "read@a@b", Arm: "b"},
		{ID: "read@queue@sda", Arm: "queue@sda"}, {ID: "read@a", Arm: "b"}} {
		got = append(got, c.Load())
	}
	if want := []string{"read", "read", "read@a", "read", "read@a"}; !slices.Equal(got, want) {
		t.Errorf("loads %v, want %v", got, want)
	}
}
