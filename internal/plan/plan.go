// Package plan decides which repetition comes next. It is pure: cells and a seed in, an order out; it measures nothing
// and knows no machine, so that it runs unchanged on a simulated one. Of visits it says afterwards how many repetitions
// they were worth.
package plan

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Cell is what a plan needs to know of a cell.
type Cell struct {
	ID          string
	Repetitions int
	// Seconds that a repetition is expected to take, with its pause and its preparation; 0 when unknown.
	Seconds float64
	// Stage that the cell belongs to: all cells of one stage come before all of the next, because a stage leaves the
	// place in a state that is dear to make again (a filled device).
	Stage int
}

// Repetition is one planned execution.
type Repetition struct {
	Cell     string
	Arm      string // Base or New; empty where there is one arm only
	Number   int    // within the cell and arm, from 1
	Block    int    // the pass over the cells, from 1
	Position int    // within the block, from 1
	// Confirms says that it was planned after its cell's verdict, and so decides nothing.
	Confirms bool
}

// Order is a rule that puts the repetitions of cells into an order.
type Order func(cells []Cell, seed uint64) []Repetition

// InStages orders each stage separately, the lowest first.
func InStages(cells []Cell, order Order, seed uint64) []Repetition {
	var all []Repetition
	for _, stage := range stages(cells) {
		before := lastBlock(all)
		for _, r := range order(stage, seed) {
			r.Block += before // a block is one pass over the cells of a stage
			all = append(all, r)
		}
	}
	return all
}

// stages are the cells by stage, the lowest first.
func stages(cells []Cell) [][]Cell {
	byStage := map[int][]Cell{}
	for _, c := range cells {
		byStage[c.Stage] = append(byStage[c.Stage], c)
	}
	var list [][]Cell
	for _, s := range slices.Sorted(maps.Keys(byStage)) {
		list = append(list, byStage[s])
	}
	return list
}

func lastBlock(order []Repetition) int {
	last := 0
	for _, r := range order {
		last = max(last, r.Block)
	}
	return last
}

// Sequential finishes each cell before it begins the next. Whatever drifts meanwhile (caches, heat, garbage collection)
// is then charged to the later cells; use it only to repeat a measurement of others.
func Sequential(cells []Cell, _ uint64) []Repetition {
	var order []Repetition
	for i, c := range cells {
		for n := 1; n <= c.Repetitions; n++ {
			order = append(order, Repetition{Cell: c.ID, Number: n, Block: n, Position: i + 1})
		}
	}
	return order
}

// Shuffled carries out every cell once a block, each block in an order drawn at random.
func Shuffled(cells []Cell, seed uint64) []Repetition {
	random := rand.New(rand.NewPCG(seed, seed))
	return inBlocks(cells, func(int) []int { return random.Perm(len(cells)) })
}

// Interleaved carries out every cell once a block, like Shuffled, but balances what comes before what: inside the
// first len(cells) blocks (twice as many for an odd number) no cell follows another one more than once. So
// what one load leaves behind for the next (a warm cache, a busy flash translation layer) falls on all cells alike,
// and can be estimated.
//
// The blocks are the rows of a Williams design (E. J. Williams, "Experimental designs balanced for the estimation
// of residual effects of treatments", 1949), with cells and rows assigned at random.
func Interleaved(cells []Cell, seed uint64) []Repetition {
	random := rand.New(rand.NewPCG(seed, seed))
	n := len(cells)
	rows := williams(n)
	names := random.Perm(n)
	random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return inBlocks(cells, func(block int) []int {
		row := rows[block%len(rows)]
		named := make([]int, n)
		for i, r := range row {
			named[i] = names[r]
		}
		return named
	})
}

// williams returns the rows of a design on n treatments in which every treatment precedes every other equally often:
// n rows when n is even, 2n when it is odd.
func williams(n int) [][]int {
	if n == 0 {
		return [][]int{{}}
	}
	// 0, 1, n-1, 2, n-2, …: all differences between neighbours are distinct modulo n.
	first := make([]int, n)
	for i := range first {
		if i%2 == 1 {
			first[i] = (i + 1) / 2
		} else {
			first[i] = (n - i/2) % n
		}
	}
	var rows [][]int
	for shift := range n {
		row, mirror := make([]int, n), make([]int, n)
		for i, v := range first {
			row[i] = (v + shift) % n
			mirror[n-1-i] = row[i]
		}
		rows = append(rows, row)
		if n%2 == 1 {
			rows = append(rows, mirror)
		}
	}
	return rows
}

// inBlocks goes through the blocks, leaving out the cells that have had all their repetitions.
func inBlocks(cells []Cell, orderOf func(block int) []int) []Repetition {
	most := 0
	for _, c := range cells {
		most = max(most, c.Repetitions)
	}
	var order []Repetition
	for block := range most {
		position := 0
		for _, i := range orderOf(block) {
			if cells[i].Repetitions > block {
				position++
				order = append(order, Repetition{Cell: cells[i].ID, Number: block + 1, Block: block + 1,
					Position: position})
			}
		}
	}
	return order
}

// Plan decides which repetition follows. It is asked after every repetition, so that it can act on the results. The
// same results give the same answer, so an interrupted run continues as if nothing had happened.
type Plan interface {
	// Next returns the repetition to carry out now; false when the plan has ended. done has the repetitions that ended,
	// in that order.
	Next(done []Done) (Repetition, bool)
}

// Done is a repetition that has ended.
type Done struct {
	Repetition
	// Values steer the plan, by metric name; none if the load failed.
	Values map[string]float64
	// Seconds is the repetition's time with its preparation, but without a layout or fill that other repetitions share.
	Seconds float64
}

// Fixed returns a plan that carries out an order unchanged.
func Fixed(order []Repetition) Plan { return fixed(order) }

type fixed []Repetition

func (f fixed) Next(done []Done) (Repetition, bool) {
	for _, r := range f {
		if !slices.ContainsFunc(done, func(d Done) bool { return d.Cell == r.Cell && d.Number == r.Number }) {
			return r, true
		}
	}
	return Repetition{}, false
}

// Within ends a plan before a pass that would go beyond a budget of seconds, but not before the first has ended; a
// budget of 0 is none. A pass is what follows one another in a block, and is taken to need as long as the longest so
// far.
func Within(p Plan, budget float64) Plan {
	if budget == 0 {
		return p
	}
	return &limited{p, budget}
}

type limited struct {
	Plan
	budget float64
}

func (l *limited) Next(done []Done) (Repetition, bool) {
	next, more := l.Plan.Next(done)
	if !more || len(done) == 0 || next.Block == done[len(done)-1].Block {
		return next, more
	}
	spent, pass, longest := 0.0, 0.0, 0.0
	for i, d := range done {
		if i > 0 && d.Block != done[i-1].Block {
			pass = 0
		}
		spent, pass = spent+d.Seconds, pass+d.Seconds
		longest = max(longest, pass)
	}
	if spent+longest > l.budget {
		return Repetition{}, false
	}
	return next, true
}
