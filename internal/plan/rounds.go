package plan

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
)

// Rounds compares several arms with a number of blocks that is fixed beforehand. In a block every cell is carried out
// in all arms, one after the other. The orders of arms and of cells are random in each block, so that neither drift nor
// a rhythm of the machine favours an arm.
type Rounds struct {
	cells  []Cell
	arms   []string
	blocks int
	seed   uint64
}

// InRounds is the plan of so many blocks.
func InRounds(cells []Cell, arms []string, blocks int, seed uint64) *Rounds {
	return &Rounds{cells: cells, arms: arms, blocks: blocks, seed: seed}
}

// Next is the first repetition in the order that has not ended.
func (p *Rounds) Next(done []Done) (Repetition, bool) {
	ended := map[string]bool{}
	key := func(cell, arm string, number int) string { return fmt.Sprint(cell, "\x00", arm, "\x00", number) }
	for _, d := range done {
		ended[key(d.Cell, d.Arm, d.Number)] = true
	}
	for block := 1; block <= p.blocks; block++ {
		position := 0
		for _, c := range random(p.seed, "block", block).Perm(len(p.cells)) {
			cell := p.cells[c].ID
			for _, arm := range p.order(cell, block) {
				position++
				if !ended[key(cell, arm, block)] {
					return Repetition{Cell: cell, Arm: arm, Number: block, Block: block, Position: position}, true
				}
			}
		}
	}
	return Repetition{}, false
}

// order of the arms for a cell in a block.
func (p *Rounds) order(cell string, block int) []string {
	order := make([]string, len(p.arms))
	for to, from := range random(p.seed, cell, block).Perm(len(p.arms)) {
		order[to] = p.arms[from]
	}
	return order
}

// random is a source for one thing that is drawn: the same each time it is asked for, whatever else was drawn before.
func random(seed uint64, what string, number int) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(what)) // a hash takes everything
	return rand.New(rand.NewPCG(seed, h.Sum64()+uint64(number)))
}
