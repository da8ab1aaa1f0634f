package plan

import (
	"github.com/headroom/headroom/internal/lab"
	"github.com/headroom/headroom/internal/stat"
	"github.com/headroom/headroom/internal/stat/pairorder"
)

// The two sides of a comparison, as Repetition.Arm names them.
const (
	Base = "base"
	New  = "new"
)

// Pairs compares two arms, cell by cell. A pair is the same cell in one arm and right afterwards in the other, so that
// whatever drifts (heat, caches, neighbours) meets both alike. Four of eight pairs begin with the base, in random order
// ([pairorder.Draw]), so a rhythm of the machine (garbage collected in every third run) can slow either arm. The effect
// of coming second is estimated and removed. A pass carries out one pair of each cell that still needs one, in random
// order.
//
// Two pairs are a block. Cells may be looked at after each of them (stat.GroupSequential), and the claims about all
// metrics of all cells share one probability of error.
//
// A cell that has its verdict is given a few more pairs, whose outcome decides nothing: an estimate taken at the moment
// when it is clear enough is too large on average, and these are not. A cell that would hardly get one within the pairs
// that the terms allow is given up (stat.GroupSequential.Hopeless).
type Pairs struct {
	cells  []Cell
	terms  lab.Terms
	looks  *stat.GroupSequential
	budget float64
	seed   uint64
}

// Paired is the plan that compares cells on terms. Budget is in seconds, 0 for none; the plan ends before a pair that
// would go beyond it. Cells of one stage come before those of the next; the terms decide how often a cell is repeated.
func Paired(cells []Cell, terms lab.Terms, budget float64, seed uint64) *Pairs {
	return &Pairs{cells: cells, terms: terms,
		looks:  stat.NewGroupSequential(1-stat.FamilyWise(terms.Alpha, terms.Claims), terms.FirstPairs()),
		budget: budget, seed: seed}
}

// pairsPerBlock is the number of pairs in a block.
const pairsPerBlock = 2

// Next returns the next half of a pair. The repetition and its block have the number of the pair within its cell.
func (p *Pairs) Next(done []Done) (Repetition, bool) {
	for _, stage := range stages(p.cells) {
		cells := p.sort(stage, done)
		for pass := 1; ; pass++ {
			next, c, found := p.inPass(cells, pass)
			if c == nil {
				break // no cell wants a pair of this number, nor a later one
			}
			if found {
				return next, c.begun(pass) || p.fitsBudget(done, c)
			}
		}
	}
	return Repetition{}, false
}

// inPass is the first repetition of a pass that is still to be carried out, and its cell; or, where all have been, any
// cell of the pass.
func (p *Pairs) inPass(cells []*cellPairs, pass int) (next Repetition, of *cellPairs, found bool) {
	position := 0
	for _, i := range random(p.seed, "pass", pass).Perm(len(cells)) {
		c := cells[i]
		if !c.wants(pass) {
			continue
		}
		of = c
		for _, arm := range p.order(c, pass) {
			position++
			if !c.has(pass, arm) {
				return Repetition{Cell: c.id, Arm: arm, Number: pass, Block: pass, Position: position,
					Confirms: c.confirms(pass)}, c, true
			}
		}
	}
	return Repetition{}, of, false
}

// order returns the order of the arms in a pair. There are too few confirming pairs to estimate the effect of coming
// second, so two of them always have opposite orders.
func (p *Pairs) order(c *cellPairs, pair int) [2]string {
	place := pair - 1
	newFirst := pairorder.Draw(random(p.seed, c.id, place/pairorder.Pairs))[place%pairorder.Pairs]
	if c.confirms(pair) {
		newFirst = (random(p.seed, c.id, place/pairsPerBlock).IntN(2) == 0) == (place%pairsPerBlock == 0)
	}
	if newFirst {
		return [2]string{New, Base}
	}
	return [2]string{Base, New}
}

// fitsBudget reports whether another pair of the cell fits into the budget, going by the longest that it had so far.
func (p *Pairs) fitsBudget(done []Done, c *cellPairs) bool {
	if p.budget == 0 {
		return true
	}
	spent := 0.0
	for _, d := range done {
		spent += d.Seconds
	}
	longest := 0.0
	for _, pair := range c.pairs {
		longest = max(longest, pair[Base].Seconds+pair[New].Seconds)
	}
	return spent+longest <= p.budget && spent < p.budget
}
