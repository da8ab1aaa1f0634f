package plan

import (
	"fmt"
	"slices"
	"testing"
)

func threeArms() []VisitedArm {
	arms := []VisitedArm{{ID: "baseline"}, {ID: "+1"}, {ID: "+2"}}
	for i := range arms {
		arms[i].Cells = []Cell{{ID: "read@" + arms[i].ID, Repetitions: 2}, {ID: "write@" + arms[i].ID, Repetitions: 1}}
	}
	return arms
}

// all carries a plan out, each repetition in a second.
func all(t *testing.T, p Plan) []Done {
	t.Helper()
	var done []Done
	for {
		next, more := p.Next(done)
		if !more {
			return done
		}
		done = append(done, Done{Repetition: next, Seconds: 1})
		if len(done) > 1000 {
			t.Fatal("the plan does not end")
		}
	}
}

func TestABlockVisitsEveryArmOnce(t *testing.T) {
	done := all(t, InVisits(threeArms(), VisitTerms{Blocks: 4}, nil, 7))
	if len(done) != 4*9 {
		t.Fatalf("%d repetitions", len(done))
	}
	seen := map[string]bool{}
	for block := 1; block <= 4; block++ {
		var arms []string
		for i, d := range done[(block-1)*9 : block*9] {
			if d.Block != block || d.Position != i+1 {
				t.Errorf("%+v at position %d of block %d", d.Repetition, i+1, block)
			}
			if len(arms) == 0 || arms[len(arms)-1] != d.Arm {
				arms = append(arms, d.Arm)
			}
			key := fmt.Sprint(d.Cell, d.Number)
			if seen[key] {
				t.Errorf("%s comes twice", key)
			}
			seen[key] = true
		}
		if len(arms) != 3 {
			t.Errorf("block %d goes from arm to arm so: %v", block, arms)
		}
	}
}

// A plan that follows another numbers its blocks on from there, and leaves alone what the other has done.
func TestAPlanFollowsAnother(t *testing.T) {
	done := all(t, InVisits(threeArms(), VisitTerms{Blocks: 2}, nil, 7))
	arms := append(threeArms()[:1], VisitedArm{ID: "+1+2", Cells: []Cell{{ID: "read@+1+2", Repetitions: 1}}})
	p := InVisits(arms, VisitTerms{First: 3, Blocks: 2}, nil, 7)
	if p.First() != 3 || p.Last() != 4 {
		t.Errorf("it has the blocks %d to %d", p.First(), p.Last())
	}
	counts := map[string]int{}
	for {
		next, more := p.Next(done)
		if !more {
			break
		}
		if next.Block < 3 {
			t.Fatalf("%+v is in a block of the plan before", next)
		}
		counts[next.Arm]++
		done = append(done, Done{Repetition: next, Seconds: 1})
	}
	if counts["baseline"] != 2*3 || counts["+1+2"] != 2 || counts["+1"] != 0 {
		t.Errorf("visited %v", counts)
	}
	if _, more := InVisits(arms, VisitTerms{First: 5, Blocks: 2, Budget: 1}, nil, 7).Next(done); more {
		t.Error("it begins although the budget is spent")
	}
}

// TestOrderOfVisits checks that the orders of neighbouring blocks are independent, so that no rhythm favours an arm.
func TestOrderOfVisits(t *testing.T) {
	p := InVisits(threeArms(), VisitTerms{Blocks: 400}, nil, 3)
	arms := func(block int) []string {
		var list []string
		for _, r := range p.Block(block, nil) {
			list = append(list, r.Arm)
		}
		return slices.Compact(list)
	}
	orders := map[string]bool{} // of two blocks
	for block := 1; block < 400; block++ {
		orders[fmt.Sprint(arms(block), arms(block+1))] = true
	}
	if len(orders) != 36 {
		t.Errorf("of 36 orders of two blocks %d were drawn", len(orders))
	}
}

func TestSettledArmsAreLeftOutFromTheNextBlockOn(t *testing.T) {
	settled := func(done []Done) []string {
		if blocks := done[len(done)-1].Block; blocks >= 3 {
			return []string{"+2", "baseline"} // what was settled before stays so
		} else if blocks >= 1 {
			return []string{"+1"}
		}
		return nil
	}
	done := all(t, InVisits(threeArms(), VisitTerms{Blocks: 9, MinBlocks: 2}, settled, 1))
	visits := map[string]int{}
	for _, d := range done {
		visits[d.Arm] = max(visits[d.Arm], d.Block)
	}
	if visits["+1"] != 2 || visits["+2"] != 3 || visits["baseline"] != 3 {
		t.Errorf("last blocks %v", visits)
	}
}

// A cell that is settled is left out of every visit, and the time that it no longer takes is there for the others.
func TestSettledCellsAreLeftOut(t *testing.T) {
	settled := func([]Done) []string { return []string{"read@baseline", "read@+1", "read@+2"} }
	for budget, blocks := range map[float64]int{27: 3, 29: 3, 30: 4, 33: 5} { // of 9 seconds each, then 3
		counts, last := map[string]int{}, 0
		for _, d := range all(t, InVisits(threeArms(), VisitTerms{Blocks: 9, MinBlocks: 3, Budget: budget}, settled,
			1)) {
			counts[d.Cell]++
			last = max(last, d.Block)
		}
		if last != blocks || counts["read@+1"] != 2*3 || counts["write@+1"] != blocks {
			t.Errorf("budget %v: %d blocks, %v", budget, last, counts)
		}
	}
}

func TestABudgetEndsBeforeABlockButNotBeforeTheFirst(t *testing.T) {
	for budget, blocks := range map[float64]int{1: 1, 17: 1, 18: 2, 26: 2, 27: 3} {
		done := all(t, InVisits(threeArms(), VisitTerms{Blocks: 9, Budget: budget}, nil, 1))
		if got := len(done) / 9; got != blocks || len(done)%9 != 0 {
			t.Errorf("budget %v: %d repetitions", budget, len(done))
		}
	}
}

// What an interrupted run has done is found again whatever was measured: the rest is the same.
func TestVisitsGoOnWhereTheyWereInterrupted(t *testing.T) {
	whole := all(t, InVisits(threeArms(), VisitTerms{Blocks: 3}, nil, 5))
	for cut := range whole {
		next, more := InVisits(threeArms(), VisitTerms{Blocks: 3}, nil, 5).Next(whole[:cut])
		if !more || next != whole[cut].Repetition {
			t.Fatalf("after %d: %+v, want %+v", cut, next, whole[cut].Repetition)
		}
	}
}
