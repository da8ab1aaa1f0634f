package plan

import (
	"fmt"
	"reflect"
	"testing"
)

func cells(n, repetitions int) []Cell {
	list := make([]Cell, n)
	for i := range list {
		list[i] = Cell{ID: fmt.Sprint("c", i), Repetitions: repetitions}
	}
	return list
}

func TestEveryCellIsRepeatedAsAsked(t *testing.T) {
	uneven := []Cell{{ID: "a", Repetitions: 3}, {ID: "b", Repetitions: 1}, {ID: "c", Repetitions: 5}}
	for name, order := range map[string][]Repetition{
		"sequential":  Sequential(uneven, 7),
		"shuffled":    Shuffled(uneven, 7),
		"interleaved": Interleaved(uneven, 7),
	} {
		next := map[string]int{}
		for _, r := range order {
			next[r.Cell]++
			if r.Number != next[r.Cell] || r.Block != r.Number || r.Position < 1 {
				t.Errorf("%s: %+v comes as number %d of its cell", name, r, next[r.Cell])
			}
		}
		if want := map[string]int{"a": 3, "b": 1, "c": 5}; !reflect.DeepEqual(next, want) {
			t.Errorf("%s: %v, want %v", name, next, want)
		}
	}
}

// The promise of Interleaved: within the blocks no cell follows the same one twice before all have had their turn.
func TestInterleavedBalancesPredecessors(t *testing.T) {
	for n := 2; n <= 9; n++ {
		for seed := range uint64(20) {
			blocks := n
			if n%2 == 1 {
				blocks = 2 * n
			}
			follows := map[[2]string]int{}
			var before Repetition
			for _, r := range Interleaved(cells(n, blocks), seed) {
				if r.Block == before.Block {
					follows[[2]string{before.Cell, r.Cell}]++
				}
				before = r
			}
			want := blocks / n
			if len(follows) != n*(n-1) {
				t.Fatalf("%d cells, seed %d: %d of %d pairs occur", n, seed, len(follows), n*(n-1))
			}
			for pair, count := range follows {
				if count != want {
					t.Errorf("%d cells, seed %d: %v occurs %d times, want %d", n, seed, pair, count, want)
				}
			}
		}
	}
}

func TestNoCellAlwaysFollowsTheSameOne(t *testing.T) {
	for n := 3; n <= 12; n++ {
		for seed := range uint64(50) {
			predecessors := map[string]map[string]bool{}
			before := ""
			for _, r := range Interleaved(cells(n, 3), seed) {
				if predecessors[r.Cell] == nil {
					predecessors[r.Cell] = map[string]bool{}
				}
				predecessors[r.Cell][before] = true
				before = r.Cell
			}
			for cell, set := range predecessors {
				if len(set) < 2 {
					t.Errorf("%d cells, seed %d: %s always follows %v", n, seed, cell, set)
				}
			}
		}
	}
}

func TestTheSeedDecides(t *testing.T) {
	a, b, c := Interleaved(cells(6, 3), 1), Interleaved(cells(6, 3), 1), Interleaved(cells(6, 3), 2)
	if !reflect.DeepEqual(a, b) {
		t.Error("the same seed gave two orders")
	}
	if reflect.DeepEqual(a, c) {
		t.Error("two seeds gave the same order")
	}
}

func TestNothingToPlan(t *testing.T) {
	if order := Interleaved(nil, 1); len(order) != 0 {
		t.Errorf("planned %v", order)
	}
}

// A device is filled once: all cells that need it come after all that do not, however they are interleaved among
// themselves.
func TestStagesComeOneAfterTheOther(t *testing.T) {
	list := []Cell{{ID: "read", Repetitions: 3, Stage: 1}, {ID: "write", Repetitions: 3},
		{ID: "randread", Repetitions: 2, Stage: 1}, {ID: "null", Repetitions: 3}}
	for name, order := range map[string]Order{"sequential": Sequential, "shuffled": Shuffled,
		"interleaved": Interleaved} {
		planned := InStages(list, order, 3)
		if len(planned) != 11 {
			t.Fatalf("%s: %d repetitions", name, len(planned))
		}
		block, filled := 0, false
		for _, r := range planned {
			reads := r.Cell == "read" || r.Cell == "randread"
			if filled && !reads {
				t.Errorf("%s: %s comes after the fill", name, r.Cell)
			}
			if reads && !filled && r.Block <= block {
				t.Errorf("%s: a pass of the second stage is counted as one of the first: %+v", name, r)
			}
			filled, block = filled || reads, max(block, r.Block)
		}
	}
}

func TestFixedGoesOnWhereItWasCutOff(t *testing.T) {
	order := Interleaved(cells(3, 3), 5)
	var done []Done
	for i := range order {
		next, more := Fixed(order).Next(done)
		if !more || next != order[i] {
			t.Fatalf("after %d: %+v, %v, want %+v", i, next, more, order[i])
		}
		done = append(done, Done{Repetition: Repetition{Cell: next.Cell, Number: next.Number}})
	}
	if next, more := Fixed(order).Next(done); more {
		t.Errorf("after all: %+v", next)
	}
}
